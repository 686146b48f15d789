// All slots of an index's blocks, as they lie in memory: for tests that compare every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "index/blocks.h"

namespace culmen::test {

inline std::span<const LeafHeader> all_leaves(const Blocks& blocks) {
  if (blocks.leaf_slots() == 0) return {};
  return {&blocks.leaf(0), blocks.leaf_slots()};
}
inline std::span<const std::byte> all_values(const Blocks& blocks) {
  return {blocks.values(0), blocks.leaf_slots() * blocks.shape().leaf_bytes()};
}
inline std::span<const std::int64_t> all_ids(const Blocks& blocks) {
  return {blocks.ids(0), blocks.leaf_slots() * blocks.shape().block_rows};
}
inline std::span<const std::byte> all_corners(const Blocks& blocks) {
  return {blocks.corners(0), blocks.leaf_slots() * kNumCorners * blocks.shape().corner_bytes()};
}
inline std::span<const std::byte> all_nodes(const Blocks& blocks) {
  return {blocks.node(0).bytes, blocks.node_slots() * blocks.node_bytes()};
}

}  // namespace culmen::test
