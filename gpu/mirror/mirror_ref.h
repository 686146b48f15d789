// A snapshot's mirror as kernels read it: pointers and counts, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "gpu/mirror/attribute_bounds.h"
#include "gpu/mirror/code_words.h"
#include "gpu/mirror/half_rows.h"
#include "gpu/mirror/leaf_columns.h"
#include "index/node_layout.h"

namespace culmen::gpu {

inline constexpr std::uint32_t kNoNode = 0xffffffff;

struct MirrorRef : SlotRows {
  // As in index/slot_arena.h, by slot.
  const LeafHeader* leaves;
  const std::byte* zone_map;  // [][kZoneVectors][num_attributes]
  const std::byte* nodes;     // [] of node_stride bytes

  // As in gpu/mirror/field_slots.h, by slot. Null: there are no filter columns, and no row misses a value.
  const std::byte* const* leaf_fields;  // null also for a leaf without
  const std::byte* child_zones;         // [] of child_zones_bytes

  const std::uint32_t* leaf_order;    // [num_leaves] slots, in the tree's order
  const PartitionRange* partitions;   // positions in leaf_order
  const AttributeBounds* attributes;  // [num_attributes]

  // As in index/thresholds.h, by position in leaf_order.
  const std::byte* thresholds;            // [num_leaves][2][num_attributes]
  const std::int64_t* threshold_min_ids;  // [num_leaves]

  // The bounds of all level-1 nodes, "subset-major": [num_bound_rows][num_slots]. Nodes are
  // shuffled over the slots, so that all teams of a search share a region of the tree where all nodes are promising.
  const Half* slot_bounds;
  const std::uint32_t* slot_nodes;   // [num_slots]; kNoNode: an empty slot
  const std::int64_t* slot_min_ids;  // [num_slots]

  CodeWords codes;  // of tables of up to kMaxCodedAttributes, if there is room
  HalfRows half;    // of tables of kMinHalfAttributes and more, if there is room

  std::uint64_t node_stride;
  std::uint32_t num_slots;  // a multiple of 32
  std::uint32_t child_zones_bytes;
  std::uint32_t root;
  std::uint32_t num_leaves;
  std::uint32_t num_partitions;
  std::int32_t height;

  CULMEN_HOST_DEVICE NodeRef node(std::uint32_t i) const { return {nodes + i * node_stride}; }
  // ChildGaps, then ChildZones (index/child_zones.h).
  CULMEN_HOST_DEVICE const std::byte* zones_of_children(std::uint32_t i) const {
    return child_zones + static_cast<std::size_t>(i) * child_zones_bytes;
  }
  // Maxima, then minima.
  template <typename T>
  CULMEN_HOST_DEVICE const ValueOf<T>* thresholds_of(std::uint32_t position) const {
    return reinterpret_cast<const ValueOf<T>*>(thresholds) +
           std::size_t{2} * position * static_cast<std::size_t>(num_attributes);
  }
  template <typename T>
  CULMEN_HOST_DEVICE const ValueOf<T>* zone_vector(std::uint32_t leaf, Extreme which) const {
    return reinterpret_cast<const ValueOf<T>*>(zone_map) +
           (static_cast<std::size_t>(leaf) * kZoneVectors + static_cast<std::size_t>(which)) *
               static_cast<std::size_t>(num_attributes);
  }
};
static_assert(std::is_trivially_copyable_v<MirrorRef>);

}  // namespace culmen::gpu
