// Answers: of one query, and of many that differ in their weights.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "culmen/index.h"
#include "queries.h"

namespace culmen::python {

// Which version answered is part of it, so that attributes and labels of the hits stay readable.
struct ManyAnswers {
  BatchAnswers answers;
  Index index;  // that version
};

// With one version of the index. Stops between parts of the batch when a signal wants it to.
ManyAnswers search_many(const Index& index, const Questions& questions, const SearchOptions& options);

// Of questions without k: each answer has its own length.
class LongAnswers {
 public:
  void append(const std::vector<SearchResult>& results);
  // All as wide as the longest.
  BatchAnswers padded(std::uint64_t version) const;

 private:
  std::vector<std::vector<Hit>> hits_;
};

// Rows of `width` weights.
std::vector<Query> queries_without_k(const QueryBatch& batch, std::size_t width);

}  // namespace culmen::python
