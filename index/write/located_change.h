// LocatedChange: a batch with the page of each row that it erases or inserts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/order_key.h"
#include "index/write/batch_rows.h"
#include "index/write/working_tree.h"

namespace culmen {

struct PageOperation {
  enum class Kind : std::uint8_t {
    remove,  // row `value` of the leaf
    add,     // row `value` of the batch
  };
  PageNumber page;
  Kind kind;
  std::uint32_t value;
};

// All operations of a batch on one page, by ascending value.
struct PageEdit {
  PageNumber page = kNoPage;
  std::span<const PageOperation> removed, added;
};

class LocatedChange {
 public:
  // Each partition that receives rows must have a page (add_missing_pages). The rows and the tree must outlive this.
  LocatedChange(const BatchRows& rows, std::vector<OrderKey> keys, const WorkingTree& tree);
  LocatedChange(const LocatedChange&) = delete;
  LocatedChange& operator=(const LocatedChange&) = delete;

  const Change& change() const { return change_; }
  const BatchRows& rows() const { return rows_; }
  OrderKey order(std::uint32_t row) const { return keys_[row] & kOrderMask; }  // within its partition
  std::span<const PageEdit> edits() const { return edits_; }                   // one for each page

 private:
  void locate_removed();
  void locate_added();
  std::vector<PageNumber> pages_of_added() const;
  void group_by_page();

  const BatchRows& rows_;
  const Change& change_;
  const WorkingTree& tree_;
  std::vector<OrderKey> keys_;  // of the change's rows
  std::vector<PageOperation> operations_;
  std::vector<PageEdit> edits_;
};

// The partition and the order key of each row.
std::vector<OrderKey> keys_of(const BatchRows& rows, const Snapshot& snapshot);

// Adds an empty page to each partition that has none and receives one of these rows.
void add_missing_pages(std::span<const OrderKey> keys, WorkingTree& tree);

}  // namespace culmen
