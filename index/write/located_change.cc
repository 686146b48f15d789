#include "index/write/located_change.h"

#include <algorithm>
#include <iterator>
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
  operations_.reserve(change.removed.size() + change.num_rows());
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
  std::vector<Place> places = places_of_added();
  for (const Place& place : places)
    operations_.push_back(
        {tree_.pages.in_partition(place.partition)[place.position], PageOperation::Kind::add, place.row});
  cover_in_earlier_pages(std::move(places));
}

std::vector<LocatedChange::Place> LocatedChange::places_of_added() {
  constexpr std::size_t kChunkRows = 64;
  std::vector<Place> places(keys_.size());
  for_each((places.size() + kChunkRows - 1) / kChunkRows, [&](std::size_t c) {
    const std::size_t end = std::min(places.size(), (c + 1) * kChunkRows);
    for (std::size_t r = c * kChunkRows; r < end; ++r) {
      const std::size_t position = tree_.pages.position_for(keys_[r], change_.ids[r]);
      places[r] = {partition_of(keys_[r]), position, static_cast<std::uint32_t>(r)};
    }
  });
  return places;
}

void LocatedChange::cover_in_earlier_pages(std::vector<Place> places) {
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.partition != b.partition ? a.partition < b.partition : a.position > b.position;
  });
  std::vector<std::size_t> starts;  // of each partition's
  for (std::size_t r = 0; r < places.size(); ++r)
    if (r == 0 || places[r].partition != places[r - 1].partition) starts.push_back(r);
  starts.push_back(places.size());
  std::vector<std::vector<Uncovered>> uncovered(starts.size() - 1);
  for_each(uncovered.size(), [&](std::size_t p) {
    cover_in_partition(std::span(places).subspan(starts[p], starts[p + 1] - starts[p]), uncovered[p]);
  });
  for (std::vector<Uncovered>& of_partition : uncovered)
    std::move(of_partition.begin(), of_partition.end(), std::back_inserter(uncovered_));
  std::sort(uncovered_.begin(), uncovered_.end(),
            [](const Uncovered& a, const Uncovered& b) { return a.page < b.page; });
}

// From the last page with new rows to the first. The suffix of a page holds that of the next: so a page that covers all
// rows behind it says that those before it do, too.
void LocatedChange::cover_in_partition(std::span<const Place> places,
                                       std::vector<Uncovered>& uncovered) const {
  const Snapshot& s = *tree_.next;
  const std::vector<PageNumber>& pages = tree_.pages.in_partition(places.front().partition);
  const SuffixExtremes nothing(s.attributes.size());
  SuffixExtremes reach = nothing;  // of the rows that come behind the page
  for (auto next = places.begin(); next != places.end();) {
    const std::size_t position = next->position;
    for (; next != places.end() && next->position == position; ++next)
      reach.include_row(change_, next->row, s.value_bytes());
    const std::size_t until = next == places.end() ? 0 : next->position;
    for (std::size_t p = position; p-- > until;) {
      const std::uint32_t slot = tree_.pages[pages[p]].slot;
      if (reach.is_covered_by_suffix_of(s, slot)) {
        reach = nothing;
        break;
      }
      reach.leave_room_beyond(s, slot);
      uncovered.push_back({pages[p], reach});
    }
  }
}

void LocatedChange::group_by_page() {
  using Kind = PageOperation::Kind;
  std::sort(operations_.begin(), operations_.end(), [](const PageOperation& a, const PageOperation& b) {
    return std::tie(a.page, a.kind, a.value) < std::tie(b.page, b.kind, b.value);
  });
  auto uncovered = uncovered_.begin();
  for (std::size_t first = 0; first < operations_.size() || uncovered != uncovered_.end();) {
    PageEdit& edit = edits_.emplace_back();
    if (first < operations_.size()) edit.page = operations_[first].page;
    if (uncovered != uncovered_.end() && uncovered->page <= edit.page) {
      edit.page = uncovered->page;
      edit.reach = &uncovered++->reach;
    }
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
