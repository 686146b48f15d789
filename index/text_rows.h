// Texts as ids (IdType::text): the numbers that stand in for them ascend as they do, so that a text is found by binary search
// in the order of ids.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"

namespace culmen {

// Throw InvalidArgument if the ids of the index are numbers; if they are texts, and a row is to be erased by a number.
void require_text_ids(const Snapshot& snapshot);
void require_erasable_numbers(const Snapshot& snapshot);

// The rows of a version, which may be one with LoggedRows, in the order of their ids. A part of the version
// (Snapshot::text_rows).
class TextRows {
 public:
  // Cost: a pass over the ids of all rows, and a sort.
  explicit TextRows(const Snapshot& version);
  TextRows(const TextRows&) = delete;
  TextRows& operator=(const TextRows&) = delete;

  TextPlace find(std::string_view text) const;
  // What stands in for the largest text below this one; the smallest int64 if there is none.
  std::int64_t before(std::string_view text) const;

  std::span<const std::uint64_t> rows() const { return rows_; }

 private:
  // The place of the last text for which passes(text), as for all before it.
  template <typename Passes>
  TextPlace last_that(std::string_view text, const Passes& passes) const;

  const Snapshot& version_;
  std::vector<std::uint64_t> rows_;
};

}  // namespace culmen
