#include "index/write/working_tree.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/for_each.h"
#include "culmen/error.h"

namespace culmen {

// The id is in `leaf`. A file may repeat it in `other`, or in the same leaf.
static void require_once(const Snapshot& tree, std::int64_t id, std::uint32_t leaf, std::uint32_t other) {
  const std::int64_t* ids = tree.leaf_ids(other);
  const auto times = std::count(ids, ids + tree.leaf(other).num_rows, id);
  if (times > (other == leaf ? 1 : 0))
    throw FormatError("id " + std::to_string(id) + " is in two rows: repair keeps one of them");
}

WorkingTree::WorkingTree(const Snapshot& tree)
    : arena(tree.arena),
      pages(tree),
      nodes(tree, pages),
      bounds(nodes),
      balancer(nodes, bounds, pages),
      leaf_slots(
          arena->leaf_slots(), arena->leaf_capacity(),
          [memory = arena](std::size_t n) { memory->grow_leaves(n); }, arena->older_versions()),
      ids(tree.num_rows) {
  for_each(pages.size(), [&](std::size_t n) {
    const auto page = static_cast<PageNumber>(n);
    const std::uint32_t slot = pages[page].slot;
    const std::span rows(tree.leaf_ids(slot), tree.leaf(slot).num_rows);
    ids.insert_concurrently(rows, page, [&](std::int64_t id, PageNumber other) {
      require_once(tree, id, slot, pages[other].slot);
    });
  });
}

void WorkingTree::begin_version(Snapshot& version) {
  next = &version;
  nodes.begin_version(version);
  leaf_slots.reclaim();
}

void WorkingTree::end_version(const Snapshot& base) {
  leaf_slots.end_version(base.as_older());
  nodes.end_version(base);
  balancer.end_version();
  next = nullptr;
}

WorkingTree::RowPosition WorkingTree::find(std::int64_t id) const {
  RowPosition position;
  position.page = ids.find(id, [&](PageNumber page) {
    const std::uint32_t slot = pages[page].slot;
    const std::int64_t* leaf_ids = arena->ids(slot);
    const std::int64_t* end = leaf_ids + arena->leaf(slot).num_rows;
    const std::int64_t* found = std::find(leaf_ids, end, id);
    position.row = static_cast<std::uint32_t>(found - leaf_ids);
    return found != end;
  });
  return position;
}

PageNumber WorkingTree::insert_page(const LeafPage& page, std::size_t position, NodeBalancer::Side side,
                                    PageNumber neighbour, std::span<const float> rows) {
  const PageNumber number = pages.add(page, position);
  balancer.insert_leaf(side, neighbour, number, rows);
  extremes.note_changed(number);
  ++next->num_leaves;
  return number;
}

void WorkingTree::remove_page(PageNumber page) {
  balancer.remove_leaf(page);
  pages.remove(page);
  extremes.note_changed(page);
  --next->num_leaves;
}

void WorkingTree::switch_to(PageNumber page, std::uint32_t slot) {
  release_leaf(std::exchange(pages[page].slot, slot));
  nodes.note_leaf_slot(page, slot);
  extremes.note_changed(page);
}

void WorkingTree::release_leaf(std::uint32_t slot) {
  if (next->leaf(slot).version == next->version) {
    leaf_slots.give_back(slot);
  } else {
    leaf_slots.retire(slot, next->leaf(slot).version);
  }
}

}  // namespace culmen
