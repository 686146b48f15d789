// SlotSource: where the slots of an arena come from that are read from files only when they are first touched.
//
// Each slot is read once, by the thread that needs it, and checked before anybody sees it. From then on it is memory
// like any other: nothing that happens to the files later can change it. A read that fails throws, leaves the slot
// unread, and is tried again by whoever touches it next.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include "base/lock_isolated.h"

namespace culmen {

// Which of many slots are there. Threads that need different slots seldom wait for each other.
class SlotsRead {
 public:
  explicit SlotsRead(std::size_t num_slots)
      : num_slots_(num_slots), is_read_(std::make_unique<std::atomic<bool>[]>(num_slots)) {}

  std::size_t size() const { return num_slots_; }
  // Slots beyond these were never in a file.
  bool has(std::size_t slot) const {
    return slot >= num_slots_ || is_read_[slot].load(std::memory_order_acquire);
  }

  // As if they had never been read.
  void forget(std::size_t first, std::size_t end) {
    for (std::size_t slot = first; slot < std::min(end, num_slots_); ++slot)
      is_read_[slot].store(false, std::memory_order_relaxed);
  }

  // Calls read() unless the slot is there. It must not contain a parallel loop.
  template <typename Read>
  void require(std::size_t slot, const Read& read) {
    if (has(slot)) return;
    const std::lock_guard lock(locks_[slot % locks_.size()]);
    if (has(slot)) return;
    read();
    is_read_[slot].store(true, std::memory_order_release);
  }

 private:
  std::size_t num_slots_;
  std::unique_ptr<std::atomic<bool>[]> is_read_;
  std::array<std::mutex, 64> locks_;
};

class SlotSource {
 public:
  SlotSource(std::size_t num_leaves, std::size_t num_nodes, bool has_fields)
      : has_fields_(has_fields),
        leaves_(num_leaves),
        labels_(num_leaves),
        fields_(num_leaves),
        nodes_(num_nodes) {}
  SlotSource(const SlotSource&) = delete;
  SlotSource& operator=(const SlotSource&) = delete;
  virtual ~SlotSource() = default;

  // True once require_all() has succeeded. Until then nobody may write to the slots of the files: they would be read over
  // what was written, and checked against it. Slots beyond them are free to be used.
  bool has_all() const { return has_all_.load(std::memory_order_acquire); }

  // Whether a leaf may have fields or gaps, read or not.
  bool has_fields() const { return has_fields_; }

  bool has_leaf(std::size_t leaf) const { return has_all() || leaves_.has(leaf); }
  bool has_node(std::size_t node) const { return has_all() || nodes_.has(node); }

  // Each throws FormatError or IoError, which names the file, if the slot cannot be read or is damaged.
  void require_leaf(std::size_t leaf) {
    if (!has_all()) leaves_.require(leaf, [&] { read_leaf(leaf); });
  }
  void require_labels(std::size_t leaf) {
    if (has_all()) return;
    require_leaf(leaf);
    labels_.require(leaf, [&] { read_labels(leaf); });
  }
  void require_fields(std::size_t leaf) {
    if (has_all()) return;
    require_leaf(leaf);
    fields_.require(leaf, [&] { read_fields(leaf); });
  }
  void require_node(std::size_t node) {
    if (!has_all()) nodes_.require(node, [&] { read_node(node); });
  }
  // For the only user of all slots: leaves [first, end) are read again when they are touched again. Returns false if all are
  // there to stay.
  bool forget_leaves(std::size_t first, std::size_t end) {
    if (has_all()) return false;
    for (SlotsRead* slots : {&leaves_, &labels_, &fields_}) slots->forget(first, end);
    drop_leaves(first, end);
    return true;
  }
  // Everything, and what is checked between slots.
  void require_all() {
    if (has_all()) return;
    lock_isolated(all_mutex_, [&] {
      if (has_all()) return;
      read_rest();
      has_all_.store(true, std::memory_order_release);
    });
  }

 protected:
  virtual void read_leaf(std::size_t leaf) = 0;
  virtual void read_labels(std::size_t leaf) = 0;
  virtual void read_fields(std::size_t leaf) = 0;
  virtual void read_node(std::size_t node) = 0;
  // What was noted of leaves that are forgotten goes.
  virtual void drop_leaves(std::size_t first, std::size_t end) = 0;
  // Requires every slot, by one thread at a time, and makes all checks that were left.
  virtual void read_rest() = 0;

 private:
  const bool has_fields_;
  SlotsRead leaves_, labels_, fields_, nodes_;
  std::mutex all_mutex_;
  std::atomic<bool> has_all_ = false;
};

}  // namespace culmen
