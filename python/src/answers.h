// Answers of one query, and of many that differ in their weights.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
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
  // Of a ShardedIndex whose ids are texts: these, ascending. The ids of the answers are positions among them, as numbers of
  // two shards do not compare.
  std::optional<std::vector<std::string>> texts = {};
};

// Arrays of the caller's for ids, scores and counts, or None: [queries, k] and, of counts, [queries].
template <typename T, std::size_t dimensions>
using OutArray = nb::ndarray<T, nb::numpy, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Out =
    std::optional<std::tuple<OutArray<std::int64_t, 2>, OutArray<double, 2>, OutArray<std::uint32_t, 1>>>;
std::optional<AnswerArrays> arrays_of(const Out& out);

// Searches one version of the index. With `out`, which needs a k, the answers are there instead of in the result. Refusals
// name the query.
ManyAnswers search_many(const Index& index, const MatrixQuery& query, const SearchOptions& options,
                        const std::optional<AnswerArrays>& out = std::nullopt);
ManyAnswers search_many(const Index& index, const EachQuery& each, const SearchOptions& options);
ManyAnswers search_many(const ShardedIndex& index, const MatrixQuery& query, const SearchOptions& options);
ManyAnswers search_many(const ShardedIndex& index, const EachQuery& each, const SearchOptions& options);

// Collects answers of queries without k: each answer has its own length.
class LongAnswers {
 public:
  // with_texts: takes the ids of the hits as texts, too.
  explicit LongAnswers(bool with_texts = false) : with_texts_(with_texts) {}

  void append(const std::vector<SearchResult>& results);
  // Pads all answers to the width of the longest, which is at least so many.
  BatchAnswers padded(std::uint64_t version, std::size_t least_width = 0) const;
  // The texts, ascending and each once; from then on the ids of the hits are positions among them.
  std::vector<std::string> number_texts();

 private:
  const bool with_texts_;
  std::vector<std::vector<Hit>> hits_;
  std::vector<std::string> texts_;  // of all hits
};

// Queries [first, first + count), of `width` weights each.
std::vector<Query> queries_of(const MatrixQuery& query, std::size_t width, std::size_t first,
                              std::size_t count);

}  // namespace culmen::python
