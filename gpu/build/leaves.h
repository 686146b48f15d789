// Kernels that write leaves from rows in key order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "gpu/build/rows.h"
#include "gpu/mirror/write_slots.h"
#include "index/node_layout.h"

namespace culmen::gpu {

// Where leaves [first_leaf, first_leaf + num_leaves) and the level-1 nodes above them are written.
struct LeafTarget {
  SlotArraysRef slots;  // of first_leaf, and of the node above it
  std::uint32_t first_leaf, num_leaves;
  std::uint32_t leaf_rows;
  std::uint32_t num_attributes;
  std::uint64_t node_bytes;

  template <typename T>
  CULMEN_HOST_DEVICE T* values(std::uint32_t leaf) const {
    return reinterpret_cast<T*>(slots.values) +
           static_cast<std::size_t>(leaf - first_leaf) * leaf_rows * num_attributes;
  }
  CULMEN_HOST_DEVICE std::int64_t* ids(std::uint32_t leaf) const {
    return reinterpret_cast<std::int64_t*>(slots.ids) +
           static_cast<std::size_t>(leaf - first_leaf) * leaf_rows;
  }
  CULMEN_HOST_DEVICE LeafHeader& header(std::uint32_t leaf) const {
    return reinterpret_cast<LeafHeader*>(slots.leaves)[leaf - first_leaf];
  }
  template <typename T>
  CULMEN_HOST_DEVICE T* zone_vector(std::uint32_t leaf, Extreme which) const {
    return reinterpret_cast<T*>(slots.zone_map) +
           (static_cast<std::size_t>(leaf - first_leaf) * kZoneVectors + static_cast<std::size_t>(which)) *
               num_attributes;
  }
  // The node above a leaf.
  CULMEN_HOST_DEVICE NodeAccess<std::byte> node(std::uint32_t leaf) const {
    return {slots.nodes + (leaf / kFanOut - first_leaf / kFanOut) * node_bytes};
  }
};
static_assert(std::is_trivially_copyable_v<LeafTarget>);

// The partitions that are loaded. The arrays, in device memory, are of all partitions.
struct PartitionsRef {
  const PartitionRange* ranges;     // leaves
  const std::uint64_t* first_rows;  // [num_partitions + 1] among all rows in key order
  PartitionSpan span;
  std::uint64_t first_row;  // of span.first
};

// Enqueues the leaves' headers, without the smallest ids, and starts[num_leaves]: the first row of each in key order.
void launch_cut(const LeafTarget& leaves, const PartitionsRef& partitions, std::uint32_t* starts,
                cudaStream_t stream);

// Enqueues rows, ids, zone map and smallest ids of the leaves. order: the rows in key order.
template <typename T>
void launch_fill(const LeafTarget& leaves, const RowsRef& rows, const std::uint32_t* order,
                 const std::uint32_t* starts, cudaStream_t stream);

// Enqueues the codes of filled leaves (index/leaf_codes.h): codes[num_leaves][num_attributes][num_words].
template <typename T>
void launch_codes(const LeafTarget& leaves, std::uint32_t num_words, std::uint16_t* codes,
                  cudaStream_t stream);

}  // namespace culmen::gpu
