#include "index/write/leaf_pages.h"

#include <algorithm>
#include <iterator>
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

namespace {

// Room for new pages: otherwise the first of them would copy all.
std::size_t with_room(std::size_t num_pages) {
  return num_pages + num_pages / 4 + 64;
}

// The position of the first page for which `is_behind` is true, as it is for all pages after that one. If there is none, the
// number of pages.
template <typename IsBehind>
std::size_t first_position(const PageList& pages, const IsBehind& is_behind) {
  std::size_t first = 0;
  for (std::size_t count = pages.size(); count > 0;) {
    const std::size_t half = count / 2;
    if (is_behind(pages[first + half])) {
      count = half;
    } else {
      first += half + 1;
      count -= half + 1;
    }
  }
  return first;
}

}  // namespace

std::vector<PageNumber> PageList::to_vector() const {
  std::vector<PageNumber> pages(size_);
  for (std::size_t position = 0; position < size_; ++position) pages[position] = (*this)[position];
  return pages;
}

LeafPages::LeafPages(const Snapshot& tree, Loading loading)
    : files_(loading == Loading::whole ? nullptr : tree.filed_tree),
      pages_(with_room(tree.num_leaves), with_room(tree.num_leaves),
             files_ == nullptr ? PageSize::huge : PageSize::small),
      size_(tree.num_leaves),
      partitions_(tree.partitioner->num_partitions()),
      partition_order_(tree.partitioner->order()) {
  files_ == nullptr ? read_pages(tree) : number_pages();
}

void LeafPages::read_pages(const Snapshot& tree) {
  const std::vector<std::uint32_t>& leaves = tree.order().leaves;
  for_each(size_, [&](std::size_t page) {
    pages_[page] = {};
    pages_[page].slot = leaves[page];
    pages_[page].partition = tree.leaf(leaves[page]).partition;
    set_first(tree, static_cast<PageNumber>(page));
  });
  for (PageNumber page = 0; page < size_; ++page) partitions_[pages_[page].partition].pages.push_back(page);
  for (Partition& partition : partitions_) {
    partition.is_listed = true;
    partition.room = static_cast<std::uint32_t>(2 * partition.pages.size());
    if (partition.pages.empty()) ++num_empty_partitions_;
  }
}

// As the files number them: a pass over the partitions alone.
void LeafPages::number_pages() {
  filed_first_.resize(partitions_.size());
  PageNumber number = 0;
  for (const std::uint32_t partition : partition_order_) {
    filed_first_[partition] = number;
    const std::uint32_t num_pages = files_->leaves_of_partition[partition];
    if (num_pages > 0) filed_.push_back({number, partition});
    number += num_pages;
  }
  num_empty_partitions_ = partitions_.size() - filed_.size();
}

LeafPage LeafPages::filed_page(PageNumber page) const {
  const auto after = std::ranges::upper_bound(filed_, page, {}, &Filed::first);
  LeafPage filed;
  filed.slot = page;
  filed.parent = kUnknownPage;
  filed.partition = (after - 1)->partition;
  filed.first_order = LeafPage::kNotRead;
  return filed;
}

PageList LeafPages::in_partition(std::uint32_t partition) const {
  const Partition& listed = partitions_[partition];
  if (listed.is_listed) return PageList(listed.pages);
  return {filed_first_[partition], files_->leaves_of_partition[partition]};
}

std::size_t LeafPages::room_of_partition(std::uint32_t partition) const {
  const Partition& listed = partitions_[partition];
  return listed.is_listed ? listed.room : 2 * std::size_t{files_->leaves_of_partition[partition]};
}

void LeafPages::let_partition_double(std::uint32_t partition) {
  Partition& of = listed(partition);
  of.room = static_cast<std::uint32_t>(2 * of.pages.size());
}

// To be changed.
LeafPages::Partition& LeafPages::listed(std::uint32_t partition) {
  Partition& of = partitions_[partition];
  if (of.is_listed) return of;
  of = {in_partition(partition).to_vector(), static_cast<std::uint32_t>(room_of_partition(partition)), true};
  return of;
}

