// Texts as ids (IdType::text): the numbers that stand in for them ascend as they do, so that a text is found by binary search
// in the order of ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"

namespace culmen {

// Throw InvalidArgument if the ids of the index are numbers; if they are texts, and a row is to be erased by a number.
void require_text_ids(const Snapshot& snapshot);
void require_erasable_numbers(const Snapshot& snapshot);

// The rows of a tree in the order of their ids.
std::vector<std::uint64_t> rows_by_ids(const Snapshot& tree);

// The same, without those of some ids, as the files have the order, where they do; else as a list.
class RowsInOrder {
 public:
  // `erased`: ids that ascend. Both must outlive this. Cost: nothing where files have the order, else that of rows_by_ids.
  explicit RowsInOrder(const Snapshot& tree, std::span<const std::int64_t> erased = {});

  // The place of the last text for which passes(text), as for all before it: those below `wanted`, and maybe `wanted` itself.
  template <typename Passes>
  TextPlace last_that(std::string_view wanted, const Passes& passes) const;
  // The place of a text among these rows.
  TextPlace find(std::string_view text) const;
  // The row with this id, or kNowhere. Of a list.
  std::uint64_t row_with(std::int64_t id) const;

 private:
  std::uint64_t size() const { return order_ != nullptr ? order_->num_ids() : rows_.size(); }
  bool is_erased(std::uint64_t place) const;
  std::uint64_t row_at(std::uint64_t place) const;
  template <typename Passes>
  std::optional<std::uint64_t> last_row_that(std::string_view wanted, const Passes& passes) const;

  const Snapshot& tree_;
  const std::span<const std::int64_t> erased_;
  const IdOrder* const order_;       // null: there is a list
  std::vector<std::uint64_t> rows_;  // which has no erased ones
};

// Finds texts in a version, which may be one with LoggedRows. A part of the version (Snapshot::text_rows).
class TextRows {
 public:
  explicit TextRows(const Snapshot& version);
  TextRows(const TextRows&) = delete;
  TextRows& operator=(const TextRows&) = delete;

  TextPlace find(std::string_view text) const;
  // What stands in for the largest text below this one; the smallest int64 if there is none.
  std::int64_t before(std::string_view text) const;
  // For each id its row, or kNowhere. Of a version without LoggedRows that no files have the order of.
  std::vector<std::uint64_t> rows_with(std::span<const std::int64_t> ids) const;

 private:
  // The place of the last text for which passes(text), as for all before it.
  template <typename Passes>
  TextPlace last_that(std::string_view text, const Passes& passes) const;

  std::vector<RowsInOrder> trees_;  // one, or that of the files and what a log has added
};

}  // namespace culmen
