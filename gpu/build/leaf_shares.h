// How the devices of a bulk load divide the leaves among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/node_layout.h"

namespace culmen::gpu {

// Partitions [first, end).
struct PartitionSpan {
  std::uint32_t first, end;
};

// Leaves [first_leaf, end_leaf): those of whole level-1 nodes, so no two devices write to one node. The partitions are all
// that these leaves belong to. A partition at the edge has leaves in both shares.
struct LeafShare {
  std::uint32_t first_leaf, end_leaf;
  PartitionSpan partitions;
};

// `count` shares of nearly equal size, some of which may be empty, but not the first. partitions: of the tree.
std::vector<LeafShare> share_leaves(std::span<const PartitionRange> partitions, std::size_t count);

}  // namespace culmen::gpu
