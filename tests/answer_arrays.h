// Answers to a batch in arrays of the caller's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "culmen/error.h"
#include "culmen/search.h"

namespace culmen::test {

// Has the batch answered into arrays with other values in them, and expects what search_batch() returned. The arrays
// have batch.k elements for each query, also where the index has fewer rows.
inline void expect_in_arrays(const auto& index, const QueryBatch& batch, const BatchAnswers& expected) {
  const std::size_t k = batch.k;
  std::vector<std::int64_t> ids(expected.num_queries * k, 77), padded_ids(ids.size(), -1);
  std::vector<double> scores(ids.size(), 7.5),
      padded_scores(ids.size(), -std::numeric_limits<double>::infinity());
  std::vector<std::uint32_t> counts(expected.num_queries, 7);
  for (std::size_t q = 0; q < expected.num_queries; ++q)
    for (std::size_t rank = 0; rank < expected.k; ++rank) {
      padded_ids[q * k + rank] = expected.ids[q * expected.k + rank];
      padded_scores[q * k + rank] = expected.scores[q * expected.k + rank];
    }
  EXPECT_EQ(index.search_batch(batch, AnswerArrays{ids, scores, counts}), expected.version);
  EXPECT_EQ(ids, padded_ids);
  EXPECT_EQ(scores, padded_scores);
  EXPECT_EQ(counts, expected.counts);
}

// Arrays of other sizes than the batch needs are refused.
inline void expect_arrays_are_checked(const auto& index, const QueryBatch& batch, std::size_t num_queries) {
  std::vector<std::int64_t> ids(num_queries * batch.k);
  std::vector<double> scores(ids.size());
  std::vector<std::uint32_t> counts(num_queries);
  const AnswerArrays fitting = {ids, scores, counts};
  EXPECT_NO_THROW(index.search_batch(batch, fitting));
  AnswerArrays arrays = fitting;
  arrays.ids = std::span(ids).first(ids.size() - 1);
  EXPECT_THROW(index.search_batch(batch, arrays), InvalidArgument);
  arrays = fitting;
  arrays.scores = std::span(scores).first(scores.size() - batch.k);
  EXPECT_THROW(index.search_batch(batch, arrays), InvalidArgument);
  arrays = fitting;
  arrays.counts = {};
  EXPECT_THROW(index.search_batch(batch, arrays), InvalidArgument);
}

}  // namespace culmen::test
