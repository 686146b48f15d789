#include "planner/sampled_scan.h"

#include <gtest/gtest.h>

#include "culmen/index.h"
#include "query/resolve.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

const std::vector<Query> kQuestions = {{.weights = {1, 0.3, 0.7}, .k = 1},
                                       {.weights = {1, -0.3, 0.7}, .k = 20},
                                       {.weights = {0.2, 1, 0.1}, .k = 300},
                                       {.weights = {1, 0, 0}, .k = 50, .where = {{1, 0.2, 0.6}}}};

struct Comparison {
  Work estimate;
  SearchStats done;
};

Comparison compare(const Index& index, const Query& query) {
  const SearchResult result = index.search(query, {.engine = Engine::scan, .num_threads = 1});
  return {sample_scan(*result.snapshot, resolve(query, *result.snapshot), 1, 1), result.stats};
}

TEST(SampledScan, OfASmallTableIsTheScanItself) {
  Random random(1);
  for (const ValueClass values : {ValueClass::uniform_f32, ValueClass::small_integers}) {
    const Index index = Index::build(random_table(random, values, 20'000, 3).view());
    for (const Query& query : kQuestions) {
      const auto [estimate, done] = compare(index, query);
      EXPECT_DOUBLE_EQ(estimate.leaves, static_cast<double>(done.leaves_visited));
      EXPECT_EQ(estimate.replacements, static_cast<double>(done.replacements));
      EXPECT_EQ(estimate.candidates, static_cast<double>(done.candidates));
    }
  }
}

TEST(SampledScan, OfALargeTableComesNear) {
  Random random(2);
  const Index index =
      Index::build(random_table(random, ValueClass::uniform_f32, 200'000, 3).view(), {.leaf_rows = 32});
  for (const Query& query : kQuestions) {
    if (query.k < std::size_t{20}) continue;  // a handful of rows: chance decides
    const auto [estimate, done] = compare(index, query);
    EXPECT_NEAR(estimate.leaves / static_cast<double>(done.leaves_visited), 1, 0.3) << *query.k;
    EXPECT_NEAR(estimate.replacements, static_cast<double>(done.replacements),
                2.0 * static_cast<double>(*query.k));
  }
}

}  // namespace
}  // namespace culmen::test
