// NodeBalancer: inserts leaves into the tree and removes them. Full nodes give children to their neighbours or split; nodes with
// few children are merged with neighbours, or take some of their children.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/write/leaf_pages.h"
#include "index/write/node_bounds.h"
#include "index/write/tree_nodes.h"

namespace culmen {

class NodeBalancer {
 public:
  NodeBalancer(TreeNodes& nodes, NodeBounds& bounds, LeafPages& leaves)
      : nodes_(nodes), bounds_(bounds), leaves_(leaves) {}

  // Neither updates the bounds of all nodes above: NodeBounds::propagate() does.
  enum class Side { before, after };
  // Inserts a leaf page, whose slot is set, before or after another, whose node is writable.
  void insert_leaf(Side side, PageNumber neighbour, PageNumber leaf, std::span<const float> rows);
  void remove_leaf(PageNumber leaf);

  // Returns the level-1 nodes that have lost or received children since the last call. They are writable; some may
  // occur twice.
  std::vector<PageNumber> take_reshaped();
  void end_version() { reshaped_.clear(); }

 private:
  const BoundLayout& layout() const { return nodes_.next().layout; }
  std::uint32_t num_children(PageNumber page) const { return nodes_.node(page).header().num_children; }

  void insert_child(PageNumber parent, std::uint32_t position, std::uint32_t slot, std::int64_t min_id,
                    std::span<const float> rows);
  void make_room(PageNumber page);
  void split(PageNumber page);
  void raise_root();
  void remove_child(PageNumber parent, std::uint32_t slot);
  void lower_root();
  void fill_up(PageNumber page);
  std::vector<PageNumber> neighbours_that_fit(PageNumber page, std::size_t num_fewer,
                                              std::uint32_t most_of_each) const;
  void share_out(const std::vector<PageNumber>& pages, std::size_t num_left);

  TreeNodes& nodes_;
  NodeBounds& bounds_;
  LeafPages& leaves_;
  std::vector<PageNumber> reshaped_;  // as take_reshaped() returns them, and nodes that were dropped since
};

}  // namespace culmen
