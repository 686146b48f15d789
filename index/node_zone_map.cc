#include "index/node_zone_map.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace culmen {
namespace {

template <typename T>
bool update(SlotArena& arena, std::size_t slot) {
  const NodeRef node = std::as_const(arena).node(slot);
  const std::size_t d = arena.shape().num_attributes;
  std::vector<T> zone_map(2 * d);
  for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
    const std::uint32_t child = node.children()[c];
    const auto* below = reinterpret_cast<const T*>(
        node.header().level == 1 ? std::as_const(arena).zone_map(child) : arena.node_zone_map(child));
    if (c == 0) std::copy_n(below, 2 * d, zone_map.data());
    for (std::size_t i = 0; i < d; ++i) {
      zone_map[i] = std::max(zone_map[i], below[i]);
      zone_map[d + i] = std::min(zone_map[d + i], below[d + i]);
    }
  }
  T* own = reinterpret_cast<T*>(arena.node_zone_map(slot));
  if (std::equal(zone_map.begin(), zone_map.end(), own)) return false;
  std::copy(zone_map.begin(), zone_map.end(), own);
  return true;
}

}  // namespace

bool update_node_zone_map(SlotArena& arena, std::size_t slot) {
  return arena.shape().value_bytes == sizeof(float) ? update<float>(arena, slot)
                                                    : update<double>(arena, slot);
}

void write_node_zone_maps(const Snapshot& s) {
  for (std::size_t first = 0, end = 0; first < s.num_nodes; first = end) {
    const std::uint32_t level = s.node(first).header().level;
    while (end < s.num_nodes && s.node(end).header().level == level) ++end;
    tbb::parallel_for(first, end, [&](std::size_t node) { update_node_zone_map(*s.arena, node); });
  }
}

}  // namespace culmen
