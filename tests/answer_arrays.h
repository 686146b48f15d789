// Answers to a batch in arrays of the caller's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
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

// Arrays of which one begins within another, or within the weights, are refused.
inline void expect_arrays_are_apart(const auto& index, const QueryBatch& batch, std::size_t num_queries) {
  constexpr std::size_t kWord = 8;
  const std::size_t size = num_queries * batch.k, num_weights = batch.weights.size();
  std::vector<std::byte> memory(kWord * (num_weights + 2 * size + num_queries));
  const auto at = [&]<typename T>(std::type_identity<T>, std::size_t word, std::size_t count) {
    return std::span(reinterpret_cast<T*>(memory.data() + kWord * word), count);
  };
  const std::span<double> weights = at(std::type_identity<double>(), 0, num_weights);
  const auto search_into = [&](std::size_t ids, std::size_t scores, std::size_t counts) {
    std::copy(batch.weights.begin(), batch.weights.end(), weights.begin());
    QueryBatch of_memory = batch;
    of_memory.weights = weights;
    index.search_batch(of_memory, {at(std::type_identity<std::int64_t>(), ids, size),
                                   at(std::type_identity<double>(), scores, size),
                                   at(std::type_identity<std::uint32_t>(), counts, num_queries)});
  };
  const std::size_t first = num_weights, second = first + size, third = second + size;
  EXPECT_NO_THROW(search_into(first, second, third));
  EXPECT_NO_THROW(search_into(second, first, third));
  EXPECT_THROW(search_into(first - 1, second, third), InvalidArgument);
  EXPECT_THROW(search_into(first, second - 1, third), InvalidArgument);
  EXPECT_THROW(search_into(first, second, third - 1), InvalidArgument);
  EXPECT_THROW(search_into(second, second, third), InvalidArgument);
  EXPECT_THROW(search_into(first, second, 0), InvalidArgument);
}

// Arrays of other sizes than the batch needs are refused, and those that overlap.
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
  expect_arrays_are_apart(index, batch, num_queries);
}

}  // namespace culmen::test
