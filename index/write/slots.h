// Slots: allocates slots of an arena. A retired slot is reusable once no live version references it: none of those from
// the version in which it was new to the one before it was retired. Versions may end in any order.
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
  // grow(n) allocates memory for slots 0 .. n - 1. `older`: versions before the present one that may still be read. The
  // first `num_filed` slots are never written: they are read from files on touch (index/slot_source.h).
  Slots(std::size_t in_use, std::size_t capacity, std::function<void(std::size_t)> grow,
        std::span<const SlotArena::OlderVersion> older = {}, std::size_t num_filed = 0)
      : num_filed_(num_filed), end_(in_use), allocated_(in_use), capacity_(capacity), grow_(std::move(grow)) {
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

  // Frees a slot that was taken for the version that is being made, which no other refers to.
  void give_back(std::uint32_t slot) { free_.push_back(slot); }

  // The version that is being made no longer refers to the slot. Older ones do, from version `new_in` on.
  void retire(std::uint32_t slot, std::uint64_t new_in) {
    if (slot >= num_filed_) retiring_.push_back({slot, new_in});
  }

  // The next version is complete. `base` is the one before it.
  void end_version(SlotArena::OlderVersion base) {
    holders_.push_back({std::move(base), std::move(retiring_)});
    retiring_.clear();
  }

  // Frees slots of versions that have ended. Checks only some versions per call: there may be thousands.
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
  // A version that may still be read, and the retired slots for which it is the newest such version.
  struct Holder {
    SlotArena::OlderVersion version;
    std::vector<Retired> slots;
  };

  // Frees the holder's slots or moves them to the next older version.
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

  const std::size_t num_filed_;
  std::size_t end_, allocated_, capacity_;
  std::function<void(std::size_t)> grow_;
  std::vector<std::uint32_t> free_;
  std::vector<Retired> retiring_;
  std::deque<Holder> holders_;  // oldest first
  std::size_t next_ = 0;        // holder to be checked
};

}  // namespace culmen
