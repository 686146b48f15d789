#include "index/bound_row.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/generators.h"

namespace culmen::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Bounds of 1 to kFanOut children, of one of the shapes that occur in tables.
std::vector<float> random_bounds(Random& random) {
  std::vector<float> bounds(1 + random.below(kFanOut));
  const int shape = random.between(0, 5);
  const float size = std::ldexp(1.0F, random.between(-100, 90));
  for (float& bound : bounds) {
    const auto unit = static_cast<float>(random.between(-1'000'000, 1'000'000)) * 1e-6F;
    bound = shape == 0   ? unit * size
            : shape == 1 ? unit * unit * unit * unit * size            // near the middle
            : shape == 2 ? size + unit * size * 1e-6F                  // far from zero, close together
            : shape == 3 ? static_cast<float>(random.between(1, 5))    // few values
            : shape == 4 ? std::ldexp(unit, random.between(-140, 90))  // of any size
                         : std::exp(unit * 20) * std::copysign(size, unit);
  }
  if (random.below(4) == 0) bounds[random.below(bounds.size())] *= 1000;  // an outlier
  return bounds;
}

double outward(float bound, Extreme extreme) {
  return extreme == Extreme::maximum ? bound : -static_cast<double>(bound);
}

bool is_outlier(const BoundRow& row, std::uint32_t child) {
  return row.codes[child] == BoundScale::kOutlier;
}

TEST(BoundRow, CoversEachBoundByLessThanOneStepOfItsCode) {
  Random random(1);
  int rows_with_outliers = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    const std::vector<float> bounds = random_bounds(random);
    const Extreme extreme = trial % 2 == 0 ? Extreme::maximum : Extreme::minimum;
    BoundRow row;
    row.encode(bounds, extreme);
    const double base = outward(row.base, extreme), least = std::fabs(row.signed_least());
    double highest = -HUGE_VAL, lowest = HUGE_VAL, top = -HUGE_VAL;  // highest without outliers
    std::uint32_t num_outliers = 0;
    for (std::uint32_t c = 0; c < bounds.size(); ++c) {
      top = std::max(top, outward(bounds[c], extreme));
      lowest = std::min(lowest, outward(bounds[c], extreme));
      num_outliers += is_outlier(row, c) ? 1 : 0;
      if (!is_outlier(row, c)) highest = std::max(highest, outward(bounds[c], extreme));
    }
    const double finest = std::max(0x1p-21 * std::fabs(highest), 0x1p-126);
    EXPECT_GE(base, highest);
    EXPECT_LE(base - highest, std::max(least / 2048, finest));
    EXPECT_LE(least, std::max((highest - lowest) / (row.is_linear() ? 127 : 1984), finest));
    for (std::uint32_t c = 0; c < bounds.size(); ++c) {
      const double coded = outward(row[c], extreme), exact = outward(bounds[c], extreme);
      ASSERT_GE(coded, exact);
      const double step = row.is_linear() ? least : std::max(least, (base - exact) / 32);
      if (!is_outlier(row, c)) {
        ASSERT_LE(coded - exact, step) << "trial " << trial << ", child " << c;
      }
    }
    if (num_outliers == 0) continue;
    ++rows_with_outliers;
    EXPECT_LE(4 * num_outliers, bounds.size() + 3);
    EXPECT_LE(highest - lowest, (top - lowest) * 0x1p-10);
    EXPECT_LE(outward(row.bound_of_outliers(), extreme) - top, (top - base) * 0x1p-13);
  }
  EXPECT_GT(rows_with_outliers, 100);
}

TEST(BoundRow, KeepsTheOthersApartFromOutliers) {
  std::vector<float> bounds;
  for (int c = 0; c < kFanOut; ++c) bounds.push_back(static_cast<float>(c));
  BoundRow plain, row;
  plain.encode(bounds, Extreme::maximum);
  bounds[5] = 9e8F;
  bounds[9] = 1e9F;
  row.encode(bounds, Extreme::maximum);
  for (std::uint32_t c = 0; c < kFanOut; ++c)
    EXPECT_EQ(row[c], c == 5 || c == 9 ? row.bound_of_outliers() : plain[c]) << "child " << c;
  EXPECT_GE(row[9], 1e9F);
  EXPECT_LE(row[9], 1.0001e9F);
}

