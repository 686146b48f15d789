// SlotArena: the memory that versions of an index share, divided into slots for leaves and for inner nodes.
//
// A version refers to slots by number and never writes to them. The writer fills free slots for the next version, and
// reuses a slot when no live version refers to it (index/write/). So addresses never change, and a device mirror can
// follow slot by slot.
//
// An arena may have a source (index/slot_source.h): then whoever reads a slot by a const call reads it from the files,
// unless somebody has before, and such calls throw FormatError or IoError. Kernels, which have addresses of many slots,
// call require_all() first. Writers read by const calls alone, and write to slots that are not in the files.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_blocks.h"
#include "base/pages.h"
#include "index/bound_layout.h"
#include "index/child_zones.h"
#include "index/leaf_codes.h"
#include "index/leaf_fields.h"
#include "index/leaf_texts.h"
#include "index/node_layout.h"
#include "index/slot_source.h"

namespace culmen {

// The sizes that all leaf slots share.
struct LeafShape {
  std::size_t num_attributes = 0;
  std::size_t leaf_rows = 0;
  std::size_t value_bytes = sizeof(float);
  bool has_labels = false;
  std::size_t num_fields = 0;
  bool has_texts = false;  // some field is a stored text

  std::size_t leaf_bytes() const { return num_attributes * leaf_rows * value_bytes; }
  std::size_t zone_vector_bytes() const { return num_attributes * value_bytes; }
  std::size_t code_words() const { return num_attributes * num_code_words(leaf_rows); }
  std::size_t label_end_bytes() const { return leaf_rows * sizeof(std::uint32_t); }
};

// Whole cache lines, so that no two nodes share one.
inline std::size_t node_bytes_of(const BoundLayout& layout) {
  constexpr std::size_t kCacheLine = 64;
  const std::size_t used = kNodeBoundsOffset + static_cast<std::size_t>(layout.num_rows()) * sizeof(BoundRow);
  return (used + kCacheLine - 1) / kCacheLine * kCacheLine;
}

enum class ArenaRoom : std::uint8_t { to_grow, none };

class SlotArena {
 public:
  // Allocates num_leaves and num_nodes zeroed slots, and reserves addresses for several times as many, or for no others.
  // On small pages few slots cost little memory, but searches are slower. files: null for memory.
  SlotArena(const LeafShape& shape, const BoundLayout& layout, std::size_t num_leaves, std::size_t num_nodes,
            PageSize pages = PageSize::huge, std::shared_ptr<TemporaryFiles> files = nullptr,
            ArenaRoom room = ArenaRoom::to_grow);
  ~SlotArena();
  SlotArena(const SlotArena&) = delete;
  SlotArena& operator=(const SlotArena&) = delete;

  const LeafShape& shape() const { return shape_; }
  // Where the slots are; null: in memory.
  const std::shared_ptr<TemporaryFiles>& files() const { return files_; }
  std::size_t leaf_slots() const { return leaves_.size(); }
  std::size_t leaf_capacity() const { return leaves_.capacity(); }
  std::size_t node_slots() const { return num_nodes_; }
  std::size_t node_capacity() const { return node_capacity_; }
  std::size_t node_bytes() const { return node_bytes_; }

  // All slots are read by it from now on.
  void set_source(std::unique_ptr<SlotSource> source) { source_ = std::move(source); }
  // Reads all slots that were not read yet, and makes every check of an index that is read as a whole.
  void require_all() const;
  // Of an arena with a source, before anything is read: keeps about so many bytes of what was read. From then on threads
  // read within sessions (index/read_session.h), and require_all() throws InvalidArgument.
  void limit_memory(std::uint64_t most_bytes);
  // Null without a limit.
  SlotCache* cache() const { return source_ == nullptr ? nullptr : source_->cache(); }
  // About the memory of one slot, and of one whose neighbours are not read: it has pages of its own.
  std::size_t bytes_of_leaf(bool is_beside) const;
  std::size_t bytes_of_node(bool is_beside) const;
  // For slots that are not written yet, if most of them will be.
  void use_huge_pages();
  // Of slots in files: as PageBuffer has them.
  void expect_scattered_access();
  void expect_usual_access();
  // Whether reading the slot now would read no file.
  bool has_leaf(std::size_t slot) const { return source_ == nullptr || source_->has_leaf(slot); }
  bool has_node(std::size_t slot) const { return source_ == nullptr || source_->has_node(slot); }

  // Leaves and nodes that were read from files so far.
  std::uint64_t num_reads() const { return source_ == nullptr ? 0 : source_->num_reads(); }
  // Whether slots may have to be read from files.
  bool reads_files() const { return source_ != nullptr && !source_->has_all(); }
  void will_touch(SlotKind kind, std::size_t slot) const {
    if (source_ != nullptr) source_->will_touch(kind, slot);
  }

  // Up to the capacities. New slots are zero.
  void grow_leaves(std::size_t num_leaves);
  void grow_nodes(std::size_t num_nodes);

  const LeafHeader& leaf(std::size_t slot) const {
    require_leaf(slot);
    return leaves_[slot];
  }
  LeafHeader& leaf(std::size_t slot) { return leaves_[slot]; }

  // [num_attributes][leaf_rows] of the value type; 0 after the last row.
  const std::byte* values(std::size_t slot) const {
    require_leaf(slot);
    return values_.data() + slot * shape_.leaf_bytes();
  }
  std::byte* values(std::size_t slot) { return values_.data() + slot * shape_.leaf_bytes(); }

  // [leaf_rows]; 0 after the last row.
  const std::int64_t* ids(std::size_t slot) const {
    require_leaf(slot);
    return ids_.data() + slot * shape_.leaf_rows;
  }
  std::int64_t* ids(std::size_t slot) { return ids_.data() + slot * shape_.leaf_rows; }

