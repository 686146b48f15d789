// Pieces of leaves and nodes, and the kernels that write them to their slots, and the bounds of level-1 nodes to
// their bounds slots.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/half.h"
#include "gpu/mirror/mirror_ref.h"
#include "index/node_layout.h"

namespace culmen::gpu {

// Bytes of one slot; all are multiples of 8.
struct SlotBytes {
  std::uint32_t values, ids;  // 0: rows are in host memory, or packed
  std::uint32_t zone_map;
  std::uint32_t node;

  CULMEN_HOST_DEVICE std::size_t leaf() const {
    return sizeof(LeafHeader) + zone_map + std::size_t{values} + ids;
  }
};
static_assert(sizeof(LeafHeader) % 8 == 0);

// A piece: the slots of its leaves and nodes, the leaves (header, zone map, values, ids), the nodes.
template <typename Byte>  // std::byte or const std::byte
struct PieceAccess {
  Byte* bytes;  // aligned to 16
  std::uint32_t num_leaves, num_nodes;
  SlotBytes sizes;

  using Slot = std::conditional_t<std::is_const_v<Byte>, const std::uint32_t, std::uint32_t>;

  CULMEN_HOST_DEVICE Slot* slots() const { return reinterpret_cast<Slot*>(bytes); }
  CULMEN_HOST_DEVICE Byte* leaf(std::size_t i) const {
    return bytes + slots_bytes(std::size_t{num_leaves} + num_nodes) + i * sizes.leaf();
  }
  CULMEN_HOST_DEVICE Byte* node(std::size_t i) const { return leaf(num_leaves) + i * sizes.node; }
  CULMEN_HOST_DEVICE std::size_t num_bytes() const {
    return static_cast<std::size_t>(node(num_nodes) - bytes);
  }

  CULMEN_HOST_DEVICE static constexpr std::size_t slots_bytes(std::size_t num_slots) {
    return (num_slots * sizeof(Slot) + 15) / 16 * 16;
  }
};
using PieceRef = PieceAccess<const std::byte>;

// A device's arrays of slots: each is [] of its SlotBytes.
struct SlotArraysRef {
  std::byte *values, *ids, *leaves, *zone_map, *nodes;
};

// Enqueues the copy of a piece, in device memory, to its slots. Throws CudaError.
void launch_write_slots(const PieceRef& piece, const SlotArraysRef& to, cudaStream_t stream);

// Enqueues the copy of items of `each` bytes, a multiple of 8, to their slots of an array. All in device memory. Throws
// CudaError.
void launch_write_items(const std::uint32_t* slots, std::size_t num_items, const std::byte* items,
                        std::size_t each, std::byte* array, cudaStream_t stream);

// A change of a bounds slot: the level-1 node that has it now.
struct BoundsSlot {
  std::uint32_t slot;
  std::uint32_t node;  // its own slot; kNoNode: the slot is empty
};

// The arrays of bounds slots of MirrorRef, writable.
struct BoundsSlotsRef {
  Half* bounds;  // [num_rows][num_slots]
  std::uint32_t* nodes;
  std::int64_t* min_ids;
  std::uint32_t num_slots;
  std::uint32_t num_rows;
  std::uint32_t first_minimum_row;
};

// Enqueues the writes of nodes' own bounds, the extremes of their children's, to their bounds slots.
//
//   changes, nodes   device memory; nodes[slot] of node_stride bytes, all of level 1
//
// Throws CudaError.
void launch_write_bounds_slots(const BoundsSlot* changes, std::size_t num_changes, const std::byte* nodes,
                               std::size_t node_stride, const BoundsSlotsRef& to, cudaStream_t stream);

}  // namespace culmen::gpu
