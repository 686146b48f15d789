// LeafRewriter: writes a new leaf for each page that keeps its position in the tree, and updates the bounds of the
// nodes above. Inserted rows raise bounds. Where erased rows have left them loose, they are computed again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/write/edited_pages.h"
#include "index/write/leaf_writer.h"
#include "index/write/located_change.h"
#include "index/write/stale_bounds.h"
#include "index/write/working_tree.h"

namespace culmen {

class LeafRewriter {
 public:
  LeafRewriter(WorkingTree& tree, const LocatedChange& located)
      : tree_(tree), located_(located), pages_(tree, located) {}

  // Node by node, in parallel.
  void run(std::vector<PageEdit> edits);

 private:
  // Edits [first, end) of a sorted list: those of the node's pages.
  struct NodeEdits {
    PageNumber node;
    std::size_t first, end;
  };
  std::vector<NodeEdits> sort_by_node(std::vector<PageEdit>& edits) const;
  // One per thread.
  struct Tools {
    LeafWriter writer;
    StaleBounds stale_bounds;
  };
  bool rewrite_leaf(const PageEdit& edit, std::uint32_t slot, Tools& tools, NodeBounds::Edited& edited);
  void switch_to(const PageEdit& edit, std::uint32_t slot);

  WorkingTree& tree_;
  const LocatedChange& located_;
  const EditedPages pages_;
};

}  // namespace culmen
