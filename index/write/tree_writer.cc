#include "index/write/tree_writer.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/floating_point_scope.h"
#include "index/tree_height.h"
#include "index/write/leaf_rewriter.h"
#include "index/write/rebalancer.h"
#include "index/write/reload.h"
#include "index/write/stats_update.h"

namespace culmen {
namespace {

// A small index that has doubled is loaded anew; a large one would make its writer wait for seconds.
constexpr std::uint64_t kReloadedRows = 1 << 20;

// Partitions that splits have made and that are empty by now: so many, besides half as many as are in use, are let be
// before the index is loaded anew. A large index waits until there are several times as many as in use.
constexpr std::size_t kEmptyPartitions = 16, kEmptyShareOfLarge = 8;

// A small index is rebuilt once as many rows were inserted as it has: what they are like may have changed. Not sooner,
// however small it is.
constexpr std::uint64_t kFewestChanges = 4096;
// A large one only when most of its rows have gone.
constexpr std::uint64_t kRowsLeftOfLarge = 4;

// Where more than one row in so many comes or goes at once, loading all of them anew is the faster way.
constexpr std::uint64_t kReloadedShare = 2;

std::shared_ptr<Snapshot> successor_of(const Snapshot& base) {
  auto next = std::make_shared<Snapshot>(base.metadata(), base.tree());
  ++next->version;
  return next;
}

}  // namespace

TreeWriter::TreeWriter(std::shared_ptr<const Snapshot> base)
    : base_(std::move(base)),
      tree_(std::make_unique<WorkingTree>(*base_)),
      rows_when_loaded_(base_->num_rows) {}

void TreeWriter::apply(const Change& change) {
  const FloatingPointScope floating_point;
  begin_version();
  if (wants_reload(change) || !has_room_for_pages(change)) return reload(change);
  tree_->ids.reserve(tree_->ids.size() + change.num_rows());
  StatsUpdate stats(*tree_);
  stats.add_rows(change);
  std::vector<OrderKey> keys = keys_of(change, *next_);
  add_missing_pages(keys, *tree_);
  const LocatedChange located(change, std::move(keys), *tree_);
  Rebalancer rebalancer(*tree_, located);
  if (!has_room_for(located, rebalancer)) return reload(change);
  forget_removed(located, stats);
  LeafRewriter(*tree_, located).rewrite(rebalancer.others());
  rebalancer.run();
  rows_changed_ += change.num_rows();
  next_->num_rows += change.num_rows();
  next_->num_rows -= change.removed.size();
  next_->rounded_values += change.rounded_values;
  next_->next_id = std::max(next_->next_id, change.next_id);
  stats.find_lost_extremes();
}

// While their rows can still be read.
void TreeWriter::forget_removed(const LocatedChange& located, StatsUpdate& stats) {
  for (const PageEdit& edit : located.edits()) {
    const std::uint32_t slot = tree_->pages[edit.page].slot;
    for (const PageOperation& operation : edit.removed) {
      stats.note_removed_row(slot, operation.value);
      tree_->ids.erase(next_->leaf_ids(slot)[operation.value], edit.page);
    }
  }
}

void TreeWriter::begin_version() {
  if (next_ != nullptr) return;
  next_ = successor_of(*base_);
  tree_->begin_version(*next_);
}

std::shared_ptr<const Snapshot> TreeWriter::finish_version(std::uint64_t version) {
  if (next_ == nullptr) return base_;
  CULMEN_ASSERT(version > base_->version);  // versions tell whose a node is
  next_->version = version;
  next_->leaf_slots = tree_->leaf_slots.end();
  next_->node_slots = tree_->nodes.slots_end();
  next_->arena->add_older_version(base_->as_older());
  tree_->end_version(*base_);
  base_ = std::move(next_);
  return base_;
}

// ---- Loading anew

bool TreeWriter::wants_reload(const Change& change) const {
  const std::uint64_t now = next_->num_rows;
  const std::uint64_t after = now - change.removed.size() + change.num_rows();
  if (now == 0 || after == 0 || kReloadedShare * (change.num_rows() + change.removed.size()) >= now)
    return true;
  // As tall as a tree of so many leaves may be, as only one that was not written by culmen is: it must not grow.
  if (next_->height >= most_levels(next_->num_leaves)) return true;
  if (has_worn_partitions()) return true;
  if (after > kReloadedRows) return kRowsLeftOfLarge * after <= rows_when_loaded_;
  return after >= 2 * rows_when_loaded_ || 2 * after <= rows_when_loaded_ ||
         rows_changed_ + change.num_rows() >= std::max(after, kFewestChanges);
}

// A window that moves on leaves partitions behind.
bool TreeWriter::has_worn_partitions() const {
  const LeafPages& pages = tree_->pages;
  const std::size_t used = pages.num_partitions() - pages.num_empty_partitions();
  const std::size_t left_behind =
      std::min(next_->partitioner->late_splits().size(), pages.num_empty_partitions());
  return left_behind >
         (next_->num_rows <= kReloadedRows ? used / 2 + kEmptyPartitions : kEmptyShareOfLarge * used);
}

// The version that is being made gets a tree of its own, with which its later batches go on.
void TreeWriter::reload(const Change& change) {
  const std::shared_ptr<const Snapshot> loaded = load_anew(*next_, tree_->pages.slots(), change);
  tree_ = std::make_unique<WorkingTree>(*loaded);
  next_ = successor_of(*loaded);
  next_->version = base_->version + 1;
  tree_->begin_version(*next_);
  rows_when_loaded_ = loaded->num_rows;
  rows_changed_ = 0;
}

// Slots enough for a page in each partition that has none, and for a copy of every node if all bounds have to
// be loosened.
bool TreeWriter::has_room_for_pages(const Change& change) const {
  const std::size_t new_pages = std::min(change.num_rows(), tree_->pages.num_empty_partitions());
  const auto height = static_cast<std::size_t>(next_->height);
  const std::size_t copies =
      next_->exact_sums ? next_->num_nodes : std::min<std::size_t>(next_->num_nodes, new_pages * height);
  return tree_->leaf_slots.num_available() >= new_pages &&
         tree_->nodes.num_slots_available() >= copies + new_pages * (height + 1);
}

// Slots enough for every page to be written once, for what is cut to pieces, and for the nodes above. A node
// that was split, merged or evened out takes at least five more children before it is split again: so beside
// all that are there now, a third of the new leaves is enough.
bool TreeWriter::has_room_for(const LocatedChange& located, const Rebalancer& rebalancer) const {
  std::size_t pieces = rebalancer.others().size(), new_leaves = 0;
  for (const Repack& repack : rebalancer.repacks()) {
    pieces += std::max(repack.parts.size(), repack.pages.size());
    new_leaves += repack.parts.size() - std::min(repack.num_parts_of_partition(), repack.pages.size());
  }
  const auto height = static_cast<std::size_t>(next_->height);
  const std::size_t nodes = next_->num_nodes;
  const std::size_t copies =
      std::min(nodes, (located.edits().size() + pieces) * height);  // a neighbour's too
  const std::size_t new_nodes = std::min(new_leaves * (height + 1), nodes + (nodes + new_leaves) / 3);
  return tree_->leaf_slots.num_available() >= pieces &&
         tree_->nodes.num_slots_available() >= copies + new_nodes + 2 * height + 8;
}

}  // namespace culmen
