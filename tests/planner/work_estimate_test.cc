#include "planner/work_estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "culmen/index.h"
#include "query/resolve.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

TEST(WorkEstimate, EstimatesThePartOfTheRowsThatPass) {
  Random random(5);
  const Table table = random_table(random, ValueClass::uniform_f32, 20000, 2);
  const Index index = Index::build(table.view());
  const SearchResult all = index.search({.weights = {1, 0}, .k = 20000});
  const auto snapshot = all.snapshot;
  const double median = all.attribute(all.hits.size() / 2, 0);
  const auto selectivity = [&](const Filter& where) {
    return estimate_selectivity(*snapshot, resolve({.weights = {1, 1}, .k = 1, .where = where}, *snapshot));
  };
  EXPECT_EQ(selectivity({}), 1);
  EXPECT_NEAR(selectivity({{0, -kInfinity, median}}), 0.5, 0.15);
  EXPECT_LT(selectivity({{0, kInfinity, kInfinity}}), 0.01);
}

TEST(WorkEstimate, CountsTheCacheLinesOfRowsThatCodesDoNotExclude) {
  Random random(6);
  const Table table = random_table(random, ValueClass::uniform_f32, 30000, 16);
  const SearchResult result =
      Index::build(table.view()).search({.weights = std::vector<double>(16, 1), .k = 1});
  const Snapshot& snapshot = *result.snapshot;
  const ResolvedQuery query = resolve({.weights = std::vector<double>(16, 1), .k = 1}, snapshot);
  const double all = 16 * std::ceil(snapshot.leaf_rows * 4 / 64.0);
  EXPECT_EQ(lines_of_rows(snapshot, query, 0), 0);
  EXPECT_DOUBLE_EQ(lines_of_rows(snapshot, query, 1), 16);
  EXPECT_NEAR(lines_of_rows(snapshot, query, snapshot.leaf_rows), all, 1e-3 * all);

  SearchStats stats;
  stats.leaves_visited = 100;
  stats.rows_by_codes = 100 * snapshot.num_rows / snapshot.num_leaves;
  EXPECT_EQ(counted_work(snapshot, query, stats, 1).lines, 0);
  stats.rows_scored = 100;  // one of each leaf
  EXPECT_NEAR(counted_work(snapshot, query, stats, 1).lines, 1600, 30);
}

}  // namespace
}  // namespace culmen::test
