// What a kernel sees of a snapshot's mirror: pointers and counts, passed by value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "index/node_layout.h"

namespace culmen::gpu {

inline constexpr std::uint32_t kNoNode = 0xffffffff;

// How the stored bounds tell an attribute's extremes: origin + unit * the number in the row.
struct AttributeBounds {
  double origin, unit;
  std::int32_t maximum_row, minimum_row;
};

struct MirrorRef {
  // As in index/blocks.h, by slot.
  const std::byte* values;  // [][num_attributes][block_rows]
  const std::int64_t* ids;  // [][block_rows]
  const LeafHeader* leaves;
  const std::byte* corners;  // [][kNumCorners][num_attributes]
  const std::byte* nodes;    // [] of node_stride bytes

  const std::uint32_t* leaf_order;    // [num_leaves] slots, in the tree's order
  const PartitionRange* partitions;   // positions in leaf_order
  const AttributeBounds* attributes;  // [num_attributes]

  // As in index/thresholds.h, by position in leaf_order.
  const std::byte* thresholds;            // [num_leaves][2][num_attributes]
  const std::int64_t* threshold_min_ids;  // [num_leaves]

  // The bounds of all level-1 nodes, "subset-major": [num_bound_rows][num_places]. Which node stands at a place
  // is shuffled, so that a region of the tree where all nodes are promising is shared out among all who
  // search.
  const Half* place_bounds;
  const std::uint32_t* place_nodes;   // [num_places]; kNoNode: an empty place
  const std::int64_t* place_min_ids;  // [num_places]

  std::uint64_t node_stride;
  std::uint32_t num_places;  // a multiple of 32
  std::uint32_t root;
  std::uint32_t num_leaves;
  std::uint32_t num_partitions;
  std::int32_t height;
  std::int32_t block_rows;
  std::int32_t num_attributes;

  CULMEN_HOST_DEVICE NodeRef node(std::uint32_t i) const { return {nodes + i * node_stride}; }
  template <typename T>
  CULMEN_HOST_DEVICE const T* leaf_values(std::uint32_t leaf) const {
    return reinterpret_cast<const T*>(values) +
           static_cast<std::size_t>(leaf) * static_cast<std::size_t>(num_attributes * block_rows);
  }
  CULMEN_HOST_DEVICE std::uint64_t first_row(std::uint32_t leaf) const {
    return static_cast<std::uint64_t>(leaf) * static_cast<std::uint64_t>(block_rows);
  }
  // Maxima, then minima.
  template <typename T>
  CULMEN_HOST_DEVICE const T* thresholds_of(std::uint32_t position) const {
    return reinterpret_cast<const T*>(thresholds) +
           std::size_t{2} * position * static_cast<std::size_t>(num_attributes);
  }
  template <typename T>
  CULMEN_HOST_DEVICE const T* corner(std::uint32_t leaf, Corner which) const {
    return reinterpret_cast<const T*>(corners) +
           (static_cast<std::size_t>(leaf) * kNumCorners + static_cast<std::size_t>(which)) *
               static_cast<std::size_t>(num_attributes);
  }
};
static_assert(std::is_trivially_copyable_v<MirrorRef>);

}  // namespace culmen::gpu
