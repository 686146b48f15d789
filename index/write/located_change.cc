#include "index/write/located_change.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/for_each.h"
#include "index/tuple_chunk.h"

namespace culmen {
namespace {

// Nothing tells the rows of a random partition apart, so the id decides: far from those with ids beside it.
std::uint32_t random_partition(std::int64_t id, std::uint32_t num_partitions) {
  const std::uint64_t hash = (static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15) >> 32;
  return static_cast<std::uint32_t>((hash * num_partitions) >> 32);
}

void add_page(std::uint32_t partition, WorkingTree& tree) {
  const auto [neighbour, is_before] = tree.pages.neighbour_of_partition(partition);
  const std::uint32_t slot = tree.leaf_slots.take();
  LeafHeader& header = tree.blocks->leaf(slot);
  header = {};
  header.partition = partition;
  header.version = tree.next->version;
  LeafPage page;
  page.slot = slot;
  page.partition = partition;
  tree.nodes.own({tree.pages[neighbour].parent});
  tree.insert_page(page, 0, is_before ? TreeNodes::Side::after : TreeNodes::Side::before, neighbour,
                   bounds_of_no_rows(tree.next->layout));
}

}  // namespace

std::vector<OrderKey> keys_of(const Change& change, const Snapshot& s) {
  std::vector<OrderKey> keys(change.num_rows());
  TupleChunk chunk(keys.size(), s.attributes.size());
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i)
    for (std::size_t r = 0; r < keys.size(); ++r) chunk(r, i) = change.number(r, i, s.value_bytes());
  const Partitioner& partitioner = *s.partitioner;
  partitioner.keys(chunk, 0, keys.size(), keys);
  if (partitioner.kind() == Partitioning::random)
    for (std::size_t r = 0; r < keys.size(); ++r)
      keys[r] = key_in(random_partition(change.ids[r], partitioner.num_partitions()), keys[r]);
  return keys;
}

void add_missing_pages(std::span<const OrderKey> keys, WorkingTree& tree) {
  if (tree.pages.num_empty_partitions() == 0) return;
  for (const OrderKey key : keys)
    if (tree.pages.in_partition(partition_of(key)).empty()) add_page(partition_of(key), tree);
}

LocatedChange::LocatedChange(const Change& change, std::vector<OrderKey> keys, const WorkingTree& tree)
    : change_(change), tree_(tree), keys_(std::move(keys)) {
  operations_.reserve(change.removed.size() + 2 * change.num_rows());
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
  constexpr std::size_t kChunkRows = 64;
  const std::size_t num_rows = keys_.size();
  std::vector<std::vector<PageOperation>> chunks((num_rows + kChunkRows - 1) / kChunkRows);
  for_each(chunks.size(), [&](std::size_t c) {
    const std::size_t end = std::min(num_rows, (c + 1) * kChunkRows);
    for (std::size_t r = c * kChunkRows; r < end; ++r) {
      const auto row = static_cast<std::uint32_t>(r);
      const PageNumber page = tree_.pages.page_for(keys_[row], change_.ids[row]);
      chunks[c].push_back({page, PageOperation::Kind::add, row});
      cover_in_earlier_pages(page, row, chunks[c]);
    }
  });
  for (const std::vector<PageOperation>& chunk : chunks)
    operations_.insert(operations_.end(), chunk.begin(), chunk.end());
}

// The suffix of a page holds that of the next: so the first page that covers the row already ends the walk.
void LocatedChange::cover_in_earlier_pages(PageNumber page, std::uint32_t row,
                                           std::vector<PageOperation>& operations) const {
  const std::vector<PageNumber>& pages = tree_.pages.in_partition(partition_of(keys_[row]));
  for (std::size_t p = tree_.pages.position_of(page); p-- > 0;) {
    if (suffix_covers(pages[p], row)) return;
    operations.push_back({pages[p], PageOperation::Kind::cover, row});
  }
}

bool LocatedChange::suffix_covers(PageNumber page, std::uint32_t row) const {
  const Snapshot& s = *tree_.next;
  const std::uint32_t slot = tree_.pages[page].slot;
  if (change_.ids[row] < s.leaf(slot).suffix_min_id) return false;
  return visit_value_type(s, [&]<typename T>(T) {
    const T* highest = s.corner<T>(slot, Corner::suffix_maximum);
    const T* lowest = s.corner<T>(slot, Corner::suffix_minimum);
    for (std::size_t i = 0; i < s.attributes.size(); ++i) {
      const T value = *reinterpret_cast<const T*>(change_.value(row, i, sizeof(T)));
      if (value > highest[i] || value < lowest[i]) return false;
    }
    return true;
  });
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
    edit.covered = take(Kind::cover);
  }
}

}  // namespace culmen
