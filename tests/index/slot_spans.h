// All leaf and node slots of an arena as memory, for tests that compare every byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "index/slot_arena.h"

namespace culmen::test {

inline std::span<const LeafHeader> all_leaves(const SlotArena& arena) {
  if (arena.leaf_slots() == 0) return {};
  return {&arena.leaf(0), arena.leaf_slots()};
}
inline std::span<const std::byte> all_values(const SlotArena& arena) {
  return {arena.values(0), arena.leaf_slots() * arena.shape().leaf_bytes()};
}
inline std::span<const std::int64_t> all_ids(const SlotArena& arena) {
  return {arena.ids(0), arena.leaf_slots() * arena.shape().leaf_rows};
}
inline std::span<const std::byte> all_zone_maps(const SlotArena& arena) {
  return {arena.zone_map(0), arena.leaf_slots() * kZoneVectors * arena.shape().zone_vector_bytes()};
}
inline std::span<const std::byte> all_nodes(const SlotArena& arena) {
  return {arena.node(0).bytes, arena.node_slots() * arena.node_bytes()};
}

}  // namespace culmen::test
