#include "index/write/tree_writer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/floating_point_scope.h"
#include "base/for_each.h"
#include "culmen/error.h"
#include "index/write/extremes.h"
#include "index/write/reload.h"

namespace culmen {
namespace {

// A small index that has doubled is loaded anew; a large one would make its writer wait for seconds.
constexpr std::uint64_t kReloadedRows = 1 << 20;

std::shared_ptr<Snapshot> successor_of(const Snapshot& base) {
  auto next = std::make_shared<Snapshot>(base.facts(), base.tree());
  ++next->version;
  return next;
}

}  // namespace

TreeWriter::TreeWriter(std::shared_ptr<const Snapshot> base) : base_(std::move(base)) {
  take_tree(*base_);
}

// The id stands in `leaf`; a file may say that it stands in another row too.
static void require_once(const Snapshot& tree, std::int64_t id, std::uint32_t leaf, std::uint32_t other) {
  const std::int64_t* ids = tree.leaf_ids(other);
  const auto times = std::count(ids, ids + tree.leaf(other).num_rows, id);
  if (times > (other == leaf ? 1 : 0))
    throw FormatError("id " + std::to_string(id) + " stands in two rows: culmen repair keeps one of them");
}

// Pages, slots and ids of a tree.
void TreeWriter::take_tree(const Snapshot& tree) {
  rows_when_loaded_ = tree.num_tuples;
  nodes_ = std::make_unique<TreeNodes>(tree, leaves_);
  leaf_slots_ = std::make_unique<Slots>(
      tree.blocks->leaf_slots(), tree.blocks->leaf_capacity(),
      [blocks = tree.blocks](std::size_t n) { blocks->grow_leaves(n); }, tree.blocks->older_versions());
  free_leaf_pages_.clear();
  partitions_.assign(tree.partitioner->num_partitions(), {});
  num_empty_partitions_ = partitions_.size();
  ids_ = IdMap(tree.num_tuples);
  for_each(leaves_.size(), [&](std::size_t page) {
    LeafPage& leaf = leaves_[page];
    leaf.num_erased = 0;
    leaf.first_order = order_at(tree, leaf.slot, 0);
    const std::int64_t* ids = tree.leaf_ids(leaf.slot);
    leaf.first_id = ids[0];
    const std::span rows(ids, tree.leaf(leaf.slot).num_rows);
    ids_.insert_beside_others(rows, static_cast<PageNumber>(page), [&](std::int64_t id, PageNumber other) {
      require_once(tree, id, leaf.slot, leaves_[other].slot);
    });
  });
  for (PageNumber page = 0; page < leaves_.size(); ++page) {
    std::vector<PageNumber>& pages = partitions_[tree.leaf(leaves_[page].slot).partition];
    if (pages.empty()) --num_empty_partitions_;
    pages.push_back(page);
  }
}

TreeWriter::Place TreeWriter::find(std::int64_t id) const {
  Place place;
  const Snapshot& s = current();
  place.page = ids_.find(id, [&](PageNumber page) {
    const std::uint32_t slot = leaves_[page].slot;
    const std::int64_t* ids = s.leaf_ids(slot);
    const std::int64_t* end = ids + s.leaf(slot).num_rows;
    const std::int64_t* found = std::find(ids, end, id);
    place.position = static_cast<std::uint32_t>(found - ids);
    return found != end;
  });
  return place;
}

std::uint64_t TreeWriter::order_at(const Snapshot& s, std::uint32_t slot, std::uint32_t position) {
  return visit_value_type(s, [&]<typename T>(T) {
    const T* values = s.leaf_values<T>(slot) + position;
    const auto slots = static_cast<std::size_t>(s.block_rows);
    return s.partitioner->order_of([&](std::size_t i) { return static_cast<double>(values[i * slots]); });
  });
}

void TreeWriter::begin_version() {
  if (next_ != nullptr) return;
  next_ = successor_of(*base_);
  nodes_->begin_version(*next_);
  leaf_slots_->reclaim();
}

std::shared_ptr<const Snapshot> TreeWriter::publish(std::uint64_t version) {
  if (next_ == nullptr) return base_;
  CULMEN_ASSERT(version > base_->version);  // versions tell whose a node is
  next_->version = version;
  next_->leaf_slots = leaf_slots_->end();
  next_->node_slots = nodes_->slots_end();
  next_->blocks->add_older_version(base_->pin.over());
  leaf_slots_->end_version(base_->pin.over());
  nodes_->end_version(*base_);
  base_ = std::move(next_);
  return base_;
}

bool TreeWriter::wants_reload(const Change& change) const {
  const std::uint64_t now = current().num_tuples;
  const std::uint64_t after = now - change.removed.size() + change.num_rows();
  if (now == 0 || after == 0 || change.num_rows() >= now) return true;
  return after <= kReloadedRows && after >= 2 * rows_when_loaded_;
}

// The version that is being made gets a tree of its own, with which its later batches go on.
void TreeWriter::reload(const Change& change) {
  std::vector<std::uint32_t> slots;
  for (const std::vector<PageNumber>& pages : partitions_)
    for (const PageNumber page : pages) slots.push_back(leaves_[page].slot);
  const std::shared_ptr<const Snapshot> loaded = load_anew(current(), slots, change);
  next_ = successor_of(*loaded);
  next_->version = base_->version + 1;
  take_tree(*loaded);
  nodes_->begin_version(*next_);
}

// Slots enough for a page in each partition that has none, and for a copy of every node if all bounds have to
// be loosened.
bool TreeWriter::has_room_for_pages(const Change& change) const {
  const std::size_t new_pages = std::min(change.num_rows(), num_empty_partitions_);
  const auto height = static_cast<std::size_t>(next_->height);
  const std::size_t copies =
      next_->exact_sums ? next_->num_nodes : std::min<std::size_t>(next_->num_nodes, new_pages * height);
  return leaf_slots_->num_available() >= new_pages &&
         nodes_->num_slots_available() >= copies + new_pages * (height + 1);
}

// Slots enough for every page to be written once, for what is cut to pieces, and for the nodes above. A node
// that was split, merged or evened out takes at least five more children before it is split again: so beside
// all that are there now, a third of the new leaves is enough.
bool TreeWriter::has_room(const std::vector<PageEdit>& edits) const {
  std::size_t pieces = 0, new_leaves = 0;
  for (const PageEdit& edit : edits) {
    if (!needs_rebalance(edit)) {
      ++pieces;
      continue;
    }
    const std::size_t rows = rows_after(edit);
    pieces += std::max<std::size_t>(2, rows / fill_rows() + 1);  // 2: shared with a neighbour
    if (rows > block_rows()) new_leaves += rows / fill_rows();
  }
  const auto height = static_cast<std::size_t>(next_->height);
  const std::size_t nodes = next_->num_nodes;
  const std::size_t copies = std::min(nodes, (edits.size() + pieces) * height);  // a neighbour's too
  const std::size_t new_nodes = std::min(new_leaves * (height + 1), nodes + (nodes + new_leaves) / 3);
  return leaf_slots_->num_available() >= pieces &&
         nodes_->num_slots_available() >= copies + new_nodes + 2 * height + 8;
}

void TreeWriter::apply(const Change& change) {
  const FloatingPointScope floating_point;
  begin_version();
  if (wants_reload(change) || !has_room_for_pages(change)) return reload(change);
  ids_.reserve(ids_.size() + change.num_rows());
  add_to_stats(change);
  lost_extremes_.assign(2 * next_->attributes.size(), false);
  std::vector<PageOperation> operations = locate(change);
  const std::vector<PageEdit> edits = group(operations);
  if (!has_room(edits)) return reload(change);
  for (const PageOperation& operation : operations)
    if (operation.kind == Kind::remove)
      ids_.erase(current().leaf_ids(leaves_[operation.page].slot)[operation.value], operation.page);
  std::vector<PageEdit> plain;
  std::vector<Rebalance> rebalances = plan_rebalances(edits, plain);
  rewrite(plain, change);
  write_parts(rebalances, change);
  place(rebalances, change);
  next_->num_tuples += change.num_rows();
  next_->num_tuples -= change.removed.size();
  next_->rounded_values += change.rounded_values;
  next_->next_id = std::max(next_->next_id, change.next_id);
  shrink_stats();
}

// ---- Statistics

void TreeWriter::add_to_stats(const Change& change) {
  const std::size_t value_bytes = next_->value_bytes();
  for (std::size_t i = 0; i < next_->stats.size(); ++i) {
    AttributeStats& stats = next_->stats[i];
    for (std::size_t r = 0; r < change.num_rows(); ++r) {
      const double value = change.number(r, i, value_bytes);
      stats.minimum = std::min(stats.minimum, value);
      stats.maximum = std::max(stats.maximum, value);
      stats.quantum = std::min(stats.quantum, quantum_exponent(value));
    }
  }
  if (next_->exact_sums && !sums_are_exact(next_->stats, next_->units)) loosen_all_bounds();
}

// Bounds of exact sums were stored without slack. Now that sums may round, each gets as much as a block of
// the largest values would have.
void TreeWriter::loosen_all_bounds() {
  next_->exact_sums = false;
  nodes_->own_all();
  std::vector<double> max_abs;
  for (std::size_t i = 0; i < next_->units.size(); ++i) {
    const BoundUnit& unit = next_->units[i];
    max_abs.push_back(std::max(std::fabs(unit.to_units(next_->stats[i].minimum)),
                               std::fabs(unit.to_units(next_->stats[i].maximum))));
  }
  nodes_->loosen_all(bound_slack(next_->layout, max_abs));
}

void TreeWriter::note_removed_row(std::uint32_t slot, std::uint32_t position) {
  for (std::size_t i = 0; i < next_->stats.size(); ++i) {
    const double value = next_->value(slot * std::uint64_t{block_rows()} + position, static_cast<int>(i));
    if (value == next_->stats[i].minimum) lost_extremes_[2 * i] = true;
    if (value == next_->stats[i].maximum) lost_extremes_[2 * i + 1] = true;
  }
}

// Scale::minmax needs the minimum and maximum as they are.
void TreeWriter::shrink_stats() {
  for (std::size_t i = 0; i < next_->stats.size(); ++i) {
    const int attribute = static_cast<int>(i);
    if (lost_extremes_[2 * i]) next_->stats[i].minimum = extreme_value(*next_, attribute, false);
    if (lost_extremes_[2 * i + 1]) next_->stats[i].maximum = extreme_value(*next_, attribute, true);
  }
}

}  // namespace culmen
