#include "gpu/build/fresh_pages.h"

#include <algorithm>

namespace culmen::gpu {
namespace {

constexpr std::size_t kPage = 4096;
// Bytes that a task touches: several of the largest pages that systems use by default.
constexpr std::size_t kGrain = 8 << 20;

void write_to_pages(std::span<std::byte> memory) {
  for (std::size_t i = 0; i < memory.size(); i += kPage) {
    volatile std::byte& first = memory[i];
    first = std::byte{0};
  }
}

}  // namespace

void FreshPages::start(const std::shared_ptr<SlotArena>& arena) {
  if (arena != arena_) {
    wait();
    arena_ = arena;
    num_leaves_ = num_nodes_ = 0;
  }
  const LeafShape& shape = arena->shape();
  const std::size_t leaf = num_leaves_, count = arena->leaf_slots() - leaf;
  if (count > 0) {
    start({reinterpret_cast<std::byte*>(&arena->leaf(leaf)), count * sizeof(LeafHeader)});
    start({arena->zone_map(leaf), count * kZoneVectors * shape.zone_vector_bytes()});
    start({reinterpret_cast<std::byte*>(arena->ids(leaf)), count * shape.leaf_rows * sizeof(std::int64_t)});
    start({arena->values(leaf), count * shape.leaf_bytes()});
    start({reinterpret_cast<std::byte*>(arena->codes(leaf)),
           count * shape.code_words() * sizeof(std::uint16_t)});
  }
  const std::size_t node = num_nodes_, num_nodes = arena->node_slots() - node;
  if (num_nodes > 0) start({arena->mutable_node(node).bytes, num_nodes * arena->node_bytes()});
  num_leaves_ += count;
  num_nodes_ += num_nodes;
}

void FreshPages::start(std::span<std::byte> memory) {
  for (std::size_t i = 0; i < memory.size(); i += kGrain) {
    const std::span<std::byte> part = memory.subspan(i, std::min(kGrain, memory.size() - i));
    group_.run([part] { write_to_pages(part); });
  }
}

}  // namespace culmen::gpu
