#include "planner/work_estimate.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace culmen::test
