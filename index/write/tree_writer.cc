#include "index/write/tree_writer.h"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/floating_point_scope.h"
#include "cpu/passing_ids.h"
#include "index/find_rows.h"
#include "index/tree_height.h"
#include "index/write/leaf_rewriter.h"
#include "index/write/rebalance_plan.h"
#include "index/write/reload.h"
#include "index/write/repack.h"
#include "index/write/stats_update.h"
#include "query/predicate.h"

namespace culmen {
namespace {

// Up to this size an index is small: a reload of a larger one would block its writer for seconds.
constexpr std::uint64_t kMaxSmallRows = 1 << 20;

// A small index is reloaded once splits have left half as many empty partitions as there are in use, and 16 more; a
// large one, once they have left 8 times as many.
constexpr std::size_t kEmptyPartitions = 16, kEmptyShareOfLarge = 8;

// A small index is reloaded once it has inserted as many rows as it holds, because their distribution may have changed;
// at least this many, so that a tiny index does not reload all the time.
constexpr std::uint64_t kMinInserts = 4096;
// A large index is reloaded once one row in so many is left.
constexpr std::uint64_t kRowsLeftOfLarge = 4;

// If a batch changes at least one row in so many, a reload is faster.
constexpr std::uint64_t kReloadedShare = 2;

// A change of a tree on touch reads a few leaves and nodes one by one, and some of the ids file. Once one row for so many
// leaves was changed, all that is left is read at once.
constexpr std::uint64_t kLeavesPerRowOnTouch = 8;

std::shared_ptr<Snapshot> successor_of(const Snapshot& base) {
  auto next = std::make_shared<Snapshot>(base.metadata(), base.tree());
  ++next->version;
  return next;
}

}  // namespace

TreeWriter::TreeWriter(std::shared_ptr<const Snapshot> base)
    : base_(std::move(base)),
      tree_(std::make_unique<WorkingTree>(*base_,
                                          base_->filed_tree == nullptr ? Loading::whole : Loading::on_touch)),
      rows_when_loaded_(base_->num_rows) {
  if (base_->id_lookup != nullptr && base_->id_lookup->order() != nullptr)
    ordered_ids_.emplace(base_->id_lookup);
}

std::vector<std::uint8_t> TreeWriter::contain(std::span<const std::int64_t> ids) const {
  for (const std::int64_t id : ids) tree_->ids.prefetch(id);
  std::vector<std::uint8_t> there(ids.size());
  std::ranges::transform(ids, there.begin(), [this](std::int64_t id) { return contains(id); });
  return there;
}

std::vector<std::uint64_t> TreeWriter::find_rows(std::span<const std::int64_t> ids) const {
  for (const std::int64_t id : ids) tree_->ids.prefetch(id);
  std::vector<std::uint64_t> rows;
  for (const std::int64_t id : ids) {
    const WorkingTree::RowPosition found = tree_->find(id);
    rows.push_back(found.page == kNoPage ? kNowhere : row_at(found));
  }
  return rows;
}

std::uint64_t TreeWriter::row_at(const WorkingTree::RowPosition& position) const {
  return tree_->pages[position.page].slot * static_cast<std::uint64_t>(current().leaf_rows) + position.row;
}

std::vector<std::int64_t> TreeWriter::all_ids() const {
  std::vector<std::int64_t> ids;
  ids.reserve(current().num_rows);
  for (const std::uint32_t slot : tree_->pages.slots()) {
    const std::int64_t* of_leaf = current().leaf_ids(slot);
    ids.insert(ids.end(), of_leaf, of_leaf + current().leaf(slot).num_rows);
  }
  return ids;
}

const OrderedIds& TreeWriter::ordered_ids() const {
  if (ordered_ids_) return *ordered_ids_;
  std::vector<std::int64_t> ids = all_ids();
  tbb::parallel_sort(ids.begin(), ids.end());
  return ordered_ids_.emplace(ids);
}

TextPlace TreeWriter::find_text(std::string_view text) const {
  std::string_view last;  // the text of the id at which the search ends
  const auto is_not_above = [&](std::int64_t id) {
    const std::string_view of_row = current().label(row_at(tree_->find(id)));
    if (of_row > text) return false;
    last = std::max(last, of_row);
    return true;
  };
  const std::optional<std::int64_t> id = ordered_ids().last_that(is_not_above);
  return id ? TextPlace{*id, last == text} : TextPlace{};
}

std::vector<std::int64_t> TreeWriter::passing_ids(const Filter& where) const {
  CULMEN_ASSERT(is_version_complete());
  return cpu::passing_ids(*base_, compile_filter(where, *base_));
}

void TreeWriter::apply(const Change& change) {
  apply_to_tree(change);
  if (!ordered_ids_) return;
  for (const std::int64_t id : change.removed) ordered_ids_->erase(id);
  for (const std::int64_t id : change.ids) ordered_ids_->insert(id);
}

void TreeWriter::apply_to_tree(const Change& change) {
  const FloatingPointScope floating_point;
  begin_version(change);
  if (wants_reload(change) || !has_room_for_pages(change)) return reload(change);
  tree_->ids.make_room_for(change.num_rows());
  const BatchRows rows(change, *next_);
  StatsUpdate stats(*tree_);
  stats.add_rows(rows);
  std::vector<OrderKey> keys = keys_of(rows, *next_);
  add_missing_pages(keys, *tree_);
  const LocatedChange located(rows, std::move(keys), *tree_);
  RebalancePlan plan = plan_rebalance(*tree_, located);
  if (!has_room_for(located, plan)) return reload(change);
  know_parents(plan);
  erase_ids(located, stats);
  LeafRewriter(*tree_, located).run(std::move(plan.rewrites));
  rebalance(located, plan);
  rows_inserted_ += change.num_rows();
  rows_changed_ += change.num_rows() + change.removed.size();
  next_->num_rows += change.num_rows();
  next_->num_rows -= change.removed.size();
  next_->rounded_values += change.rounded_values;
  next_->next_id = std::max(next_->next_id, change.next_id);
  stats.find_lost_extremes();
}

void TreeWriter::know_parents(const RebalancePlan& plan) {
  for (const PageEdit& edit : plan.rewrites) tree_->nodes.know_parent_of_leaf(edit.page);
  for (const Repack& repack : plan.repacks)
    for (const PageNumber page : repack.pages) tree_->nodes.know_parent_of_leaf(page);
}

// Before any leaf is written: the erased rows can still be read.
void TreeWriter::erase_ids(const LocatedChange& located, StatsUpdate& stats) {
  for (const PageEdit& edit : located.edits()) {
    const std::uint32_t slot = tree_->pages[edit.page].slot;
    for (const PageOperation& operation : edit.removed) {
      stats.note_removed_row(slot, operation.value);
      tree_->ids.erase(next_->leaf_ids(slot)[operation.value], edit.page);
    }
  }
}

void TreeWriter::rebalance(const LocatedChange& located, RebalancePlan& plan) {
  if (!plan.splits.empty())
    next_->partitioner = std::make_shared<const Partitioner>(next_->partitioner->with(plan.splits));
  for (const LateSplit& split : plan.splits) tree_->pages.add_partition(split.partition);
  RepackWriter(*tree_, located).run(plan.repacks);
  for (const std::uint32_t partition : plan.deferred) tree_->pages.let_partition_double(partition);
}

bool TreeWriter::wants_whole(const Change& change) const {
  return kLeavesPerRowOnTouch * (rows_changed_ + change.removed.size() + change.num_rows()) >=
         base_->num_leaves;
}

void TreeWriter::begin_version(const Change& change) {
  if (next_ != nullptr) return;
  if (!tree_->is_whole() && wants_whole(change)) {
    base_->require_all();
    tree_ = std::make_unique<WorkingTree>(*base_);
  }
  next_ = successor_of(*base_);
  tree_->begin_version(*next_);
}

std::shared_ptr<const Snapshot> TreeWriter::finish_version(std::uint64_t version) {
  if (next_ == nullptr) return base_;
  CULMEN_ASSERT(version > base_->version);  // a node's version says which snapshots share it
  next_->version = version;
  next_->leaf_slots = tree_->leaf_slots.end();
  next_->node_slots = tree_->nodes.slots_end();
  next_->arena->add_older_version(base_->as_older());
  tree_->end_version(*base_);
  base_ = std::move(next_);
  return base_;
}

// ---- Reloads

bool TreeWriter::wants_reload(const Change& change) const {
  const std::uint64_t now = next_->num_rows;
  const std::uint64_t after = now - change.removed.size() + change.num_rows();
  if (now == 0 || after == 0 || kReloadedShare * (change.num_rows() + change.removed.size()) >= now)
    return true;
  // No tree that culmen writes gets so high (index/tree_height.h). One from a file may, and must not grow further.
  if (next_->height >= most_levels(next_->num_leaves)) return true;
  if (has_worn_partitions()) return true;
  if (after > kMaxSmallRows) return kRowsLeftOfLarge * after <= rows_when_loaded_;
  return after >= 2 * rows_when_loaded_ || 2 * after <= rows_when_loaded_ ||
         rows_inserted_ + change.num_rows() >= std::max(after, kMinInserts);
}

// A window that moves over the values of an attribute leaves empty partitions behind it.
bool TreeWriter::has_worn_partitions() const {
  const LeafPages& pages = tree_->pages;
  const std::size_t used = pages.num_partitions() - pages.num_empty_partitions();
  const std::size_t left_behind =
      std::min(next_->partitioner->late_splits().size(), pages.num_empty_partitions());
  return left_behind >
         (next_->num_rows <= kMaxSmallRows ? used / 2 + kEmptyPartitions : kEmptyShareOfLarge * used);
}

// Replaces the tree of the version that is being made. Later batches continue from the new tree.
void TreeWriter::reload(const Change& change) {
  next_->require_all();
  const std::shared_ptr<const Snapshot> loaded = reload_rows(*next_, tree_->pages.slots(), change);
  tree_ = std::make_unique<WorkingTree>(*loaded);
  next_ = successor_of(*loaded);
  next_->version = base_->version + 1;
  tree_->begin_version(*next_);
  rows_when_loaded_ = loaded->num_rows;
  rows_inserted_ = 0;
}

// Returns true if there are enough slots for a page in each empty partition, and for a copy of every node in case all
// bounds have to be loosened.
bool TreeWriter::has_room_for_pages(const Change& change) const {
  const std::size_t new_pages = std::min(change.num_rows(), tree_->pages.num_empty_partitions());
  const auto height = static_cast<std::size_t>(next_->height);
  const std::size_t copies =
      next_->exact_sums ? next_->num_nodes : std::min<std::size_t>(next_->num_nodes, new_pages * height);
  return tree_->leaf_slots.num_available() >= new_pages &&
         tree_->nodes.num_slots_available() >= copies + new_pages * (height + 1);
}

// Returns true if there are enough slots for every new leaf, and for the nodes above. After a split, a merge or an
// evening out, a node accepts at least five more children before it splits again. So the present number of nodes and a
// third of the new leaves are enough.
bool TreeWriter::has_room_for(const LocatedChange& located, const RebalancePlan& plan) const {
  std::size_t pieces = plan.rewrites.size(), new_leaves = 0;
  for (const Repack& repack : plan.repacks) {
    pieces += std::max(repack.parts.size(), repack.pages.size());
    new_leaves += repack.parts.size() - std::min(repack.num_parts_of_partition(), repack.pages.size());
  }
  const auto height = static_cast<std::size_t>(next_->height);
  const std::size_t nodes = next_->num_nodes;
  const std::size_t copies =
      std::min(nodes, (located.edits().size() + pieces) * height);  // including neighbours
  const std::size_t new_nodes = std::min(new_leaves * (height + 1), nodes + (nodes + new_leaves) / 3);
  return tree_->leaf_slots.num_available() >= pieces &&
         tree_->nodes.num_slots_available() >= copies + new_nodes + 2 * height + 8;
}

}  // namespace culmen
