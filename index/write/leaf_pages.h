// LeafPages: the leaves of a working tree, as pages. A page keeps its number while copies of its leaf move between
// slots. The pages of each partition are in order. Of a tree that is read on touch nothing is stored of pages and partitions
// that no change has touched: they are as the files have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/pages.h"
#include "culmen/open.h"
#include "index/order_key.h"
#include "index/snapshot.h"
#include "index/write/id_map.h"

namespace culmen {

// A large index has millions of them. All bits 0: as the files have it.
struct LeafPage {
  std::uint32_t slot = 0;
  PageNumber parent = kNoPage;
  std::uint32_t partition = 0;
  std::uint32_t num_erased = 0;  // since its bounds were last computed
  // No row of the page precedes this one, except in the first page of a partition.
  std::uint64_t first_order : 63 = 0;  // kNotRead: that row was never needed, and is the first of the leaf
  std::uint64_t is_stored : 1 = 1;
  std::int64_t first_id = 0;

  static constexpr std::uint64_t kNotRead = ~std::uint64_t{0} >> 1;  // no order

  bool is_free() const { return parent == kNoPage; }  // its number, in a tree
};

// The numbers of a partition's pages, in order: listed, or as in the files, where they are neighbours.
class PageList {
 public:
  explicit PageList(std::span<const PageNumber> listed) : listed_(listed.data()), size_(listed.size()) {}
  PageList(PageNumber first, std::size_t size) : first_(first), size_(size) {}

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  PageNumber operator[](std::size_t position) const {
    return listed_ != nullptr ? listed_[position] : first_ + static_cast<PageNumber>(position);
  }
  PageNumber front() const { return (*this)[0]; }
  PageNumber back() const { return (*this)[size_ - 1]; }
  std::vector<PageNumber> to_vector() const;

 private:
  const PageNumber* listed_ = nullptr;
  PageNumber first_ = 0;
  std::size_t size_;
};

// The order of a row within its partition.
std::uint64_t order_at(const Snapshot& snapshot, std::uint32_t slot, std::uint32_t position);

class LeafPages {
 public:
  // A page for each leaf, numbered in the tree's order. TreeNodes sets their parents. On touch: reads no leaf.
  LeafPages(const Snapshot& tree, Loading loading);

  std::size_t size() const { return size_; }  // including free numbers
  // To be changed; concurrent calls are allowed for different pages.
  LeafPage& operator[](PageNumber page) {
    LeafPage& stored = pages_[page];
    return stored.is_stored == 1 ? stored : stored = filed_page(page);
  }
  LeafPage operator[](PageNumber page) const {
    return pages_[page].is_stored == 1 ? pages_[page] : filed_page(page);
  }
  // Of all pages, in the tree's order.
  std::vector<std::uint32_t> slots() const;

  PageList in_partition(std::uint32_t partition) const;
  std::size_t num_partitions() const { return partitions_.size(); }
  std::size_t num_empty_partitions() const { return num_empty_partitions_; }
  // Adds a partition without pages, which follows `after` in the tree's order.
  void add_partition(std::uint32_t after);
  // Pages that a partition may have before an attempt to split it: twice as many as it was built or read with, or had
  // at the last attempt that failed. 0: a split has made it.
  std::size_t room_of_partition(std::uint32_t partition) const;
  void let_partition_double(std::uint32_t partition);
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

  struct Partition {
    std::vector<PageNumber> pages;
    std::uint32_t room = 0;
    bool is_listed = false;  // false: pages and room follow from the files
  };
  // A partition of the files that has pages, and the first of them.
  struct Filed {
    PageNumber first;
    std::uint32_t partition;
  };

  void read_pages(const Snapshot& tree);
  void number_pages();
  void append(const LeafPage& page);
  LeafPage filed_page(PageNumber page) const;
  Partition& listed(std::uint32_t partition);
  FirstRow first_row(const Snapshot& snapshot, PageNumber page) const;

  const std::shared_ptr<const FiledTree> files_;  // null: all is stored
  std::vector<Filed> filed_;                      // in the order of the files
  std::vector<PageNumber> filed_first_;           // of each partition of the files
  PageBuffer<LeafPage> pages_;
  std::size_t size_ = 0;
  std::vector<PageNumber> free_;
  std::vector<Partition> partitions_;
  std::vector<std::uint32_t> partition_order_;  // of the tree
  std::size_t num_empty_partitions_ = 0;
};

}  // namespace culmen
