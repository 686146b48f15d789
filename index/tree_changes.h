// Finds what is new in a version of an index since an older one, so that a mirror copies nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

struct TreeChanges {
  struct Node {
    std::uint32_t slot;
    bool is_new;
  };
  std::vector<Node> level_1;          // all of them, in the tree's order
  std::vector<std::uint32_t> nodes;   // slots of the new ones, of all levels
  std::vector<std::uint32_t> leaves;  // slots of the new ones
};

// `since`: an older version in the same SlotArena; none: everything is new.
//
// Nothing below a node is newer than the node, so only new nodes can have new children. Reads, by several threads,
// every node above level 1, the headers of nodes below new ones, and the headers of leaves below new level-1 nodes.
TreeChanges changes_since(const Snapshot& snapshot, std::optional<std::uint64_t> since);

// The same for mirrors that follow to one version together: found once for all that come from the same one.
// Thread-safe.
class ChangesOfVersion {
 public:
  const TreeChanges& since(const Snapshot& snapshot, std::optional<std::uint64_t> older);

 private:
  std::mutex mutex_;
  std::map<std::optional<std::uint64_t>, TreeChanges> found_;
};

}  // namespace culmen
