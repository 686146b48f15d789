#include "planner/cost_model.h"

#include <gtest/gtest.h>

#include "planner/speed_factor.h"

namespace culmen::test {
namespace {

// As a scan of `rows` in order would do.
Work scan_work(double rows, double k) {
  return {.leaves = rows / 96,
          .values = rows * 8,
          .bytes = rows * 32,
          .span = rows * 32,
          .candidates = k + expected_replacements(k, rows),
          .replacements = expected_replacements(k, rows),
          .hits = k};
}

TEST(CostModel, RisesWithRowsAndWithK) {
  const CostsNs costs;
  double before_bounded = 0, before_scan = 0;
  for (const double rows : {1e3, 1e4, 1e5, 1e6, 1e7, 1e8}) {
    const double bounded = bounded_us(scan_work(rows, 10), costs);
    const double scan = scan_us(scan_work(rows, 10), costs, 2);
    EXPECT_GT(bounded, before_bounded) << rows;
    EXPECT_GT(scan, before_scan) << rows;
    before_bounded = bounded;
    before_scan = scan;
  }
  for (const double k : {10.0, 100.0, 1e3, 1e4, 1e5}) {
    EXPECT_GT(bounded_us(scan_work(1e6, k), costs), bounded_us(scan_work(1e6, k / 10), costs)) << k;
    EXPECT_GT(scan_us(scan_work(1e6, k), costs, 2), scan_us(scan_work(1e6, k / 10), costs, 2)) << k;
  }
}

TEST(CostModel, EachCostCountsSomewhere) {
  const Work work = {.nodes = 1e5,
                     .rows = 8e5,
                     .ranges = 1e5,
                     .leaves = 1e5,
                     .leaves_tied_out = 1e5,
                     .values = 8e7,
                     .codes = 8e7,
                     .bytes = 3.2e8,
                     .span = 3.2e8,
                     .candidates = 1e6,
                     .replacements = 1e5,
                     .hits = 1e3};
  Work large = work;  // with a heap, and without
  large.hits = 1e5;
  const auto total = [&](const CostsNs& costs) {
    return bounded_us(work, costs) + scan_us(work, costs, 2) + scan_us(large, costs, 2);
  };
  for (double CostsNs::*cost :
       {&CostsNs::search,    &CostsNs::node,      &CostsNs::row,         &CostsNs::far_row,
        &CostsNs::range,     &CostsNs::leaf,      &CostsNs::tied,        &CostsNs::value,
        &CostsNs::code,      &CostsNs::candidate, &CostsNs::replacement, &CostsNs::buffered,
        &CostsNs::hit,       &CostsNs::share,     &CostsNs::fork,        &CostsNs::merge,
        &CostsNs::scan_leaf, &CostsNs::far_leaf,  &CostsNs::far_kb,      &CostsNs::stream_leaf,
        &CostsNs::stream_kb}) {
    CostsNs dearer;
    dearer.*cost *= 1.5;
    EXPECT_GT(total(dearer), total({}) + 0.1);
  }
}

TEST(CostModel, ReadingCostsNothingWhereItFitsACacheAndAllWhereNoneHoldsIt) {
  const auto reading = [](double span) {
    Work work = scan_work(1e5, 1);
    work.span = span;
    Work here = work;
    here.span = 1;
    return bounded_us(work, {}) - bounded_us(here, {});
  };
  constexpr double kMb = 1 << 20;
  EXPECT_EQ(reading(kMb), 0);
  EXPECT_NEAR(reading(8 * kMb), reading(64 * kMb) / 2, 1e-6);
  EXPECT_EQ(reading(1e12), reading(64 * kMb));
}

TEST(CostModel, LetsOneThreadDoWhatIsNotWorthTheOthersComing) {
  CostsNs costs;
  costs.fork = 1e12;
  const Work work = scan_work(1e6, 10);
  EXPECT_EQ(scan_us(work, costs, 2), scan_us(work, costs, 1));
  EXPECT_LT(scan_us(work, {}, 2), scan_us(work, {}, 1));
}

// Within limits that no processor exceeds. bench/planner measures how well it predicts.
TEST(SpeedFactor, IsWithinReason) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(speed_factor(), 0.1);
    EXPECT_LE(speed_factor(), 10);
  }
}

}  // namespace
}  // namespace culmen::test
