#include "index/write/leaf_pages.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/for_each.h"
#include "culmen/error.h"

namespace culmen {

std::uint64_t order_at(const Snapshot& s, std::uint32_t slot, std::uint32_t position) {
  return visit_value_type(s, [&]<typename T>(T) {
    const T* values = s.leaf_values<T>(slot) + position;
    const auto stride = static_cast<std::size_t>(s.leaf_rows);
    return s.partitioner->order_of([&](std::size_t i) { return static_cast<double>(values[i * stride]); });
  });
}

LeafPages::LeafPages(const Snapshot& tree, Loading loading)
    : partitions_(tree.partitioner->num_partitions()),
      partition_order_(tree.partitioner->order()),
      partition_room_(partitions_.size()),
      num_empty_partitions_(partitions_.size()) {
  // Room for new pages: otherwise the first of them would copy all.
  pages_.reserve(tree.num_leaves + tree.num_leaves / 4);
  pages_.resize(tree.num_leaves);
  loading == Loading::whole ? read_pages(tree) : number_pages(*tree.filed_tree);
  for (std::uint32_t partition = 0; partition < partitions_.size(); ++partition) {
    if (!partitions_[partition].empty()) --num_empty_partitions_;
    let_partition_double(partition);
  }
}

void LeafPages::read_pages(const Snapshot& tree) {
  const std::vector<std::uint32_t>& leaves = tree.order().leaves;
  for_each(pages_.size(), [&](std::size_t page) {
    pages_[page].slot = leaves[page];
    pages_[page].partition = tree.leaf(leaves[page]).partition;
    set_first(tree, static_cast<PageNumber>(page));
  });
  for (PageNumber page = 0; page < pages_.size(); ++page) partitions_[pages_[page].partition].push_back(page);
}

// The only pass over all pages: of a large index it is most of what a small change costs.
void LeafPages::number_pages(const FiledTree& tree) {
  PageNumber number = 0;
  for (const std::uint32_t partition : partition_order_) {
    std::vector<PageNumber>& pages = partitions_[partition];
    pages.resize(tree.leaves_of_partition[partition]);
    std::iota(pages.begin(), pages.end(), number);
    for (const PageNumber slot : pages) {
      LeafPage& page = pages_[slot];
      page.slot = slot;
      page.partition = partition;
      page.parent = kUnknownPage;
      page.first_order = LeafPage::kNotRead;
    }
    number += static_cast<PageNumber>(pages.size());
  }
}

std::vector<std::uint32_t> LeafPages::slots() const {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t partition : partition_order_)
    for (const PageNumber page : partitions_[partition]) slots.push_back(pages_[page].slot);
  return slots;
}

void LeafPages::set_first(const Snapshot& s, PageNumber page) {
  LeafPage& leaf = pages_[page];
  leaf.first_order = order_at(s, leaf.slot, 0);
  leaf.first_id = s.leaf_ids(leaf.slot)[0];
}

LeafPages::FirstRow LeafPages::first_row(const Snapshot& s, PageNumber page) const {
  const LeafPage& leaf = pages_[page];
  if (leaf.first_order != LeafPage::kNotRead) return {leaf.first_order, leaf.first_id};
  return {order_at(s, leaf.slot, 0), s.leaf_ids(leaf.slot)[0]};
}

std::size_t LeafPages::position_of(const Snapshot& s, PageNumber page) const {
  const std::vector<PageNumber>& pages = partitions_[pages_[page].partition];
  const auto by_first = [&](PageNumber other, const FirstRow& row) { return first_row(s, other) < row; };
  const auto found = std::lower_bound(pages.begin(), pages.end(), first_row(s, page), by_first);
  // Leaves that were read on touch have not been compared with each other.
  if (found == pages.end() || *found != page)
    throw FormatError("the leaves of a partition are not in key order");
  return static_cast<std::size_t>(found - pages.begin());
}

std::size_t LeafPages::position_for(const Snapshot& s, OrderKey key, std::int64_t id) const {
  const std::vector<PageNumber>& pages = partitions_[partition_of(key)];
  const FirstRow wanted(key & kOrderMask, id);
  const auto after =
      std::upper_bound(pages.begin(), pages.end(), wanted,
                       [&](const FirstRow& row, PageNumber page) { return row < first_row(s, page); });
  return after == pages.begin() ? 0 : static_cast<std::size_t>(after - pages.begin()) - 1;
}

void LeafPages::add_partition(std::uint32_t after) {
  const auto before = std::ranges::find(partition_order_, after);
  partition_order_.insert(before + 1, static_cast<std::uint32_t>(partitions_.size()));
  partitions_.emplace_back();
  partition_room_.push_back(0);
  ++num_empty_partitions_;
}

LeafPages::Neighbour LeafPages::neighbour_of_partition(std::uint32_t partition) const {
  const auto is_used = [this](std::uint32_t other) { return !partitions_[other].empty(); };
  const auto here = std::ranges::find(partition_order_, partition);
  const auto before = std::find_if(std::make_reverse_iterator(here), partition_order_.rend(), is_used);
  if (before != partition_order_.rend()) return {partitions_[*before].back(), true};
  return {partitions_[*std::find_if(here, partition_order_.end(), is_used)].front(), false};
}

PageNumber LeafPages::add(const LeafPage& page, std::size_t position) {
  PageNumber number = static_cast<PageNumber>(pages_.size());
  if (free_.empty()) {
    pages_.push_back(page);
  } else {
    number = free_.back();
    free_.pop_back();
    pages_[number] = page;
  }
  std::vector<PageNumber>& pages = partitions_[page.partition];
  if (pages.empty()) --num_empty_partitions_;
  pages.insert(pages.begin() + static_cast<std::ptrdiff_t>(position), number);
  return number;
}

void LeafPages::remove(PageNumber page) {
  std::vector<PageNumber>& pages = partitions_[pages_[page].partition];
  pages.erase(std::find(pages.begin(), pages.end(), page));
  if (pages.empty()) ++num_empty_partitions_;
  pages_[page] = {};
  free_.push_back(page);
}

}  // namespace culmen
