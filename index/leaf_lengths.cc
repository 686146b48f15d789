#include "index/leaf_lengths.h"

#include <algorithm>

namespace culmen {

std::vector<LeafLength> leaves_by_length(const Snapshot& snapshot) {
  const int row = snapshot.layout.length_row(Extreme::maximum);
  std::vector<LeafLength> leaves;
  for (const std::uint32_t slot : snapshot.order().nodes) {
    const NodeRef node = snapshot.node(slot);
    if (node.header().level != 1) continue;
    const BoundRow& lengths = node.bounds()[row];
    for (std::uint32_t c = 0; c < node.header().num_children; ++c)
      leaves.push_back({lengths[c], node.children()[c]});
  }
  std::sort(leaves.begin(), leaves.end(), [](const LeafLength& a, const LeafLength& b) {
    return a.length != b.length ? a.length > b.length : a.slot < b.slot;
  });
  return leaves;
}

}  // namespace culmen
