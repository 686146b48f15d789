// NodeBounds: what an inner node stores about its children (bounds, smallest ids) and its zone map, derived from the
// children and propagated towards the root.
#pragma once

#include <cstdint>
#include <vector>

#include "index/write/node_columns.h"
#include "index/write/tree_nodes.h"

namespace culmen {

class NodeBounds {
 public:
  explicit NodeBounds(TreeNodes& nodes) : nodes_(nodes) {}

  struct Edited {
    PageNumber node = kNoPage;
    // The node, or one below it, has other children than before: all bounds rows are updated up to the root. Otherwise
    // only changed_rows are, as far up as they change anything.
    bool is_reshaped = false;
    bool has_new_zone_map = false;  // the zone map, gaps or zones of a child have changed
    RowNumbers changed_rows;
  };
  // Propagates the changes of writable level-1 nodes up to the root.
  void propagate(std::vector<Edited> edited);

  // Moves every bound of every node outward by the error bound of a leaf with such values. All nodes are writable.
  void loosen_all();

  // The bounds of all rows below a node.
  BoundRows aggregate(NodeRef node) const;
  // Computes the zone map and the child zones of a node from its children's. Returns true if either has changed.
  bool update_zone_map(PageNumber page) const;
  // Updates the zone map of a node, then its entry in its parent.
  void update_entry(PageNumber page);
  // The same for this node and all above it.
  void update_to_root(PageNumber page);

 private:
  const BoundLayout& layout() const { return nodes_.next().layout; }
  void loosen(MutableNode node) const;
  void propagate(Edited& edited, Edited& above);
  void recode_coarse_rows(MutableNode node) const;
  void recode(MutableNode node, std::uint16_t row) const;

  TreeNodes& nodes_;
};

}  // namespace culmen
