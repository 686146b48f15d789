// LeafRewriter: pages that keep their place in the tree get a new leaf each, and their nodes its bounds.
//
// A row that comes raises the bounds of its leaf and of all nodes above. Rows that go leave them as they are,
// loose but right, until a quarter of the leaf has gone or many rows come at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/write/edited_pages.h"
#include "index/write/leaf_writer.h"
#include "index/write/located_change.h"
#include "index/write/working_tree.h"

namespace culmen {

class LeafRewriter {
 public:
  LeafRewriter(WorkingTree& tree, const LocatedChange& located)
      : tree_(tree), located_(located), pages_(tree, located) {}

  // Node by node, in parallel.
  void rewrite(std::vector<PageEdit> edits);

 private:
  // The edits [first, end) of a sorted list are those of pages below the node.
  struct NodeEdits {
    PageNumber node;
    std::size_t first, end;
  };
  std::vector<NodeEdits> sort_by_node(std::vector<PageEdit>& edits) const;
  bool rewrite_leaf(const PageEdit& edit, std::uint32_t slot, LeafWriter& writer);
  void switch_to(const PageEdit& edit, std::uint32_t slot);

  WorkingTree& tree_;
  const LocatedChange& located_;
  const EditedPages pages_;
};

}  // namespace culmen
