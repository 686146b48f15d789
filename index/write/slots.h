// Slots: which slots of memory are free. A slot that the next version no longer refers to is free once every
// version that does is over.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "index/blocks.h"

namespace culmen {

class Slots {
 public:
  // grow(n) makes slots 0 .. n - 1 memory. `older` says of the versions before the present one, the oldest
  // first, when they are over.
  Slots(std::size_t in_use, std::size_t capacity, std::function<void(std::size_t)> grow,
        const std::deque<Blocks::IsOver>& older = {})
      : end_(in_use), allocated_(in_use), capacity_(capacity), grow_(std::move(grow)) {
    for (const Blocks::IsOver& over : older) retired_.push_back({over, {}});
  }

  std::size_t num_available() const { return free_.size() + capacity_ - end_; }
  std::uint32_t end() const { return static_cast<std::uint32_t>(end_); }

  // Throws std::bad_alloc if there is none.
  std::uint32_t take() {
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    if (end_ == capacity_) throw std::bad_alloc();
    if (end_ == allocated_) {
      allocated_ = std::min(capacity_, end_ + std::max<std::size_t>(64, end_ / 8));
      grow_(allocated_);
    }
    return static_cast<std::uint32_t>(end_++);
  }

  // The slot was taken for the version that is being made: nobody else has seen it.
  void give_back(std::uint32_t slot) { free_.push_back(slot); }

  // The version that is being made does without it, older ones do not.
  void retire(std::uint32_t slot) { retiring_.push_back(slot); }

  // The next version is made; `over` tells of the one before it.
  void end_version(Blocks::IsOver over) {
    retired_.push_back({std::move(over), std::move(retiring_)});
    retiring_.clear();
  }

  // Takes back what no version refers to any more. In order: an older version may need what a younger one
  // does.
  void reclaim() {
    while (!retired_.empty() && retired_.front().over->load(std::memory_order_acquire)) {
      const std::vector<std::uint32_t>& slots = retired_.front().slots;
      free_.insert(free_.end(), slots.begin(), slots.end());
      retired_.pop_front();
    }
  }

 private:
  struct Retired {
    Blocks::IsOver over;
    std::vector<std::uint32_t> slots;
  };

  std::size_t end_, allocated_, capacity_;
  std::function<void(std::size_t)> grow_;
  std::vector<std::uint32_t> free_;
  std::vector<std::uint32_t> retiring_;
  std::deque<Retired> retired_;
};

}  // namespace culmen
