// SlotsRead: which of many slots that come from files are in memory.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/pages.h"

namespace culmen {

// Threads that need different slots seldom wait for each other.
class SlotsRead {
 public:
  explicit SlotsRead(std::size_t num_slots)
      : num_slots_(num_slots), is_read_(num_slots, num_slots, PageSize::small) {}

  std::size_t size() const { return num_slots_; }
  // Slots beyond these were never in a file.
  bool has(std::size_t slot) const {
    return slot >= num_slots_ || flag(slot).load(std::memory_order_acquire) != 0;
  }

  // As if they had never been read.
  void forget(std::size_t first, std::size_t end) {
    for (std::size_t slot = first; slot < std::min(end, num_slots_); ++slot)
      flag(slot).store(0, std::memory_order_relaxed);
  }

  // Calls read() unless the slot is there. It must not contain a parallel loop.
  template <typename Read>
  void require(std::size_t slot, const Read& read) {
    if (has(slot)) return;
    const std::lock_guard lock(locks_[slot % locks_.size()]);
    if (has(slot)) return;
    read();
    add(slot);
  }
  // For those who take care themselves that a slot is read once.
  void add(std::size_t slot) { flag(slot).store(1, std::memory_order_release); }

 private:
  std::atomic_ref<std::uint8_t> flag(std::size_t slot) const { return std::atomic_ref(is_read_[slot]); }

  std::size_t num_slots_;
  mutable PageBuffer<std::uint8_t> is_read_;  // pages cost nothing until they are written
  std::array<std::mutex, 64> locks_;
};

}  // namespace culmen
