// Searches that their caller stops, of any kind of index.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <stop_token>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/generators.h"

namespace culmen::test {

inline constexpr std::size_t kStopAttributes = 16;

inline Index uniform_index(Random& random, std::size_t num_rows, std::int64_t first_id = 0) {
  TableView view;
  view.num_rows = num_rows;
  std::vector<std::vector<double>> columns(kStopAttributes, std::vector<double>(num_rows));
  for (std::size_t a = 0; a < kStopAttributes; ++a) {
    for (double& value : columns[a]) value = random.uniform(-1, 1);
    view.attributes.push_back({.name = "a" + std::to_string(a)});
    view.columns.emplace_back(columns[a]);
  }
  std::vector<std::int64_t> ids(num_rows);
  std::iota(ids.begin(), ids.end(), first_id);
  view.ids = ids;
  return Index::build(view,
                      {.stand_ins = std::vector<double>(kStopAttributes)});  // so that shards have the same
}

inline std::vector<double> weights_of_queries(Random& random, std::size_t num_queries) {
  std::vector<double> weights(num_queries * kStopAttributes);
  for (double& weight : weights) weight = random.uniform(-1, 1);
  return weights;
}

// Expects Stopped of every kind of search of `index` once a stop is requested, and answers before and after.
template <typename AnyIndex>
void expect_stops(const AnyIndex& index, std::vector<Engine> engines) {
  Random random(7);
  const std::vector<double> weights = weights_of_queries(random, 300);
  const Query query = {.weights = {weights.begin(), weights.begin() + kStopAttributes}, .k = 5};
  const std::vector<Query> queries(200, query);
  const QueryBatch batch = {.weights = weights, .k = 5};
  for (const Engine engine : engines) {
    const SearchOptions plain = {.engine = engine};
    std::stop_source stop;
    SearchOptions options = {.engine = engine};
    options.stop = stop.get_token();
    EXPECT_EQ(index.search(query, options).hits, index.search(query, plain).hits);
    EXPECT_EQ(index.search_batch(batch, options).ids, index.search_batch(batch, plain).ids);
    stop.request_stop();
    EXPECT_THROW(static_cast<void>(index.search(query, options)), Stopped);
    EXPECT_THROW(static_cast<void>(index.search(queries, options)), Stopped);
    EXPECT_THROW(static_cast<void>(index.search_batch(batch, options)), Stopped);
    EXPECT_EQ(index.search(queries, plain).back().hits, index.search(query, plain).hits);
  }
}

}  // namespace culmen::test
