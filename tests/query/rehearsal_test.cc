#include "query/rehearsal.h"

#include <gtest/gtest.h>

#include "query/resolve.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

const std::vector<Query> kQuestions = {{.weights = {1, 0.3, 0.7}, .k = 1},
                                       {.weights = {1, -0.3, 0.7}, .k = 20},
                                       {.weights = {0.2, 1, 0.1}, .k = 300},
                                       {.weights = {1, 0, 0}, .k = 50, .where = {{1, 0.2, 0.6}}}};

struct Comparison {
  Work forecast;
  SearchStats done;
};

Comparison compare(const Index& index, const Query& query, Engine engine) {
  const SearchResult result = index.search(query, {.engine = engine, .num_threads = 1});
  const ResolvedQuery resolved = resolve(query, *result.snapshot);
  const auto rehearse = engine == Engine::scan ? rehearse_scan : rehearse_gta;
  return {rehearse(*result.snapshot, resolved, 1, 1), result.stats};
}

TEST(Rehearsal, OfASmallTableIsThePlayItself) {
  Random random(1);
  for (const ValueClass values : {ValueClass::uniform_f32, ValueClass::small_integers}) {
    const Index index = Index::build(random_table(random, values, 20'000, 3).view());
    for (const Query& query : kQuestions)
      for (const Engine engine : {Engine::scan, Engine::gta}) {
        const auto [forecast, done] = compare(index, query, engine);
        EXPECT_DOUBLE_EQ(forecast.leaves, static_cast<double>(done.blocks_visited));
        EXPECT_EQ(forecast.replacements, static_cast<double>(done.replacements));
        EXPECT_EQ(forecast.candidates, static_cast<double>(done.candidates));
      }
  }
}

TEST(Rehearsal, OfALargeTableComesNear) {
  Random random(2);
  const Index index =
      Index::build(random_table(random, ValueClass::uniform_f32, 200'000, 3).view(), {.block_rows = 32});
  for (const Query& query : kQuestions) {
    if (query.k < 20) continue;  // a handful of rows: chance decides
    for (const Engine engine : {Engine::scan, Engine::gta}) {
      const auto [forecast, done] = compare(index, query, engine);
      EXPECT_NEAR(forecast.leaves / static_cast<double>(done.blocks_visited), 1, 0.3) << query.k;
      EXPECT_GT(forecast.replacements, 0.5 * static_cast<double>(done.replacements)) << query.k;
      EXPECT_LT(forecast.replacements, 2.0 * static_cast<double>(done.replacements)) << query.k;
    }
  }
}

}  // namespace
}  // namespace culmen::test
