#include "index/write/tree_writer.h"

#include <tbb/enumerable_thread_specific.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "culmen/error.h"
#include "index/assert.h"
#include "index/floating_point_scope.h"
#include "index/write/extremes.h"
#include "index/write/for_each.h"
#include "index/write/reload.h"

namespace culmen {
namespace {

// A small index that has doubled is loaded anew; a large one would make its writer wait for seconds.
constexpr std::uint64_t kReloadedRows = 1 << 20;
// From so many rows that come to one leaf on, computing all bounds is cheaper than raising them one by one.
constexpr std::size_t kManyRows = 12;

std::shared_ptr<Snapshot> successor_of(const Snapshot& base) {
  auto next = std::make_shared<Snapshot>();
  next->attributes = base.attributes;
  next->value_type = base.value_type;
  next->has_labels = base.has_labels;
  next->stats = base.stats;
  next->units = base.units;
  next->exact_sums = base.exact_sums;
  next->partitioner = base.partitioner;
  next->block_rows = base.block_rows;
  next->num_tuples = base.num_tuples;
  next->rounded_values = base.rounded_values;
  next->next_id = base.next_id;
  next->version = base.version + 1;
  next->blocks = base.blocks;
  next->layout = base.layout;
  next->root = base.root;
  next->height = base.height;
  next->num_leaves = base.num_leaves;
  next->num_nodes = base.num_nodes;
  return next;
}

double value_of(const Change& change, std::size_t row, std::size_t attribute, std::size_t value_bytes) {
  const std::byte* at = change.value(row, attribute, value_bytes);
  return value_bytes == sizeof(float) ? static_cast<double>(*reinterpret_cast<const float*>(at))
                                      : *reinterpret_cast<const double*>(at);
}

// Rows of a random partition are told by nothing, so the id decides: far from those with ids beside it.
std::uint32_t random_partition(std::int64_t id, std::uint32_t num_partitions) {
  const std::uint64_t hash = (static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15) >> 32;
  return static_cast<std::uint32_t>((hash * num_partitions) >> 32);
}

// Bounds of no rows.
BoundRows empty_bounds(const BoundLayout& layout) {
  BoundRows rows(static_cast<std::size_t>(layout.num_rows()), Half{0xfc00});
  std::fill(rows.begin() + layout.first_minimum_row(), rows.end(), kHalfInfinity);
  return rows;
}

}  // namespace

// Neighbouring pages, whose rows are cut into new leaves: a split, a merge, or rows borrowed.
struct TreeWriter::Recut {
  std::vector<PageNumber> pages;
  std::vector<PageEdit> edits;  // of each page; of a neighbour without one: only the page
  std::uint32_t partition = 0;
  struct Part {
    std::vector<Run> runs;
    std::uint32_t slot = 0;
    BoundRows rows;
  };
  std::vector<Part> parts;
};

TreeWriter::TreeWriter(std::shared_ptr<const Snapshot> base) : base_(std::move(base)) {
  take_tree(*base_);
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
    leaf.first_id = tree.leaf_ids(leaf.slot)[0];
  });
  for (PageNumber page = 0; page < leaves_.size(); ++page) {
    const std::uint32_t slot = leaves_[page].slot;
    std::vector<PageNumber>& pages = partitions_[tree.leaf(slot).partition];
    if (pages.empty()) --num_empty_partitions_;
    pages.push_back(page);
    const std::int64_t* ids = tree.leaf_ids(slot);
    const std::uint32_t num_rows = tree.leaf(slot).num_rows;
    for (std::uint32_t r = 0; r < num_rows; ++r) ids_.prefetch(ids[r]);
    for (std::uint32_t r = 0; r < num_rows; ++r) ids_.insert(ids[r], page);
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

void TreeWriter::check(const Change& change) const {
  std::unordered_set<std::int64_t> removed, added;
  for (const std::int64_t id : change.removed)
    if (!contains(id) || !removed.insert(id).second)
      throw FormatError("a batch removes id " + std::to_string(id) + ", which is not there");
  for (const std::int64_t id : change.ids)
    if ((contains(id) && removed.count(id) == 0) || !added.insert(id).second)
      throw FormatError("a batch adds id " + std::to_string(id) + ", which is there");
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
  next_->blocks->add_older_version(base_->lease.over());
  leaf_slots_->end_version(base_->lease.over());
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
    if (!needs_recut(edit)) {
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
  std::vector<Touch> touches = locate(change);
  const std::vector<PageEdit> edits = group(touches);
  if (!has_room(edits)) return reload(change);
  for (const Touch& touch : touches)
    if (touch.kind == Kind::remove)
      ids_.erase(current().leaf_ids(leaves_[touch.page].slot)[touch.value], touch.page);
  std::vector<PageEdit> plain;
  std::vector<Recut> recuts = plan_recuts(edits, plain);
  rewrite(plain, change);
  write_parts(recuts, change);
  place(recuts, change);
  next_->num_tuples += change.num_rows();
  next_->num_tuples -= change.removed.size();
  next_->rounded_values += change.rounded_values;
  next_->next_id = change.next_id;
  shrink_stats();
}

// ---- Statistics

void TreeWriter::add_to_stats(const Change& change) {
  const std::size_t value_bytes = next_->value_bytes();
  for (std::size_t i = 0; i < next_->stats.size(); ++i) {
    AttributeStats& stats = next_->stats[i];
    for (std::size_t r = 0; r < change.num_rows(); ++r) {
      const double value = value_of(change, r, i, value_bytes);
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

// ---- Which pages a batch touches

std::vector<TreeWriter::Touch> TreeWriter::locate(const Change& change) {
  std::vector<Touch> touches;
  touches.reserve(change.removed.size() + 2 * change.num_rows());
  locate_removed(change, touches);
  locate_added(change, touches);
  return touches;
}

void TreeWriter::locate_removed(const Change& change, std::vector<Touch>& touches) {
  for (const std::int64_t id : change.removed) ids_.prefetch(id);
  for (const std::int64_t id : change.removed) {
    const Place place = find(id);
    CULMEN_ASSERT(place.page != kNoPage);
    touches.push_back({place.page, Kind::remove, place.position});
    note_removed_row(leaves_[place.page].slot, place.position);
  }
}

void TreeWriter::locate_added(const Change& change, std::vector<Touch>& touches) {
  keys_ = keys_of(change);
  for (std::uint32_t row = 0; row < change.num_rows(); ++row) {
    const PageNumber page = page_for(keys_[row], change.ids[row]);
    touches.push_back({page, Kind::add, row});
    touch_earlier_pages(change, page, row, touches);
  }
}

std::vector<OrderKey> TreeWriter::keys_of(const Change& change) const {
  std::vector<OrderKey> keys(change.num_rows());
  TupleChunk chunk(static_cast<Eigen::Index>(keys.size()), next_->num_attributes());
  for (Eigen::Index i = 0; i < chunk.cols(); ++i)
    for (Eigen::Index r = 0; r < chunk.rows(); ++r)
      chunk(r, i) =
          value_of(change, static_cast<std::size_t>(r), static_cast<std::size_t>(i), next_->value_bytes());
  const Partitioner& partitioner = *next_->partitioner;
  partitioner.keys(chunk, 0, keys.size(), keys);
  if (partitioner.kind() == Partitioning::random)
    for (std::size_t r = 0; r < keys.size(); ++r)
      keys[r] = key_in(random_partition(change.ids[r], partitioner.num_partitions()), keys[r]);
  return keys;
}

// The last page of the partition that begins at or before (key, id), or else its first one.
PageNumber TreeWriter::page_for(OrderKey key, std::int64_t id) {
  const std::vector<PageNumber>& pages = partitions_[partition_of(key)];
  if (pages.empty()) return new_partition_page(partition_of(key));
  const std::pair wanted(key & kOrderMask, id);
  const auto after =
      std::upper_bound(pages.begin(), pages.end(), wanted, [this](const auto& value, PageNumber page) {
        const LeafPage& leaf = leaves_[page];
        return value < std::pair(leaf.first_order, leaf.first_id);
      });
  return after == pages.begin() ? pages.front() : *(after - 1);
}

PageNumber TreeWriter::new_leaf_page() {
  ++next_->num_leaves;
  if (free_leaf_pages_.empty()) {
    leaves_.emplace_back();
    return static_cast<PageNumber>(leaves_.size() - 1);
  }
  const PageNumber page = free_leaf_pages_.back();
  free_leaf_pages_.pop_back();
  leaves_[page] = {};
  return page;
}

// An empty page, next to those of the nearest partition that has any. Its first rows are on the way.
PageNumber TreeWriter::new_partition_page(std::uint32_t partition) {
  const auto is_used = [](const std::vector<PageNumber>& pages) { return !pages.empty(); };
  const auto here = partitions_.begin() + partition;
  const auto before = std::find_if(std::make_reverse_iterator(here), partitions_.rend(), is_used);
  const bool has_before = before != partitions_.rend();
  const PageNumber neighbour =
      has_before ? before->back() : std::find_if(here, partitions_.end(), is_used)->front();
  const PageNumber page = new_leaf_page();
  const std::uint32_t slot = leaf_slots_->take();
  LeafHeader& header = next_->blocks->leaf(slot);
  header = {};
  header.partition = partition;
  header.version = next_->version;
  leaves_[page].slot = slot;
  nodes_->own({leaves_[neighbour].parent});
  nodes_->insert_leaf(has_before ? TreeNodes::Side::after : TreeNodes::Side::before, neighbour, page,
                      empty_bounds(next_->layout));
  partitions_[partition].push_back(page);
  --num_empty_partitions_;
  return page;
}

std::size_t TreeWriter::position_in_partition(PageNumber page) const {
  const std::vector<PageNumber>& pages = partitions_[current().leaf(leaves_[page].slot).partition];
  const auto by_first = [this](PageNumber a, PageNumber b) {
    return std::pair(leaves_[a].first_order, leaves_[a].first_id) <
           std::pair(leaves_[b].first_order, leaves_[b].first_id);
  };
  const auto found = std::lower_bound(pages.begin(), pages.end(), page, by_first);
  return static_cast<std::size_t>(found - pages.begin());
}

// What a leaf says of those behind it covers also what the leaf before it says: so the first page that covers
// the row already ends the walk.
void TreeWriter::touch_earlier_pages(const Change& change, PageNumber page, std::uint32_t row,
                                     std::vector<Touch>& touches) const {
  const std::vector<PageNumber>& pages = partitions_[partition_of(keys_[row])];
  for (std::size_t p = position_in_partition(page); p-- > 0;) {
    if (later_covers(leaves_[pages[p]].slot, change, row)) return;
    touches.push_back({pages[p], Kind::later, row});
  }
}

bool TreeWriter::later_covers(std::uint32_t slot, const Change& change, std::uint32_t row) const {
  if (change.ids[row] < next_->leaf(slot).later_min_id) return false;
  return visit_value_type(*next_, [&]<typename T>(T) {
    const T* highest = next_->corner<T>(slot, Corner::later_maximum);
    const T* lowest = next_->corner<T>(slot, Corner::later_minimum);
    for (std::size_t i = 0; i < next_->attributes.size(); ++i) {
      const T value = *reinterpret_cast<const T*>(change.value(row, i, sizeof(T)));
      if (value > highest[i] || value < lowest[i]) return false;
    }
    return true;
  });
}

// The touches of each page together, in the order of the enumeration.
std::vector<TreeWriter::PageEdit> TreeWriter::group(std::vector<Touch>& touches) {
  std::sort(touches.begin(), touches.end(), [](const Touch& a, const Touch& b) {
    return std::tie(a.page, a.kind, a.value) < std::tie(b.page, b.kind, b.value);
  });
  std::vector<PageEdit> edits;
  for (std::size_t first = 0; first < touches.size();) {
    PageEdit& edit = edits.emplace_back();
    edit.page = touches[first].page;
    const auto take = [&](Kind kind) {
      const std::size_t start = first;
      while (first < touches.size() && touches[first].page == edit.page && touches[first].kind == kind)
        ++first;
      return std::span<const Touch>(touches).subspan(start, first - start);
    };
    edit.removed = take(Kind::remove);
    edit.added = take(Kind::add);
    edit.later = take(Kind::later);
  }
  return edits;
}

// ---- Leaves

std::size_t TreeWriter::rows_after(const PageEdit& edit) const {
  return next_->leaf(leaves_[edit.page].slot).num_rows - edit.removed.size() + edit.added.size();
}

bool TreeWriter::needs_recut(const PageEdit& edit) const {
  const std::size_t rows = rows_after(edit);
  return rows > block_rows() || rows == 0 || (!edit.removed.empty() && rows < least_rows());
}

// The rows of the page after the edit, in order.
std::vector<Run> TreeWriter::runs_of(const PageEdit& edit, const Change& change) const {
  const std::uint32_t slot = leaves_[edit.page].slot;
  const std::uint32_t num_rows = next_->leaf(slot).num_rows;
  std::vector<std::uint32_t> added;
  for (const Touch& touch : edit.added) added.push_back(touch.value);
  const auto place = [&](std::uint32_t row) { return std::pair(keys_[row] & kOrderMask, change.ids[row]); };
  std::sort(added.begin(), added.end(),
            [&](std::uint32_t a, std::uint32_t b) { return place(a) < place(b); });
  std::vector<Run> runs;
  std::uint32_t at = 0;
  auto removed = edit.removed.begin();
  const auto keep_until = [&](std::uint32_t end) {
    for (; removed != edit.removed.end() && removed->value < end; ++removed) {
      if (removed->value > at) runs.push_back({slot, at, removed->value - at});
      at = removed->value + 1;
    }
    if (end > at) runs.push_back({slot, at, end - at});
    at = std::max(at, end);
  };
  for (const std::uint32_t row : added) {
    std::uint32_t low = at, high = num_rows;  // the first old row behind the new one
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      const bool is_before =
          std::pair(order_at(*next_, slot, middle), next_->leaf_ids(slot)[middle]) < place(row);
      (is_before ? low : high) = is_before ? middle + 1 : middle;
    }
    keep_until(low);
    runs.push_back({kOfBatch, row, 1});
  }
  keep_until(num_rows);
  return runs;
}

// What the page says of those behind it, with the rows that come to them.
Later TreeWriter::later_of(const PageEdit& edit, const Change& change) const {
  Later later(next_->attributes.size());
  const std::uint32_t slot = leaves_[edit.page].slot;
  if (next_->leaf(slot).num_rows > 0) later.include_later(*next_, slot);
  for (const Touch& touch : edit.later) {
    later.min_id = std::min(later.min_id, change.ids[touch.value]);
    for (std::size_t i = 0; i < later.highest.size(); ++i) {
      const double value = value_of(change, touch.value, i, next_->value_bytes());
      later.highest[i] = std::max(later.highest[i], value);
      later.lowest[i] = std::min(later.lowest[i], value);
    }
  }
  return later;
}

void TreeWriter::release(std::uint32_t slot) {
  if (next_->leaf(slot).version == next_->version) {
    leaf_slots_->give_back(slot);
  } else {
    leaf_slots_->retire(slot);
  }
}

// Writes each page to a new slot, and bounds and links to its node: node by node, in parallel.
void TreeWriter::rewrite(std::vector<PageEdit>& edits, const Change& change) {
  if (edits.empty()) return;
  std::sort(edits.begin(), edits.end(), [this](const PageEdit& a, const PageEdit& b) {
    const PageNumber x = leaves_[a.page].parent, y = leaves_[b.page].parent;
    return x != y ? x < y : a.page < b.page;
  });
  std::vector<std::size_t> starts;  // of the edits below each node
  std::vector<PageNumber> parents;
  std::vector<std::uint32_t> slots;
  for (std::size_t e = 0; e < edits.size(); ++e) {
    slots.push_back(leaf_slots_->take());
    const PageNumber parent = leaves_[edits[e].page].parent;
    if (!parents.empty() && parents.back() == parent) continue;
    parents.push_back(parent);
    starts.push_back(e);
  }
  starts.push_back(edits.size());
  tbb::enumerable_thread_specific<LeafWriter> writers([&] { return LeafWriter(*next_, change); });
  std::vector<TreeNodes::Rise> rises(parents.size());
  nodes_->own(parents, [&](std::size_t n) {
    rises[n].node = parents[n];
    for (std::size_t e = starts[n]; e < starts[n + 1]; ++e)
      rewrite_leaf(edits[e], slots[e], change, writers.local(), rises[n].rows);
    update_min_id(nodes_->owned(parents[n]));
  });
  for (std::size_t e = 0; e < edits.size(); ++e) {
    LeafPage& leaf = leaves_[edits[e].page];
    release(std::exchange(leaf.slot, slots[e]));
    nodes_->leaf_is_in(edits[e].page, slots[e]);
    for (const Touch& touch : edits[e].added) ids_.insert(change.ids[touch.value], edits[e].page);
  }
  nodes_->carry_up(std::move(rises));
}

// `raised` covers afterwards what the page may have more than before.
void TreeWriter::rewrite_leaf(const PageEdit& edit, std::uint32_t slot, const Change& change,
                              LeafWriter& writer, BoundRows& raised) {
  LeafPage& leaf = leaves_[edit.page];
  const std::vector<Run> runs = runs_of(edit, change);
  writer.write(slot, next_->leaf(leaf.slot).partition, runs, later_of(edit, change));
  const MutableNode node = nodes_->owned(leaf.parent);
  const std::uint32_t child = position_of({node.bytes}, leaf.slot);
  node.children()[child] = slot;
  node.min_ids()[child] = next_->leaf(slot).min_id;
  leaf.num_erased += static_cast<std::uint32_t>(edit.removed.size());
  BoundRows rows(static_cast<std::size_t>(next_->layout.num_rows()));
  const auto raise = [&] {
    if (raised.empty()) raised = empty_bounds(next_->layout);
    cover(next_->layout, raised, rows);
  };
  const std::uint32_t num_rows = next_->leaf(slot).num_rows;
  if (4 * leaf.num_erased > num_rows || edit.added.size() > kManyRows) {
    writer.bound(slot, 0, num_rows, rows);
    set_column(node, child, rows);
    leaf.num_erased = 0;
    return raise();
  }
  std::uint32_t at = 0;
  for (const Run& run : runs) {
    if (run.slot == kOfBatch) {
      writer.bound(slot, at, run.count, rows);
      if (cover_column(next_->layout, node, child, rows)) raise();
    }
    at += run.count;
  }
}

// ---- Splits, merges and borrowing

// Pages that are too full or nearly empty, the latter with a neighbour; the other edits go to `plain`.
std::vector<TreeWriter::Recut> TreeWriter::plan_recuts(std::span<const PageEdit> edits,
                                                       std::vector<PageEdit>& plain) const {
  std::vector<bool> is_taken(leaves_.size());
  for (const PageEdit& edit : edits)
    if (needs_recut(edit)) is_taken[edit.page] = true;
  std::vector<Recut> recuts;
  for (const PageEdit& edit : edits) {
    if (!needs_recut(edit)) {
      plain.push_back(edit);
      continue;
    }
    Recut recut;
    recut.partition = next_->leaf(leaves_[edit.page].slot).partition;
    recut.pages = {edit.page};
    recut.edits = {edit};
    const std::size_t rows = rows_after(edit);
    if (rows > 0 && rows < least_rows()) {
      const std::optional<PageNumber> neighbour = neighbour_of(edit.page, is_taken);
      if (!neighbour) {
        plain.push_back(edit);
        continue;
      }
      is_taken[*neighbour] = true;
      const bool is_next = position_in_partition(*neighbour) > position_in_partition(edit.page);
      recut.pages.insert(is_next ? recut.pages.end() : recut.pages.begin(), *neighbour);
      recut.edits.insert(is_next ? recut.edits.end() : recut.edits.begin(), PageEdit{*neighbour, {}, {}, {}});
    }
    recuts.push_back(std::move(recut));
  }
  return recuts;
}

// A page beside this one in its partition that is not cut anew itself.
std::optional<PageNumber> TreeWriter::neighbour_of(PageNumber page, const std::vector<bool>& is_taken) const {
  const std::vector<PageNumber>& pages = partitions_[next_->leaf(leaves_[page].slot).partition];
  const std::size_t position = position_in_partition(page);
  if (position + 1 < pages.size() && !is_taken[pages[position + 1]]) return pages[position + 1];
  if (position > 0 && !is_taken[pages[position - 1]]) return pages[position - 1];
  return std::nullopt;
}

void TreeWriter::write_parts(std::span<Recut> recuts, const Change& change) {
  for (Recut& recut : recuts) {
    std::vector<Run> runs;
    std::size_t num_rows = 0;
    for (const PageEdit& edit : recut.edits)
      for (const Run& run : runs_of(edit, change)) {
        runs.push_back(run);
        num_rows += run.count;
      }
    const std::size_t limit = recut.pages.size() > 1 ? fill_rows() : block_rows();
    const std::size_t num_parts =
        num_rows <= limit ? (num_rows > 0 ? 1 : 0) : (num_rows + fill_rows() - 1) / fill_rows();
    cut_evenly(runs, num_rows, num_parts, recut);
    for (Recut::Part& part : recut.parts) part.slot = leaf_slots_->take();
  }
  tbb::enumerable_thread_specific<LeafWriter> writers([&] { return LeafWriter(*next_, change); });
  for_each(recuts.size(), [&](std::size_t r) {
    Recut& recut = recuts[r];
    Later later = later_of(recut.edits.back(), change);
    for (std::size_t p = recut.parts.size(); p-- > 0;) {
      Recut::Part& part = recut.parts[p];
      writers.local().write(part.slot, recut.partition, part.runs, later);
      part.rows.resize(static_cast<std::size_t>(next_->layout.num_rows()));
      writers.local().bound(part.slot, 0, next_->leaf(part.slot).num_rows, part.rows);
      later.include_leaf(*next_, part.slot);
    }
  });
}

void TreeWriter::cut_evenly(std::span<const Run> runs, std::size_t num_rows, std::size_t num_parts,
                            Recut& recut) {
  recut.parts.resize(num_parts);
  std::size_t done = 0;
  auto run = runs.begin();
  std::uint32_t used = 0;  // of *run
  for (std::size_t p = 0; p < num_parts; ++p) {
    const std::size_t end = num_rows * (p + 1) / num_parts;
    while (done < end) {
      const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(run->count - used, end - done));
      recut.parts[p].runs.push_back({run->slot, run->first + used, count});
      done += count;
      used += count;
      if (used < run->count) continue;
      ++run;
      used = 0;
    }
  }
}

// Puts the parts into the tree, and tells the nodes above what they may have more than before.
void TreeWriter::place(std::span<Recut> recuts, const Change& change) {
  if (recuts.empty()) return;
  std::vector<PageNumber> parents;
  for (const Recut& recut : recuts)
    for (const PageNumber page : recut.pages) parents.push_back(leaves_[page].parent);
  nodes_->own(std::move(parents));
  for (Recut& recut : recuts) place_parts(recut, change);
  std::vector<TreeNodes::Rise> rises;
  for (Recut& recut : recuts)
    for (std::size_t p = 0; p < recut.parts.size(); ++p)
      rises.push_back({leaves_[recut.pages[p]].parent, std::move(recut.parts[p].rows)});
  nodes_->carry_up(std::move(rises));
}

// Puts the parts in the place of the pages: as many as there are keep their numbers.
void TreeWriter::place_parts(Recut& recut, const Change& change) {
  std::vector<PageNumber>& pages = partitions_[recut.partition];
  std::vector<std::uint32_t> old_slots;
  for (const PageNumber page : recut.pages) old_slots.push_back(leaves_[page].slot);
  const std::size_t first = position_in_partition(recut.pages.front());
  for (std::size_t p = 0; p < recut.parts.size(); ++p) {
    const Recut::Part& part = recut.parts[p];
    if (p >= recut.pages.size()) {
      const PageNumber page = new_leaf_page();
      leaves_[page].slot = part.slot;
      set_first(page);
      nodes_->insert_leaf(TreeNodes::Side::after, recut.pages[p - 1], page, part.rows);
      pages.insert(pages.begin() + static_cast<std::ptrdiff_t>(first + p), page);
      recut.pages.push_back(page);
    } else {
      nodes_->set_leaf(recut.pages[p], part.slot, part.rows);
      set_first(recut.pages[p]);
      leaves_[recut.pages[p]].num_erased = 0;
    }
    move_ids(part.runs, recut.pages[p], change);
  }
  for (std::size_t p = recut.parts.size(); p < recut.pages.size(); ++p) {
    const PageNumber page = recut.pages[p];
    nodes_->remove_leaf(page);
    pages.erase(std::find(pages.begin(), pages.end(), page));
    leaves_[page] = {};
    free_leaf_pages_.push_back(page);
    --next_->num_leaves;
    if (pages.empty()) ++num_empty_partitions_;
  }
  for (const std::uint32_t slot : old_slots) release(slot);
}

void TreeWriter::set_first(PageNumber page) {
  leaves_[page].first_order = order_at(*next_, leaves_[page].slot, 0);
  leaves_[page].first_id = next_->leaf_ids(leaves_[page].slot)[0];
}

void TreeWriter::move_ids(std::span<const Run> runs, PageNumber page, const Change& change) {
  for (const Run& run : runs) {
    if (run.slot == kOfBatch) {
      for (std::uint32_t r = run.first; r < run.first + run.count; ++r) ids_.insert(change.ids[r], page);
      continue;
    }
    const PageNumber from = nodes_->leaf_in(run.slot);
    const std::int64_t* ids = next_->leaf_ids(run.slot);
    if (from == page) continue;
    for (std::uint32_t r = run.first; r < run.first + run.count; ++r) ids_.prefetch(ids[r]);
    for (std::uint32_t r = run.first; r < run.first + run.count; ++r) ids_.move(ids[r], from, page);
  }
}

}  // namespace culmen