TEST(BoundRow, IsLinearWhereMostAreAtTheFarEndAndTooManyAreNot) {
  std::vector<float> bounds(9, 1000);
  for (int c = 9; c < kFanOut; ++c) bounds.push_back(static_cast<float>(c));
  BoundRow row;
  row.encode(bounds, Extreme::maximum);
  EXPECT_TRUE(row.is_linear());
  for (std::uint32_t c = 9; c < kFanOut; ++c) EXPECT_LE(row[c] - bounds[c], 4);
  row.encode(std::vector<float>{5, 4, 3, 2, 1}, Extreme::maximum);
  EXPECT_FALSE(row.is_linear());
}

TEST(BoundRow, IsAsBeforeOnceAnOutlierHasGone) {
  Random random(5);
  for (int trial = 0; trial < 2000; ++trial) {
    const Extreme extreme = trial % 2 == 0 ? Extreme::maximum : Extreme::minimum;
    const double sign = extreme == Extreme::maximum ? 1 : -1;
    std::vector<float> bounds(kFanOut);
    for (float& bound : bounds) bound = static_cast<float>(random.between(-1000, 1000)) * 0.37F;
    BoundRow row;
    row.encode(bounds, extreme);
    const BoundRow before = row;
    for (int step = 0; step < 50; ++step) {
      const std::uint32_t changed[] = {static_cast<std::uint32_t>(random.below(kFanOut)),
                                       static_cast<std::uint32_t>(random.below(kFanOut))};
      for (const std::uint32_t child : changed) {
        const float outlier = step % 10 == 0 ? HUGE_VALF : std::ldexp(1.0F, random.between(13, 100));
        row.set(child, static_cast<float>(sign) * outlier, kFanOut, extreme);
        ASSERT_GE(outward(row[child], extreme), outlier);
      }
      for (std::uint32_t c = 0; c < kFanOut; ++c)
        if (c != changed[0] && c != changed[1]) {
          ASSERT_EQ(row[c], before[c]) << "trial " << trial;
        }
      for (const std::uint32_t child : changed) row.set(child, bounds[child], kFanOut, extreme);
      for (std::uint32_t c = 0; c < kFanOut; ++c) ASSERT_EQ(row[c], before[c]) << "trial " << trial;
    }
  }
}

// A bound that moves out, not far enough for an outlier, and in again.
TEST(BoundRow, IsCoarseOnceAChildHasMovedInAndNotAfterItIsCodedAgain) {
  Random random(8);
  for (const Extreme extreme : {Extreme::maximum, Extreme::minimum}) {
    const float sign = extreme == Extreme::maximum ? 1 : -1;
    std::vector<float> bounds(kFanOut);
    for (float& bound : bounds) bound = sign * static_cast<float>(random.uniform(0, 0.5));
    BoundRow row;
    row.encode(bounds, extreme);
    EXPECT_FALSE(row.is_coarse(kFanOut));
    for (const float far : {1.75F, -1.75F}) {
      const auto child = static_cast<std::uint32_t>(random.below(kFanOut));
      EXPECT_TRUE(row.set(child, sign * far, kFanOut, extreme));
      EXPECT_FALSE(row.is_coarse(kFanOut));
      EXPECT_TRUE(row.set(child, bounds[child], kFanOut, extreme));
      EXPECT_EQ(row.is_coarse(kFanOut), far > 0);
      row.encode(bounds, extreme);
      EXPECT_FALSE(row.is_coarse(kFanOut));
    }
  }
}

