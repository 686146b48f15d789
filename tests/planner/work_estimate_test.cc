#include "planner/work_estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "cpu/bounded.h"
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

// Estimates the whole search at a checkpoint, and lets it go on.
class EstimateAt : public cpu::SearchMonitor {
 public:
  EstimateAt(const Snapshot& snapshot, const ResolvedQuery& query, std::uint64_t visits)
      : snapshot_(snapshot), query_(query), visits_(visits) {}

  std::uint64_t first_checkpoint() const override { return visits_; }
  std::uint64_t checkpoint(const cpu::Progress& progress) override {
    leaves_ = estimate_bounded(snapshot_, query_, progress).leaves;
    return kNever;
  }
  double leaves() const { return leaves_; }

 private:
  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  std::uint64_t visits_;
  double leaves_ = 0;
};

TEST(WorkEstimate, CountsNoLeavesThatTheFilterExcludes) {
  Random random(7);
  const Table table = random_table(random, ValueClass::uniform_f32, 300'000, 4);
  std::vector<std::int32_t> codes(300'000);
  for (std::int32_t& code : codes) code = random.between(0, 999);
  TableView view = table.view();
  view.fields = {{"code", FieldRole::filter, {ColumnType::integer}}};
  view.field_views = {ColumnView(codes)};
  const Index index = Index::build(view);
  const auto snapshot = index.search({.weights = {1, 1, 1, 1}, .k = 1}).snapshot;
  double estimated = 0, visited = 0;
  for (int q = 0; q < 20; ++q) {
    const std::vector<double> weights = {random.uniform(0.1, 1), random.uniform(-1, -0.1),
                                         random.uniform(0.1, 1), random.uniform(0.1, 1)};
    const ResolvedQuery query = resolve({.weights = weights, .k = 16, .where = col("code") == 5}, *snapshot);
    EstimateAt monitor(*snapshot, query, 100);
    SearchStats stats;
    cpu::search_bounded(*snapshot, query, monitor, stats);
    estimated += monitor.leaves();
    visited += static_cast<double>(stats.leaves_visited);
  }
  EXPECT_GT(visited, 20 * 100);
  EXPECT_NEAR(estimated, visited, 0.5 * visited);
}

}  // namespace
}  // namespace culmen::test