  // [kZoneVectors][num_attributes] of the value type.
  const std::byte* zone_map(std::size_t slot) const {
    require_leaf(slot);
    return zone_maps_.data() + slot * kZoneVectors * shape_.zone_vector_bytes();
  }
  std::byte* zone_map(std::size_t slot) {
    return zone_maps_.data() + slot * kZoneVectors * shape_.zone_vector_bytes();
  }

  // [num_attributes][num_code_words]: see index/leaf_codes.h.
  const std::uint16_t* codes(std::size_t slot) const {
    require_leaf(slot);
    return codes_.data() + slot * shape_.code_words();
  }
  std::uint16_t* codes(std::size_t slot) { return codes_.data() + slot * shape_.code_words(); }

  // Of a node: see index/node_zone_map.h.
  const std::byte* node_zone_map(std::size_t slot) const {
    require_node(slot);
    return node_zone_maps_.data() + slot * kZoneVectors * shape_.zone_vector_bytes();
  }
  std::byte* node_zone_map(std::size_t slot) {
    return node_zone_maps_.data() + slot * kZoneVectors * shape_.zone_vector_bytes();
  }

  NodeRef node(std::size_t slot) const {
    require_node(slot);
    return {nodes_.data() + slot * node_bytes_};
  }
  NodeAccess<std::byte> mutable_node(std::size_t slot) { return {nodes_.data() + slot * node_bytes_}; }

  // The labels of a leaf: the end of each (uint32_t [leaf_rows], the last one repeated after the last row), then the
  // text. Empty if none were set.
  std::span<const std::byte> labels(std::size_t slot) const;
  std::string_view label(std::size_t slot, std::size_t row) const;
  // Replaces a leaf's labels by zeroed memory for labels with `text_bytes` of text, and returns it to be filled.
  std::span<std::byte> allocate_labels(std::size_t slot, std::size_t text_bytes);

  // Gaps, filter and stored columns of a leaf, but for stored texts; see index/leaf_fields.h. Empty bytes: there are none.
  LeafFields fields(std::size_t slot) const {
    require_fields(slot);
    return LeafFields(fields_[slot]);
  }
  void set_fields(std::size_t slot, std::span<const std::byte> bytes);
  // The stored texts of a leaf; see index/leaf_texts.h. Empty bytes: the index has none.
  LeafTexts texts(std::size_t slot) const {
    if (!shape_.has_texts) return {};
    require_texts(slot);
    return LeafTexts(texts_[slot]);
  }
  void set_texts(std::size_t slot, std::span<const std::byte> bytes);
  // Where they are written instead: not zeroed, so every byte has to be.
  std::span<std::byte> allocate_texts(std::size_t slot, std::size_t num_bytes);
  // Whether any leaf has had fields or gaps, or may have some in the files.
  bool has_fields() const {
    return has_fields_.load(std::memory_order_relaxed) || (source_ != nullptr && source_->has_fields());
  }

  // Of a node: see index/child_zones.h.
  ChildZonesLayout child_zones_layout() const { return {shape_.num_attributes, shape_.num_fields}; }
  ChildZonesRef child_zones(std::size_t slot) const {
    require_node(slot);
    return {child_zones_.data() + slot * child_zones_layout().node_bytes(), child_zones_layout()};
  }
  std::byte* child_zones_bytes(std::size_t slot) {
    return child_zones_.data() + slot * child_zones_layout().node_bytes();
  }

  // For writers, of which there is one at a time: the versions before the newest that may still be read, oldest first.
  // They are here, and not in the writer, because its successor must not write to their slots either.
  struct OlderVersion {
    std::uint64_t version = 0;
    std::shared_ptr<const std::atomic<bool>> is_over;

    bool may_be_read() const { return !is_over->load(std::memory_order_acquire); }
  };
  void add_older_version(OlderVersion older);
  const std::vector<OlderVersion>& older_versions() const { return older_versions_; }

 private:
  void each_array(const auto& f);
  void discard_leaves(std::size_t first, std::size_t end);
  void discard_nodes(std::size_t first, std::size_t end);
  void require_leaf(std::size_t slot) const {
    if (source_ != nullptr) source_->require_leaf(slot);
  }
  void require_labels(std::size_t slot) const {
    if (source_ != nullptr) source_->require_labels(slot);
  }
  void require_fields(std::size_t slot) const {
    if (source_ != nullptr) source_->require_fields(slot);
  }
  void require_texts(std::size_t slot) const {
    if (source_ != nullptr) source_->require_texts(slot);
  }
  void require_node(std::size_t slot) const {
    if (source_ != nullptr) source_->require_node(slot);
  }
  void set_block(std::byte*& block, std::span<const std::byte> bytes);
  const std::uint32_t* label_ends(std::size_t slot) const {
    return reinterpret_cast<const std::uint32_t*>(labels_[slot]);
  }

  const LeafShape shape_;
  const std::shared_ptr<TemporaryFiles> files_;
  ByteBlocks blocks_;  // of labels, fields and texts
  const std::size_t node_bytes_;
  const std::size_t node_capacity_;
  std::size_t num_nodes_ = 0;
  PageBuffer<LeafHeader> leaves_;
  PageBuffer<std::byte> values_, zone_maps_, nodes_, node_zone_maps_, child_zones_;
  PageBuffer<std::int64_t> ids_;
  PageBuffer<std::uint16_t> codes_;
  PageBuffer<std::byte*> labels_, fields_, texts_;  // of blocks_
  std::atomic<bool> has_fields_ = false;
  std::unique_ptr<SlotSource> source_;  // null: all slots are in memory
  std::vector<OlderVersion> older_versions_;
  std::size_t most_older_versions_ = 64;  // before those that nobody reads are erased
};

}  // namespace culmen
