// Answers of one query, and of many that differ in their weights.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "queries.h"

namespace culmen::python {

// Holds the version that answered, so attributes and labels of the hits stay readable.
struct ManyAnswers {
  BatchAnswers answers;
  std::variant<Index, ShardedIndex> index;  // that version
};

// Searches one version of the index. Stops between parts of the batch if a signal handler raises.
ManyAnswers search_many(const Index& index, const MatrixQuery& query, const SearchOptions& options);
ManyAnswers search_many(const ShardedIndex& index, const MatrixQuery& query, const SearchOptions& options);

// Collects answers of queries without k: each answer has its own length.
class LongAnswers {
 public:
  void append(const std::vector<SearchResult>& results);
  // Pads all answers to the width of the longest.
  BatchAnswers padded(std::uint64_t version) const;

 private:
  std::vector<std::vector<Hit>> hits_;
};

// Rows of `width` weights.
std::vector<Query> queries_without_k(const QueryBatch& batch, std::size_t width);

}  // namespace culmen::python
