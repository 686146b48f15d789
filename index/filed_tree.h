// FiledTree: what is known of the tree of a version that is read on touch (index/slot_source.h) before any of it is read.
// Leaves are slots 0, 1 and so on, in the tree's order, and so are nodes, level 1 first. The children of a node are
// consecutive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace culmen {

struct FiledTree {
  std::uint64_t num_leaves = 0;
  std::vector<std::uint32_t> leaves_of_partition;
  std::vector<std::uint64_t> level_starts;  // the first node of each level, then the number of nodes

  std::size_t num_nodes() const { return level_starts.back(); }
};

}  // namespace culmen
