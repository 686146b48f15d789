#include "index/write/located_change.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/for_each.h"
#include "index/row_chunk.h"

namespace culmen {
namespace {

// Random partitions say nothing about values, so the id decides. Multiplicative hashing spreads consecutive ids.
std::uint32_t random_partition(std::int64_t id, std::uint32_t num_partitions) {
  const std::uint64_t hash = (static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15) >> 32;
  return static_cast<std::uint32_t>((hash * num_partitions) >> 32);
}

// The slot may have been another leaf's.
void clear_fields(SlotArena& arena, std::uint32_t slot, const std::vector<Field>& fields) {
  LeafFieldsBuilder of_no_rows(fields);
  of_no_rows.start(0);
  arena.set_fields(slot, of_no_rows.finish([](std::size_t, std::size_t) { return 0.0; }));
  arena.set_texts(slot, {});
}

void add_page(std::uint32_t partition, WorkingTree& tree) {
  const auto [neighbour, is_before] = tree.pages.neighbour_of_partition(partition);
  const std::uint32_t slot = tree.leaf_slots.take();
  LeafHeader& header = tree.arena->leaf(slot);
  header = {};
  header.partition = partition;
  header.version = tree.next->version;
  clear_fields(*tree.arena, slot, tree.next->fields);
  LeafPage page;
  page.slot = slot;
  page.partition = partition;
  tree.nodes.know_parent_of_leaf(neighbour);
  tree.nodes.make_writable({tree.pages[neighbour].parent});
  tree.insert_page(page, 0, is_before ? NodeBalancer::Side::after : NodeBalancer::Side::before, neighbour,
                   bounds_of_no_rows(tree.next->layout));
}

}  // namespace

std::vector<OrderKey> keys_of(const BatchRows& rows, const Snapshot& s) {
  std::vector<OrderKey> keys(rows.num_rows());
  RowChunk chunk(keys.size(), s.attributes.size());
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i)
    for (std::size_t r = 0; r < keys.size(); ++r) chunk(r, i) = rows.number(r, i);
  const Partitioner& partitioner = *s.partitioner;
  std::vector<double> clusters;
  if (partitioner.has_cluster_field())
    for (std::size_t r = 0; r < keys.size(); ++r)
      clusters.push_back(rows.cut_value(r, *partitioner.cluster()));
  partitioner.keys(chunk, 0, keys.size(), keys, clusters);
  if (partitioner.kind() == Partitioning::random)
    for (std::size_t r = 0; r < keys.size(); ++r)
      keys[r] = key_in(random_partition(rows.change().ids[r], partitioner.num_partitions()), keys[r]);
  return keys;
}

void add_missing_pages(std::span<const OrderKey> keys, WorkingTree& tree) {
  if (tree.pages.num_empty_partitions() == 0) return;
  for (const OrderKey key : keys)
    if (tree.pages.in_partition(partition_of(key)).empty()) add_page(partition_of(key), tree);
}

LocatedChange::LocatedChange(const BatchRows& rows, std::vector<OrderKey> keys, const WorkingTree& tree)
    : rows_(rows), change_(rows.change()), tree_(tree), keys_(std::move(keys)) {
  operations_.reserve(change_.removed.size() + change_.num_rows());
  locate_removed();
  locate_added();
  group_by_page();
}

void LocatedChange::locate_removed() {
  for (const std::int64_t id : change_.removed) tree_.ids.prefetch(id);
  for (const std::int64_t id : change_.removed) {
    const WorkingTree::RowPosition position = tree_.find(id);
    CULMEN_ASSERT(position.page != kNoPage);
    operations_.push_back({position.page, PageOperation::Kind::remove, position.row});
  }
}

void LocatedChange::locate_added() {
  const std::vector<PageNumber> pages = pages_of_added();
  for (std::uint32_t row = 0; row < pages.size(); ++row)
    operations_.push_back({pages[row], PageOperation::Kind::add, row});
}

std::vector<PageNumber> LocatedChange::pages_of_added() const {
  constexpr std::size_t kChunkRows = 64;
  std::vector<PageNumber> pages(keys_.size());
  for_each((pages.size() + kChunkRows - 1) / kChunkRows, [&](std::size_t c) {
    const std::size_t end = std::min(pages.size(), (c + 1) * kChunkRows);
    for (std::size_t r = c * kChunkRows; r < end; ++r)
      pages[r] = tree_.pages.in_partition(
          partition_of(keys_[r]))[tree_.pages.position_for(*tree_.next, keys_[r], change_.ids[r])];
  });
  return pages;
}

void LocatedChange::group_by_page() {
  using Kind = PageOperation::Kind;
  std::sort(operations_.begin(), operations_.end(), [](const PageOperation& a, const PageOperation& b) {
    return std::tie(a.page, a.kind, a.value) < std::tie(b.page, b.kind, b.value);
  });
  for (std::size_t first = 0; first < operations_.size();) {
    PageEdit& edit = edits_.emplace_back();
    edit.page = operations_[first].page;
    const auto take = [&](Kind kind) {
      const std::size_t start = first;
      while (first < operations_.size() && operations_[first].page == edit.page &&
             operations_[first].kind == kind)
        ++first;
      return std::span<const PageOperation>(operations_).subspan(start, first - start);
    };
    edit.removed = take(Kind::remove);
    edit.added = take(Kind::add);
  }
}

}  // namespace culmen
