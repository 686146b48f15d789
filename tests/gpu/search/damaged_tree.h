// Trees as damaged directories may have them, with one defect each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "index/build/bulk_load.h"
#include "index/leaf_bounds.h"

namespace culmen::test {

// A tree of `height` levels: above the root of the bulk load each level is one node with one child. The table has rows,
// but too few for so many levels.
inline std::shared_ptr<const Snapshot> tall_tree(const TableView& table, const BuildOptions& options,
                                                 int height) {
  const std::shared_ptr<Snapshot> tree = bulk_load(table, options);
  SlotArena& arena = *tree->arena;
  while (tree->height < height) {
    const NodeRef below = tree->node(tree->root);
    std::vector<float> rows(static_cast<std::size_t>(tree->layout.num_rows()));
    aggregate_bounds(below.bounds(), below.header().num_children, rows);
    const auto root = static_cast<std::uint32_t>(tree->node_slots);
    arena.grow_nodes(root + 1);
    const NodeAccess<std::byte> node = arena.mutable_node(root);
    node.header() = tree->node(tree->root).header();
    node.header().num_children = 1;
    ++node.header().level;
    node.children()[0] = tree->root;
    node.min_ids()[0] = node.header().min_id;
    for (std::size_t row = 0; row < rows.size(); ++row)
      node.bounds()[row].encode({&rows[row], 1}, tree->layout.extreme_of(static_cast<int>(row)));
    tree->root = root;
    ++tree->height;
    tree->num_nodes = ++tree->node_slots;
  }
  return tree;
}

// With the same id in all rows.
inline std::shared_ptr<const Snapshot> tree_of_one_id(const TableView& table, std::int64_t id) {
  const std::shared_ptr<Snapshot> tree = bulk_load(table, {});
  SlotArena& arena = *tree->arena;
  for (std::size_t leaf = 0; leaf < tree->leaf_slots; ++leaf) {
    std::fill_n(arena.ids(leaf), arena.leaf(leaf).num_rows, id);
    arena.leaf(leaf).min_id = id;
  }
  for (std::size_t node = 0; node < tree->node_slots; ++node) {
    std::fill_n(arena.mutable_node(node).min_ids(), kFanOut, id);
    arena.mutable_node(node).header().min_id = id;
  }
  return tree;
}

}  // namespace culmen::test
