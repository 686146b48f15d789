// LocatedChange: a batch, and which pages of the tree it changes.
//
// Rows that come change their own page, and all pages before it in the partition whose suffix extremes do not cover them
// yet, however many those are (the worked insertion in the paper forgets the blocks before the one that it fills).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/order_key.h"
#include "index/write/change.h"
#include "index/write/suffix_extremes.h"
#include "index/write/working_tree.h"

namespace culmen {

struct PageOperation {
  enum class Kind : std::uint8_t {
    remove,  // the row of the leaf in position `value`
    add,     // row `value` of the batch
  };
  PageNumber page;
  Kind kind;
  std::uint32_t value;
};

// All that a batch does to one page, by ascending value.
struct PageEdit {
  PageNumber page = kNoPage;
  std::span<const PageOperation> removed, added;
  const SuffixExtremes* reach = nullptr;  // that its suffix is to cover besides; null: no more than before
};

class LocatedChange {
 public:
  // Each partition that gets rows must have a page (add_missing_pages). The change and the tree outlive this.
  LocatedChange(const Change& change, std::vector<OrderKey> keys, const WorkingTree& tree);
  LocatedChange(const LocatedChange&) = delete;
  LocatedChange& operator=(const LocatedChange&) = delete;

  const Change& change() const { return change_; }
  OrderKey order(std::uint32_t row) const { return keys_[row] & kOrderMask; }  // within its partition
  std::span<const PageEdit> edits() const { return edits_; }                   // one for each page

 private:
  void locate_removed();
  void locate_added();
  // Where a row of the batch comes.
  struct Place {
    std::uint32_t partition;
    std::size_t position;  // of its page in the partition
    std::uint32_t row;
  };
  // A page whose suffix does not cover rows that come to later ones.
  struct Uncovered {
    PageNumber page = kNoPage;
    SuffixExtremes reach;
  };
  std::vector<Place> places_of_added();
  void cover_in_earlier_pages(std::vector<Place> places);
  void cover_in_partition(std::span<const Place> places, std::vector<Uncovered>& uncovered) const;
  void group_by_page();

  const Change& change_;
  const WorkingTree& tree_;
  std::vector<OrderKey> keys_;  // of the change's rows
  std::vector<PageOperation> operations_;
  std::vector<Uncovered> uncovered_;  // by ascending page
  std::vector<PageEdit> edits_;
};

// Where each row of the change belongs.
std::vector<OrderKey> keys_of(const Change& change, const Snapshot& snapshot);

// An empty page for each partition without one that one of these rows belongs to.
void add_missing_pages(std::span<const OrderKey> keys, WorkingTree& tree);

}  // namespace culmen
