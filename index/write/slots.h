// Slots: which slots of memory are free. A slot that the next version no longer refers to is free once every version that
// does is over, in whatever order versions end: from the one that it was new in to the one before it was retired.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "index/slot_arena.h"

namespace culmen {

class Slots {
 public:
  // grow(n) makes slots 0 .. n - 1 memory. `older`: versions before the present one that may still be read.
  Slots(std::size_t in_use, std::size_t capacity, std::function<void(std::size_t)> grow,
        std::span<const SlotArena::OlderVersion> older = {})
      : end_(in_use), allocated_(in_use), capacity_(capacity), grow_(std::move(grow)) {
    for (const SlotArena::OlderVersion& version : older) holders_.push_back({version, {}});
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

  // The version that is being made does without it, older ones do not: those since the one that it was new in.
  void retire(std::uint32_t slot, std::uint64_t new_in) { retiring_.push_back({slot, new_in}); }

  // The next version is made; `base` is the one before it.
  void end_version(SlotArena::OlderVersion base) {
    holders_.push_back({std::move(base), std::move(retiring_)});
    retiring_.clear();
  }

  // Takes back what no version refers to any more. Looks at some of the versions at a time: there may be thousands.
  void reclaim() {
    constexpr std::size_t kAtOnce = 64;
    for (std::size_t looks = 0; looks < kAtOnce && !holders_.empty(); ++looks) {
      if (next_ >= holders_.size()) next_ = 0;
      if (holders_[next_].version.may_be_read()) {
        ++next_;
      } else {
        release(next_);
      }
    }
    while (!holders_.empty() && !holders_.front().version.may_be_read()) release(0);
  }

 private:
  struct Retired {
    std::uint32_t slot;
    std::uint64_t new_in;
  };
  // A version that may still be read, and slots that it refers to, while no younger one does but those that are over.
  struct Holder {
    SlotArena::OlderVersion version;
    std::vector<Retired> slots;
  };

  // Its slots are free, or the next older version's.
  void release(std::size_t holder) {
    const std::vector<Retired> slots = std::move(holders_[holder].slots);
    for (const Retired& retired : slots) {
      if (holder > 0 && holders_[holder - 1].version.version >= retired.new_in) {
        holders_[holder - 1].slots.push_back(retired);
      } else {
        free_.push_back(retired.slot);
      }
    }
    holders_.erase(holders_.begin() + static_cast<std::ptrdiff_t>(holder));
  }

  std::size_t end_, allocated_, capacity_;
  std::function<void(std::size_t)> grow_;
  std::vector<std::uint32_t> free_;
  std::vector<Retired> retiring_;
  std::deque<Holder> holders_;  // oldest first
  std::size_t next_ = 0;        // to be looked at
};

}  // namespace culmen
