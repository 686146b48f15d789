#include "index/node_corners.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace culmen {
namespace {

template <typename T>
bool update(Blocks& blocks, std::size_t slot) {
  const NodeRef node = std::as_const(blocks).node(slot);
  const std::size_t d = blocks.shape().num_attributes;
  std::vector<T> corners(2 * d);
  for (std::uint32_t c = 0; c < node.header().num_children; ++c) {
    const std::uint32_t child = node.children()[c];
    const auto* below = reinterpret_cast<const T*>(
        node.header().level == 1 ? std::as_const(blocks).corners(child) : blocks.node_corners(child));
    if (c == 0) std::copy_n(below, 2 * d, corners.data());
    for (std::size_t i = 0; i < d; ++i) {
      corners[i] = std::max(corners[i], below[i]);
      corners[d + i] = std::min(corners[d + i], below[d + i]);
    }
  }
  T* own = reinterpret_cast<T*>(blocks.node_corners(slot));
  if (std::equal(corners.begin(), corners.end(), own)) return false;
  std::copy(corners.begin(), corners.end(), own);
  return true;
}

}  // namespace

bool update_node_corners(Blocks& blocks, std::size_t slot) {
  return blocks.shape().value_bytes == sizeof(float) ? update<float>(blocks, slot)
                                                     : update<double>(blocks, slot);
}

void write_node_corners(const Snapshot& s) {
  for (std::size_t first = 0, end = 0; first < s.num_nodes; first = end) {
    const std::uint32_t level = s.node(first).header().level;
    while (end < s.num_nodes && s.node(end).header().level == level) ++end;
    tbb::parallel_for(first, end, [&](std::size_t node) { update_node_corners(*s.blocks, node); });
  }
}

}  // namespace culmen
