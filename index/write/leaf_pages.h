// LeafPages: the leaves of a working tree, as pages. A page keeps its number while copies of its leaf move between
// slots. The pages of each partition are in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "culmen/open.h"
#include "index/order_key.h"
#include "index/snapshot.h"
#include "index/write/id_map.h"

namespace culmen {

// A large index has millions of them.
struct LeafPage {
  std::uint32_t slot = 0;
  PageNumber parent = kNoPage;
  std::uint32_t partition = 0;
  std::uint32_t num_erased = 0;  // since its bounds were last computed
  // No row of the page precedes this one, except in the first page of a partition.
  std::uint64_t first_order = 0;  // kNotRead: that row was never needed, and is the first of the leaf
  std::int64_t first_id = 0;

  static constexpr std::uint64_t kNotRead = ~std::uint64_t{0};  // no order

  bool is_free() const { return parent == kNoPage; }  // its number, in a tree
};

// The order of a row within its partition.
std::uint64_t order_at(const Snapshot& snapshot, std::uint32_t slot, std::uint32_t position);

class LeafPages {
 public:
  // A page for each leaf, numbered in the tree's order. TreeNodes sets their parents. On touch: reads no leaf.
  LeafPages(const Snapshot& tree, Loading loading);

  std::size_t size() const { return pages_.size(); }  // including free numbers
  LeafPage& operator[](PageNumber page) { return pages_[page]; }
  const LeafPage& operator[](PageNumber page) const { return pages_[page]; }
  // Of all pages, in the tree's order.
  std::vector<std::uint32_t> slots() const;

  const std::vector<PageNumber>& in_partition(std::uint32_t partition) const {
    return partitions_[partition];
  }
  std::size_t num_partitions() const { return partitions_.size(); }
  std::size_t num_empty_partitions() const { return num_empty_partitions_; }
  // Adds a partition without pages, which follows `after` in the tree's order.
  void add_partition(std::uint32_t after);
  // Pages that a partition may have before an attempt to split it: twice as many as it was built or read with, or had
  // at the last attempt that failed. 0: a split has made it.
  std::size_t room_of_partition(std::uint32_t partition) const { return partition_room_[partition]; }
  void let_partition_double(std::uint32_t partition) {
    partition_room_[partition] = 2 * partitions_[partition].size();
  }
  std::size_t position_of(const Snapshot& snapshot, PageNumber page) const;  // in its partition

  // Position in its partition of the page that a row belongs to: the last one that begins at or before it, or else the
  // first.
  std::size_t position_for(const Snapshot& snapshot, OrderKey key, std::int64_t id) const;

  // The neighbour of the first page of an empty partition: the last page before the partition, or else the first one
  // after it.
  struct Neighbour {
    PageNumber page;
    bool is_before;
  };
  Neighbour neighbour_of_partition(std::uint32_t partition) const;

  // `position`: in its partition.
  PageNumber add(const LeafPage& page, std::size_t position);
  void remove(PageNumber page);
  // Records the first row of the page's new leaf.
  void set_first(const Snapshot& snapshot, PageNumber page);

 private:
  using FirstRow = std::pair<std::uint64_t, std::int64_t>;  // its order and its id

  void read_pages(const Snapshot& tree);
  void number_pages(const FiledTree& tree);
  FirstRow first_row(const Snapshot& snapshot, PageNumber page) const;

  std::vector<LeafPage> pages_;
  std::vector<PageNumber> free_;
  std::vector<std::vector<PageNumber>> partitions_;
  std::vector<std::uint32_t> partition_order_;  // of the tree
  std::vector<std::size_t> partition_room_;
  std::size_t num_empty_partitions_;
};

}  // namespace culmen
