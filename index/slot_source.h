// SlotSource: where the slots of an arena come from that are read from files only when they are first touched.
//
// Each slot is read by the thread that needs it, and checked before anybody sees it. From then on it is memory like any
// other: nothing that happens to the files later can change it. With a limit of memory it is given back when it has not been used
// for a while, and then read and checked again. A read that fails throws, leaves the slot unread, and is tried again by
// whoever touches it next.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "base/lock_isolated.h"
#include "culmen/error.h"
#include "index/slot_cache.h"
#include "index/slots_read.h"

namespace culmen {

// For those whose memory has a limit.
inline constexpr const char* kNeedsWholeIndex =
    "this needs the whole index in memory; open it without a limit of memory";

class SlotSource {
 public:
  SlotSource(std::size_t num_leaves, std::size_t num_nodes, bool has_fields)
      : has_fields_(has_fields),
        leaves_(num_leaves),
        labels_(num_leaves),
        fields_(num_leaves),
        texts_(num_leaves),
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

  // Call it before anything is read.
  void limit_memory(std::uint64_t most_bytes, SlotCache::Discard discard) {
    cache_ = std::make_unique<SlotCache>(most_bytes, leaves_.size(), nodes_.size(), std::move(discard));
  }
  // Null: what was read stays.
  SlotCache* cache() const { return cache_.get(); }

  // Leaves and nodes read so far, each as often as it was read.
  std::uint64_t num_reads() const { return num_reads_.load(std::memory_order_relaxed); }

  // Each throws FormatError or IoError, which names the file, if the slot cannot be read or is damaged.
  void require_leaf(std::size_t leaf) {
    if (!has_all())
      require(SlotKind::leaf, leaf, leaves_,
              [&] { return counted(read_leaf(leaf, is_beside(leaves_, leaf))); });
  }
  void require_labels(std::size_t leaf) {
    if (has_all()) return;
    require_leaf(leaf);
    require(SlotKind::leaf, leaf, labels_, [&] { return read_labels(leaf); });
  }
  void require_fields(std::size_t leaf) {
    if (has_all()) return;
    require_leaf(leaf);
    require(SlotKind::leaf, leaf, fields_, [&] { return read_fields(leaf); });
  }
  void require_texts(std::size_t leaf) {
    if (has_all()) return;
    require_fields(leaf);
    require(SlotKind::leaf, leaf, texts_, [&] { return read_texts(leaf); });
  }
  void require_node(std::size_t node) {
    if (!has_all())
      require(SlotKind::node, node, nodes_,
              [&] { return counted(read_node(node, is_beside(nodes_, node))); });
  }

  // A hint: the slot may be touched soon. So that several reads are on their way while a search does one.
  void will_touch(SlotKind kind, std::size_t slot) {
    if (has_all() || (kind == SlotKind::leaf ? leaves_ : nodes_).has(slot)) return;
    try {
      will_need(kind, slot);
    } catch (const Error&) {  // whoever touches it learns of it
    }
  }

  // Slots that are not read any more are as if they had never been read.
  void forget_leaves(std::size_t first, std::size_t end) {
    for (SlotsRead* slots : {&leaves_, &labels_, &fields_, &texts_}) slots->forget(first, end);
    drop_leaves(first, end);
  }
  void forget_nodes(std::size_t first, std::size_t end) { nodes_.forget(first, end); }

  // Everything, and what is checked between slots.
  void require_all() {
    if (has_all()) return;
    if (cache_ != nullptr) throw InvalidArgument(kNeedsWholeIndex);
    lock_isolated(all_mutex_, [&] {
      if (has_all()) return;
      read_rest();
      has_all_.store(true, std::memory_order_release);
    });
  }

 protected:
  // Each returns about how many bytes of memory that has taken. `is_beside`: a neighbour is there, which shares pages.
  virtual std::uint64_t read_leaf(std::size_t leaf, bool is_beside) = 0;
  virtual std::uint64_t read_labels(std::size_t leaf) = 0;
  virtual std::uint64_t read_fields(std::size_t leaf) = 0;
  virtual std::uint64_t read_texts(std::size_t leaf) = 0;
  virtual std::uint64_t read_node(std::size_t node, bool is_beside) = 0;
  virtual void will_need(SlotKind kind, std::size_t slot) = 0;
  // What was noted of leaves that are forgotten goes.
  virtual void drop_leaves(std::size_t first, std::size_t end) = 0;
  // Requires every slot, by one thread at a time, and makes all checks that were left.
  virtual void read_rest() = 0;

 private:
  template <typename Read>
  void require(SlotKind kind, std::size_t slot, SlotsRead& slots, const Read& read) {
    if (cache_ == nullptr) {
      slots.require(slot, read);
    } else {
      cache_->require(kind, slot, slots, read);
    }
  }
  std::uint64_t counted(std::uint64_t bytes) {
    num_reads_.fetch_add(1, std::memory_order_relaxed);
    return bytes;
  }
  static bool is_beside(const SlotsRead& slots, std::size_t slot) {
    return (slot > 0 && slots.has(slot - 1)) || (slot + 1 < slots.size() && slots.has(slot + 1));
  }

  const bool has_fields_;
  SlotsRead leaves_, labels_, fields_, texts_, nodes_;
  std::mutex all_mutex_;
  std::atomic<bool> has_all_ = false;
  std::atomic<std::uint64_t> num_reads_ = 0;
  std::unique_ptr<SlotCache> cache_;
};

}  // namespace culmen
