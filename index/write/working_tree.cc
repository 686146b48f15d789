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
  if (times > (other == leaf ? 1 : 0)) throw_repeated(id);
}

WorkingTree::WorkingTree(const Snapshot& tree, Loading how)
    : loading(how),
      arena(tree.arena),
      pages(tree, how),
      nodes(tree, pages, how),
      bounds(nodes),
      balancer(nodes, bounds, pages),
      leaf_slots(
          arena->leaf_slots(), arena->leaf_capacity(),
          [memory = arena](std::size_t n) { memory->grow_leaves(n); }, arena->older_versions(),
          how == Loading::whole ? 0 : tree.num_leaves),
      ids(how == Loading::whole ? PagesOfIds(tree.num_rows) : PagesOfIds(tree.id_lookup)) {
  if (is_whole()) insert_all_ids(tree);
}

void WorkingTree::insert_all_ids(const Snapshot& tree) {
  for_each(pages.size(), [&](std::size_t n) {
    const auto page = static_cast<PageNumber>(n);
    const std::uint32_t slot = pages[page].slot;
    const std::span rows(tree.leaf_ids(slot), tree.leaf(slot).num_rows);
    ids.all().insert_concurrently(rows, page, [&](std::int64_t id, PageNumber other) {
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
  const SlotArena& leaves = *arena;
  position.page = ids.find(id, [&](PageNumber page) {
    if (pages[page].is_free()) return false;
    const std::uint32_t slot = pages[page].slot;
    const std::int64_t* leaf_ids = leaves.ids(slot);
    const std::int64_t* end = leaf_ids + leaves.leaf(slot).num_rows;
    const std::int64_t* found = std::find(leaf_ids, end, id);
    if (found == end) return false;
    if (!is_whole() && std::find(found + 1, end, id) != end) throw_repeated(id);
    position.row = static_cast<std::uint32_t>(found - leaf_ids);
    return true;
  });
  return position;
}

PageNumber WorkingTree::insert_page(const LeafPage& page, std::size_t position, NodeBalancer::Side side,
                                    PageNumber neighbour, std::span<const float> rows) {
  const PageNumber number = pages.add(page, position);
  balancer.insert_leaf(side, neighbour, number, rows);
  ++next->num_leaves;
  return number;
}

void WorkingTree::remove_page(PageNumber page) {
  balancer.remove_leaf(page);
  pages.remove(page);
  --next->num_leaves;
}

void WorkingTree::switch_to(PageNumber page, std::uint32_t slot) {
  release_leaf(std::exchange(pages[page].slot, slot));
  nodes.note_leaf_slot(page, slot);
}

void WorkingTree::release_leaf(std::uint32_t slot) {
  if (next->leaf(slot).version == next->version) {
    leaf_slots.give_back(slot);
  } else {
    leaf_slots.retire(slot, next->leaf(slot).version);
  }
}

}  // namespace culmen