// So a bound may equal the score that it covers.
TEST(BoundRow, KeepsMultiplesOfAPowerOfTwo) {
  Random random(2);
  for (int trial = 0; trial < 20'000; ++trial) {
    const double quantum = std::ldexp(1.0, random.between(-60, 20));
    const int largest = random.pick({3, 60, 1000, 100'000, 10'000'000});
    std::vector<float> bounds(1 + random.below(kFanOut));
    for (float& bound : bounds) bound = static_cast<float>(quantum * random.between(-largest, largest));
    const Extreme extreme = trial % 2 == 0 ? Extreme::maximum : Extreme::minimum;
    BoundRow row;
    row.encode(bounds, extreme);
    for (int step = 0; step < 20; ++step) {
      for (std::uint32_t c = 0; c < bounds.size(); ++c) {
        const double multiple = static_cast<double>(row[c]) / quantum;
        ASSERT_EQ(multiple, std::round(multiple)) << "trial " << trial;
        if (largest <= 3) {
          ASSERT_EQ(row[c], bounds[c]);
        }
      }
      const auto changed = static_cast<std::uint32_t>(random.below(bounds.size()));
      bounds[changed] = static_cast<float>(quantum * random.between(-largest, largest));
      row.set(changed, bounds[changed], static_cast<std::uint32_t>(bounds.size()), extreme);
    }
  }
}

TEST(BoundRow, CoversWhatIsSetAndWhatWasThere) {
  Random random(3);
  for (int trial = 0; trial < 5'000; ++trial) {
    std::vector<float> bounds = random_bounds(random);
    const Extreme extreme = trial % 2 == 0 ? Extreme::maximum : Extreme::minimum;
    BoundRow row;
    row.encode(bounds, extreme);
    for (int step = 0; step < 30; ++step) {
      const auto changed = static_cast<std::uint32_t>(random.below(bounds.size()));
      bounds[changed] = random_bounds(random).front();
      if (random.below(20) == 0) bounds[changed] = kInfinity;
      row.set(changed, bounds[changed], static_cast<std::uint32_t>(bounds.size()), extreme);
      for (std::uint32_t c = 0; c < bounds.size(); ++c)
        ASSERT_GE(outward(row[c], extreme), outward(bounds[c], extreme)) << "trial " << trial;
    }
  }
}

// A column that rises with every inserted row.
TEST(BoundRow, LetsTheOthersStayWhereTheyAreWhileOneRises) {
  for (const float rise : {1e-6F, 1e-3F, 0.37F}) {
    std::vector<float> bounds;
    for (int c = 0; c < kFanOut; ++c) bounds.push_back(static_cast<float>(c) / kFanOut);
    BoundRow row;
    row.encode(bounds, Extreme::maximum);
    for (int step = 0; step < 20'000; ++step) {
      bounds[31] += rise;
      row.set(31, bounds[31], kFanOut, Extreme::maximum);
    }
    for (std::uint32_t c = 0; c < kFanOut; ++c)
      EXPECT_LE(row[c] - bounds[c], bounds[31] / 16) << "child " << c << ", rise " << rise;
  }
}

TEST(BoundRow, IsInfiniteOnlyWhereABoundIs) {
  BoundRow row;
  row.encode(std::vector<float>{1, kInfinity, -3}, Extreme::maximum);
  EXPECT_EQ(row[0], 1);
  EXPECT_EQ(row[1], kInfinity);
  EXPECT_EQ(row[2], -3);
  row.set(1, 5, 3, Extreme::maximum);
  EXPECT_EQ(row[1], 5);
  row.encode(std::vector<float>{kInfinity, kInfinity, -3}, Extreme::maximum);
  EXPECT_EQ(row[0], kInfinity);
  EXPECT_EQ(row[2], -3);
  row.encode(std::vector<float>{-kInfinity, -kInfinity}, Extreme::minimum);
  EXPECT_EQ(row[0], -kInfinity);
  row.set(0, 7, 2, Extreme::minimum);
  EXPECT_LE(row[0], 7);
  EXPECT_EQ(row[1], -kInfinity);
}

TEST(BoundAbove, IsTheNextFloat) {
  Random random(4);
  for (int trial = 0; trial < 100'000; ++trial) {
    const double value = std::ldexp(static_cast<double>(random.between(-1'000'000'000, 1'000'000'000)) * 1e-9,
                                    random.between(-160, 100));
    const float above = bound_above(value), below = bound_below(value);
    ASSERT_GE(static_cast<double>(above), value);
    ASSERT_LE(static_cast<double>(below), value);
    ASSERT_LT(static_cast<double>(std::nextafter(above, -kInfinity)), value);
    ASSERT_GT(static_cast<double>(std::nextafter(below, kInfinity)), value);
  }
  EXPECT_EQ(bound_above(0x1.000002p0), 0x1.000002p0F);
  EXPECT_EQ(bound_above(0x1p100), 0x1p100F);
  EXPECT_EQ(bound_above(0x1.1p100), kInfinity);
  EXPECT_EQ(bound_below(-1e300), -kInfinity);
  EXPECT_EQ(bound_above(-1e300), -0x1p100F);
  EXPECT_EQ(bound_above(std::numeric_limits<double>::quiet_NaN()), kInfinity);
  EXPECT_EQ(bound_below(std::numeric_limits<double>::quiet_NaN()), -kInfinity);
  EXPECT_FALSE(std::signbit(bound_above(-0.0)));
  EXPECT_FALSE(std::signbit(bound_below(-0.0)));
}

}  // namespace
}  // namespace culmen::test
