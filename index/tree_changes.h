// What is new in a version of an index since an older one: how a mirror follows without looking at the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

struct TreeChanges {
  struct Node {
    std::uint32_t slot;
    bool is_new;
  };
  std::vector<Node> level_1;          // all nodes above leaves, in the tree's order
  std::vector<std::uint32_t> nodes;   // slots of the new ones, of all levels
  std::vector<std::uint32_t> leaves;  // slots of the new ones
};

// `since`: an older version in the same SlotArena; none: everything is new.
//
// What lies below a node is never newer than the node, so only new nodes are looked into for new ones.
// Work, by several threads: every node above level 1, the level-1 nodes below the new ones of them, and the
// headers of the leaves below the new ones of those.
TreeChanges changes_since(const Snapshot& snapshot, std::optional<std::uint64_t> since);

}  // namespace culmen