std::vector<std::uint32_t> LeafPages::slots() const {
  std::vector<std::uint32_t> slots;
  for (const std::uint32_t partition : partition_order_)
    for (const PageNumber page : in_partition(partition).to_vector()) slots.push_back((*this)[page].slot);
  return slots;
}

void LeafPages::set_first(const Snapshot& s, PageNumber page) {
  LeafPage& leaf = (*this)[page];
  leaf.first_order = order_at(s, leaf.slot, 0) & kOrderMask;
  leaf.first_id = s.leaf_ids(leaf.slot)[0];
}

LeafPages::FirstRow LeafPages::first_row(const Snapshot& s, PageNumber page) const {
  const LeafPage& leaf = pages_[page];
  if (leaf.is_stored == 1 && leaf.first_order != LeafPage::kNotRead) return {leaf.first_order, leaf.first_id};
  const std::uint32_t slot = leaf.is_stored == 1 ? leaf.slot : page;
  return {order_at(s, slot, 0), s.leaf_ids(slot)[0]};
}

std::size_t LeafPages::position_of(const Snapshot& s, PageNumber page) const {
  const PageList pages = in_partition((*this)[page].partition);
  const FirstRow row = first_row(s, page);
  const std::size_t found =
      first_position(pages, [&](PageNumber other) { return !(first_row(s, other) < row); });
  // Leaves that were read on touch have not been compared with each other.
  if (found == pages.size() || pages[found] != page)
    throw FormatError("the leaves of a partition are not in key order");
  return found;
}

std::size_t LeafPages::position_for(const Snapshot& s, OrderKey key, std::int64_t id) const {
  const FirstRow wanted(key & kOrderMask, id);
  const std::size_t after = first_position(in_partition(partition_of(key)),
                                           [&](PageNumber page) { return wanted < first_row(s, page); });
  return after == 0 ? 0 : after - 1;
}

void LeafPages::add_partition(std::uint32_t after) {
  const auto before = std::ranges::find(partition_order_, after);
  partition_order_.insert(before + 1, static_cast<std::uint32_t>(partitions_.size()));
  partitions_.emplace_back().is_listed = true;
  ++num_empty_partitions_;
}

LeafPages::Neighbour LeafPages::neighbour_of_partition(std::uint32_t partition) const {
  const auto is_used = [this](std::uint32_t other) { return !in_partition(other).empty(); };
  const auto here = std::ranges::find(partition_order_, partition);
  const auto before = std::find_if(std::make_reverse_iterator(here), partition_order_.rend(), is_used);
  if (before != partition_order_.rend()) return {in_partition(*before).back(), true};
  return {in_partition(*std::find_if(here, partition_order_.end(), is_used)).front(), false};
}

PageNumber LeafPages::add(const LeafPage& page, std::size_t position) {
  auto number = static_cast<PageNumber>(size_);
  if (free_.empty()) {
    append(page);
  } else {
    number = free_.back();
    free_.pop_back();
    pages_[number] = page;
  }
  std::vector<PageNumber>& pages = listed(page.partition).pages;
  if (pages.empty()) --num_empty_partitions_;
  pages.insert(pages.begin() + static_cast<std::ptrdiff_t>(position), number);
  return number;
}

void LeafPages::append(const LeafPage& page) {
  if (size_ == pages_.size()) {
    PageBuffer<LeafPage> larger(with_room(size_));
    std::ranges::copy(pages_.span(), larger.data());
    pages_ = std::move(larger);
  }
  pages_[size_++] = page;
}

void LeafPages::remove(PageNumber page) {
  std::vector<PageNumber>& pages = listed((*this)[page].partition).pages;
  pages.erase(std::find(pages.begin(), pages.end(), page));
  if (pages.empty()) ++num_empty_partitions_;
  pages_[page] = {};
  free_.push_back(page);
}

}  // namespace culmen
