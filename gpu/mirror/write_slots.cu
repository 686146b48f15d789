#include "base/half.h"
#include "gpu/cuda/launch.h"
#include "gpu/mirror/write_slots.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 128;

// By a thread block. Everything is a multiple of 8 bytes.
__device__ void copy(const std::byte*& from, std::byte* to, std::uint32_t num_bytes) {
  const auto* source = reinterpret_cast<const uint2*>(from);
  auto* target = reinterpret_cast<uint2*>(to);
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < num_bytes / sizeof(uint2); i += kThreads) target[i] = source[i];
  from += num_bytes;
}

__device__ std::byte* at(std::byte* array, std::uint32_t slot, std::uint32_t num_bytes) {
  return array + static_cast<std::size_t>(slot) * num_bytes;
}

// A thread block for each leaf or node.
__global__ void __launch_bounds__(kThreads) write_slots(const PieceRef piece, const SlotArraysRef to) {
  const SlotBytes& sizes = piece.sizes;
  const std::uint32_t slot = piece.slots()[blockIdx.x];
  if (blockIdx.x < piece.num_leaves) {
    const std::byte* from = piece.leaf(blockIdx.x);
    copy(from, at(to.leaves, slot, sizeof(LeafHeader)), sizeof(LeafHeader));
    copy(from, at(to.zone_map, slot, sizes.zone_map), sizes.zone_map);
    copy(from, at(to.values, slot, sizes.values), sizes.values);
    copy(from, at(to.ids, slot, sizes.ids), sizes.ids);
  } else {
    const std::byte* from = piece.node(blockIdx.x - piece.num_leaves);
    copy(from, at(to.nodes, slot, sizes.node), sizes.node);
  }
}

// A thread for each 8 bytes.
__global__ void __launch_bounds__(kThreads)
    write_items(const std::uint32_t* slots, std::size_t num_words, const uint2* items, std::size_t words_each,
                uint2* array) {
  const std::size_t i = blockIdx.x * std::size_t{kThreads} + threadIdx.x;
  if (i < num_words) array[slots[i / words_each] * words_each + i % words_each] = items[i];
}

// A thread block for each bounds slot.
__global__ void __launch_bounds__(kThreads)
    write_bounds_slots(const BoundsSlot* changes, const std::byte* nodes, std::size_t node_stride,
                       const BoundsSlotsRef to) {
  const BoundsSlot change = changes[blockIdx.x];
  const bool is_empty = change.node == kNoNode;
  const NodeRef node = {nodes + (is_empty ? 0 : change.node * node_stride)};
  const std::uint32_t num_children = is_empty ? 0 : node.header().num_children;
  for (std::uint32_t row = threadIdx.x; row < to.num_rows; row += kThreads) {
    Half bound = {0};
    if (!is_empty) {
      const double farthest = node.bounds()[row].farthest_out(num_children);
      bound = row >= to.first_minimum_row ? round_down_to_half(farthest) : round_up_to_half(farthest);
    }
    to.bounds[static_cast<std::size_t>(row) * to.num_slots + change.slot] = bound;
  }
  if (threadIdx.x == 0) {
    to.nodes[change.slot] = change.node;
    to.min_ids[change.slot] = is_empty ? kNoId : node.header().min_id;
  }
}

}  // namespace

void launch_write_slots(const PieceRef& piece, const SlotArraysRef& to, cudaStream_t stream) {
  const std::uint32_t num_blocks = piece.num_leaves + piece.num_nodes;
  if (num_blocks == 0) return;
  cuda::launch(write_slots, {.num_blocks = num_blocks, .num_threads = kThreads}, stream, piece, to);
}

void launch_write_items(const std::uint32_t* slots, std::size_t num_items, const std::byte* items,
                        std::size_t each, std::byte* array, cudaStream_t stream) {
  const std::size_t words_each = each / sizeof(uint2), num_words = num_items * words_each;
  if (num_words == 0) return;
  const cuda::Shape shape = {.num_blocks = static_cast<unsigned>((num_words + kThreads - 1) / kThreads),
                             .num_threads = kThreads};
  cuda::launch(write_items, shape, stream, slots, num_words, reinterpret_cast<const uint2*>(items),
               words_each, reinterpret_cast<uint2*>(array));
}

void launch_write_bounds_slots(const BoundsSlot* changes, std::size_t num_changes, const std::byte* nodes,
                               std::size_t node_stride, const BoundsSlotsRef& to, cudaStream_t stream) {
  if (num_changes == 0) return;
  const cuda::Shape shape = {.num_blocks = static_cast<unsigned>(num_changes), .num_threads = kThreads};
  cuda::launch(write_bounds_slots, shape, stream, changes, nodes, node_stride, to);
}

}  // namespace culmen::gpu
