#include "index/write/leaf_rewriter.h"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace culmen {
namespace {

// If so many rows are inserted into one leaf, computing all bounds is cheaper than raising them row by row.
constexpr std::size_t kManyRows = 12;
// With so few bounds rows (up to five attributes), all bounds of the leaf are computed again after every erase.
constexpr int kFewBoundRows = 64;

}  // namespace

std::vector<LeafRewriter::NodeEdits> LeafRewriter::sort_by_node(std::vector<PageEdit>& edits) const {
  const auto node_of = [this](const PageEdit& edit) { return tree_.pages[edit.page].parent; };
  std::sort(edits.begin(), edits.end(), [&](const PageEdit& a, const PageEdit& b) {
    return std::pair(node_of(a), a.page) < std::pair(node_of(b), b.page);
  });
  std::vector<NodeEdits> nodes;
  for (std::size_t e = 0; e < edits.size(); ++e) {
    if (nodes.empty() || nodes.back().node != node_of(edits[e])) nodes.push_back({node_of(edits[e]), e, e});
    nodes.back().end = e + 1;
  }
  return nodes;
}

void LeafRewriter::run(std::vector<PageEdit> edits) {
  if (edits.empty()) return;
  const std::vector<NodeEdits> nodes = sort_by_node(edits);
  std::vector<PageNumber> parents;
  for (const NodeEdits& edited : nodes) parents.push_back(edited.node);
  std::vector<std::uint32_t> slots;
  for (std::size_t e = 0; e < edits.size(); ++e) slots.push_back(tree_.leaf_slots.take());
  tbb::enumerable_thread_specific<Tools> tools([&] {
    return Tools{LeafWriter(*tree_.next, located_.rows()), StaleBounds(*tree_.next)};
  });
  std::vector<NodeBounds::Edited> edited(nodes.size());
  tree_.nodes.make_writable(parents, [&](std::size_t n) {
    edited[n].node = nodes[n].node;
    bool is_tighter = false;
    for (std::size_t e = nodes[n].first; e < nodes[n].end; ++e)
      is_tighter |= rewrite_leaf(edits[e], slots[e], tools.local(), edited[n]);
    const MutableNode node = tree_.nodes.writable(nodes[n].node);
    RowNumbers& changed = edited[n].changed_rows;
    if (is_tighter && can_be_tighter({node.bytes}, changed)) {
      tools.local().writer.recode(node);
      changed.resize(static_cast<std::size_t>(tree_.next->layout.num_rows()));
      std::iota(changed.begin(), changed.end(), RowNumbers::value_type{0});
    }
    update_min_id(node);
  });
  for (std::size_t e = 0; e < edits.size(); ++e) switch_to(edits[e], slots[e]);
  tree_.bounds.propagate(std::move(edited));
}

// Adds the changes of the leaf's node to `edited`. Returns true if bounds may have become tighter.
bool LeafRewriter::rewrite_leaf(const PageEdit& edit, std::uint32_t slot, Tools& tools,
                                NodeBounds::Edited& edited) {
  RowNumbers& changed = edited.changed_rows;
  LeafWriter& writer = tools.writer;
  const BoundLayout& layout = tree_.next->layout;
  LeafPage& page = tree_.pages[edit.page];
  const SlotArena& arena = *tree_.arena;
  __builtin_prefetch(arena.zone_map(page.slot));  // compared below
  const std::vector<Run> runs = pages_.runs(edit);
  writer.write(slot, page.partition, runs);
  // A page without rows was added for this batch, and has no zone map yet.
  edited.has_new_zone_map |= arena.leaf(page.slot).num_rows == 0 ||
                             !arena.fields(slot).has_zones_of(arena.fields(page.slot)) ||
                             std::memcmp(arena.zone_map(slot), arena.zone_map(page.slot),
                                         kZoneVectors * arena.shape().zone_vector_bytes()) != 0;
  const MutableNode node = tree_.nodes.writable(page.parent);
  const std::uint32_t child = position_of({node.bytes}, page.slot);
  node.children()[child] = slot;
  node.min_ids()[child] = tree_.next->leaf(slot).min_id;
  BoundRows rows(static_cast<std::size_t>(layout.num_rows()));
  const std::uint32_t num_rows = tree_.next->leaf(slot).num_rows;
  page.num_erased += static_cast<std::uint32_t>(edit.removed.size());
  const bool is_cheap = layout.num_rows() <= kFewBoundRows && !edit.removed.empty();
  if (is_cheap || edit.added.size() > kManyRows || 4 * page.num_erased > num_rows ||
      tools.stale_bounds.are_stale({node.bytes}, child, slot, page.slot, edit.removed)) {
    page.num_erased = 0;
    writer.bound(slot, 0, num_rows, rows);
    set_column(layout, node, child, rows, changed);
    return true;
  }
  std::uint32_t at = 0;
  for (const Run& run : runs) {
    if (run.slot == kOfBatch) {
      writer.bound(slot, at, run.count, rows);
      cover_column(layout, node, child, rows, changed);
    }
    at += run.count;
  }
  return false;
}

void LeafRewriter::switch_to(const PageEdit& edit, std::uint32_t slot) {
  tree_.switch_to(edit.page, slot);
  for (const PageOperation& operation : edit.added)
    tree_.ids.insert(located_.change().ids[operation.value], edit.page);
}

}  // namespace culmen
