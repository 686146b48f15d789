// TreeWriter: which pages a batch changes.
#include <algorithm>
#include <iterator>
#include <tuple>

#include "base/assert.h"
#include "base/for_each.h"
#include "index/write/tree_writer.h"

namespace culmen {
namespace {

// Rows of a random partition are told by nothing, so the id decides: far from those with ids beside it.
std::uint32_t random_partition(std::int64_t id, std::uint32_t num_partitions) {
  const std::uint64_t hash = (static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15) >> 32;
  return static_cast<std::uint32_t>((hash * num_partitions) >> 32);
}

}  // namespace

std::vector<TreeWriter::PageOperation> TreeWriter::locate(const Change& change) {
  std::vector<PageOperation> operations;
  operations.reserve(change.removed.size() + 2 * change.num_rows());
  locate_removed(change, operations);
  locate_added(change, operations);
  return operations;
}

void TreeWriter::locate_removed(const Change& change, std::vector<PageOperation>& operations) {
  for (const std::int64_t id : change.removed) ids_.prefetch(id);
  for (const std::int64_t id : change.removed) {
    const Place place = find(id);
    CULMEN_ASSERT(place.page != kNoPage);
    operations.push_back({place.page, Kind::remove, place.position});
    note_removed_row(leaves_[place.page].slot, place.position);
  }
}

void TreeWriter::locate_added(const Change& change, std::vector<PageOperation>& operations) {
  keys_ = keys_of(change);
  if (num_empty_partitions_ > 0)
    for (const OrderKey key : keys_)
      if (partitions_[partition_of(key)].empty()) new_partition_page(partition_of(key));
  constexpr std::size_t kChunkRows = 64;
  const std::size_t num_rows = keys_.size();
  std::vector<std::vector<PageOperation>> chunks((num_rows + kChunkRows - 1) / kChunkRows);
  for_each(chunks.size(), [&](std::size_t c) {
    const std::size_t end = std::min(num_rows, (c + 1) * kChunkRows);
    for (std::size_t r = c * kChunkRows; r < end; ++r) {
      const auto row = static_cast<std::uint32_t>(r);
      const PageNumber page = page_for(keys_[row], change.ids[row]);
      chunks[c].push_back({page, Kind::add, row});
      cover_in_earlier_pages(change, page, row, chunks[c]);
    }
  });
  for (const std::vector<PageOperation>& chunk : chunks)
    operations.insert(operations.end(), chunk.begin(), chunk.end());
}

std::vector<OrderKey> TreeWriter::keys_of(const Change& change) const {
  std::vector<OrderKey> keys(change.num_rows());
  TupleChunk chunk(keys.size(), next_->attributes.size());
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i)
    for (std::size_t r = 0; r < keys.size(); ++r) chunk(r, i) = change.number(r, i, next_->value_bytes());
  const Partitioner& partitioner = *next_->partitioner;
  partitioner.keys(chunk, 0, keys.size(), keys);
  if (partitioner.kind() == Partitioning::random)
    for (std::size_t r = 0; r < keys.size(); ++r)
      keys[r] = key_in(random_partition(change.ids[r], partitioner.num_partitions()), keys[r]);
  return keys;
}

// The last page of the partition that begins at or before (key, id), or else its first one.
PageNumber TreeWriter::page_for(OrderKey key, std::int64_t id) const {
  const std::vector<PageNumber>& pages = partitions_[partition_of(key)];
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
void TreeWriter::new_partition_page(std::uint32_t partition) {
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
                      bounds_of_no_rows(next_->layout));
  partitions_[partition].push_back(page);
  --num_empty_partitions_;
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
void TreeWriter::cover_in_earlier_pages(const Change& change, PageNumber page, std::uint32_t row,
                                        std::vector<PageOperation>& operations) const {
  const std::vector<PageNumber>& pages = partitions_[partition_of(keys_[row])];
  for (std::size_t p = position_in_partition(page); p-- > 0;) {
    if (suffix_covers(leaves_[pages[p]].slot, change, row)) return;
    operations.push_back({pages[p], Kind::cover, row});
  }
}

bool TreeWriter::suffix_covers(std::uint32_t slot, const Change& change, std::uint32_t row) const {
  if (change.ids[row] < next_->leaf(slot).suffix_min_id) return false;
  return visit_value_type(*next_, [&]<typename T>(T) {
    const T* highest = next_->corner<T>(slot, Corner::suffix_maximum);
    const T* lowest = next_->corner<T>(slot, Corner::suffix_minimum);
    for (std::size_t i = 0; i < next_->attributes.size(); ++i) {
      const T value = *reinterpret_cast<const T*>(change.value(row, i, sizeof(T)));
      if (value > highest[i] || value < lowest[i]) return false;
    }
    return true;
  });
}

// The operations of each page together, in the order of the enumeration.
std::vector<TreeWriter::PageEdit> TreeWriter::group(std::vector<PageOperation>& operations) {
  std::sort(operations.begin(), operations.end(), [](const PageOperation& a, const PageOperation& b) {
    return std::tie(a.page, a.kind, a.value) < std::tie(b.page, b.kind, b.value);
  });
  std::vector<PageEdit> edits;
  for (std::size_t first = 0; first < operations.size();) {
    PageEdit& edit = edits.emplace_back();
    edit.page = operations[first].page;
    const auto take = [&](Kind kind) {
      const std::size_t start = first;
      while (first < operations.size() && operations[first].page == edit.page &&
             operations[first].kind == kind)
        ++first;
      return std::span<const PageOperation>(operations).subspan(start, first - start);
    };
    edit.removed = take(Kind::remove);
    edit.added = take(Kind::add);
    edit.covered = take(Kind::cover);
  }
  return edits;
}

}  // namespace culmen
