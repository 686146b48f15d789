// The SIMD kernels, target by target, against plain code.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "cpu/simd/kernels.h"
#include "culmen/error.h"
#include "index/snapshot.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

ResolvedQuery plain_query(Random& random, int num_attributes) {
  ResolvedQuery query;
  query.offset = random.chance(0.5) ? 0 : random.uniform(-1, 1);
  for (std::int32_t i = 0; i < num_attributes; ++i)
    if (random.chance(0.8)) query.terms.push_back({i, random.uniform(-1, 1)});
  if (random.chance(0.5)) query.where.push_back({0, random.uniform(-1, 0), random.uniform(0, 1)});
  return query;
}

template <typename T>
void expect_scores_of_plain_code(Random& random) {
  for (const std::size_t stride : {16, 48, 64, 128}) {
    for (std::uint32_t num_rows = 1; num_rows <= stride; num_rows += num_rows % 5 == 0 ? 3 : 1) {
      constexpr int kAttributes = 5;
      std::vector<T> values(kAttributes * stride);
      for (T& value : values) value = static_cast<T>(random.uniform(-1, 1));
      const ResolvedQuery query = plain_query(random, kAttributes);
      const double floor =
          random.chance(0.5) ? -std::numeric_limits<double>::infinity() : random.uniform(-1, 1);
      constexpr double kPoison = -12345;
      std::vector<simd::ScoredRow> found(num_rows + 1, {kPoison, 77});
      const std::size_t count = simd::score_rows(values.data(), stride, num_rows, query, floor, found.data());
      std::size_t expected = 0;
      for (std::uint32_t r = 0; r < num_rows; ++r) {
        const auto value_of = [&](int attribute) {
          return values[static_cast<std::size_t>(attribute) * stride + r];
        };
        const double wanted = score(query.score_terms(), query.offset, value_of);
        if (!(wanted >= floor)) continue;
        if (!query.where.empty() &&
            !(value_of(0) >= query.where[0].minimum && value_of(0) <= query.where[0].maximum))
          continue;
        ASSERT_LT(expected, count);
        EXPECT_EQ(found[expected].row, r);
        EXPECT_EQ(std::bit_cast<std::uint64_t>(found[expected].score), std::bit_cast<std::uint64_t>(wanted));
        ++expected;
      }
      EXPECT_EQ(count, expected);
      EXPECT_EQ(found[num_rows].score, kPoison) << "written behind the last row";
    }
  }
}

TEST(Kernels, ScoreRowsAsPlainCodeDoesOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(1);
    expect_scores_of_plain_code<float>(random);
    expect_scores_of_plain_code<double>(random);
  }
}

TEST(Kernels, ComputeABoundForEachChildOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(2);
    std::vector<BoundRow> bounds(7);
    for (BoundRow& row : bounds) {
      std::vector<float> values(kFanOut);
      for (float& value : values) value = static_cast<float>(random.between(-100, 100));
      row.encode(values, random.chance(0.5) ? Extreme::maximum : Extreme::minimum);
    }
    BoundPlan plan;
    plan.base = 3;
    for (const std::int32_t row : {6, 0, 3})
      plan.terms.push_back({row, static_cast<double>(random.between(-8, 8))});
    double found[kFanOut];
    simd::child_bounds(bounds.data(), plan.base, plan.terms, found);
    for (std::uint32_t c = 0; c < kFanOut; ++c) {
      double wanted = plan.base;
      for (const BoundTerm& term : plan.terms)
        wanted += term.coefficient * static_cast<double>(bounds[static_cast<std::size_t>(term.row)][c]);
      EXPECT_EQ(found[c], wanted);  // few bits: any order is exact
    }
  }
}

TEST(Kernels, ReadEveryCodeAsPlainCodeDoesOnEveryTarget) {
  BoundPlan plan;
  plan.base = 2;
  plan.terms.push_back({0, 3});
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    for (const bool is_linear : {false, true})
      for (const Extreme extreme : {Extreme::maximum, Extreme::minimum})
        for (const double least : {0.0, 0x1p-126, 0x1p-3, 0x1p90}) {
          constexpr float gap = 0x1.2p40F;
          BoundRow row;
          row.set_scale({7, least, is_linear, gap}, extreme);
          for (std::uint32_t first = 0; first < 256; first += kFanOut) {
            for (std::uint32_t c = 0; c < kFanOut; ++c) row.codes[c] = static_cast<std::uint8_t>(first + c);
            double found[kFanOut];
            simd::child_bounds(&row, plan.base, plan.terms, found);
            for (std::uint32_t c = 0; c < kFanOut; ++c) {
              const double sign = extreme == Extreme::maximum ? 1 : -1;
              const double inward = row.codes[c] == BoundScale::kOutlier
                                        ? -static_cast<double>(gap)
                                        : least * BoundScale::steps_of(row.codes[c], is_linear);
              ASSERT_EQ(found[c], 2 + 3 * sign * static_cast<double>(static_cast<float>(7 - inward)))
                  << target << ", code " << first + c;
            }
          }
        }
  }
}

TEST(Kernels, FindTheHighestChildrenOnEveryTarget) {
  for (const std::string& target : simd::available_targets()) {
    const ForcedTarget forced(target);
    Random random(3);
    for (int trial = 0; trial < 1000; ++trial) {
      std::array<double, kFanOut> bounds;
      const int spread = random.pick({0, 1, 5, 1000});
      for (double& bound : bounds) bound = random.between(-spread, spread);
      if (trial % 10 == 0) bounds.fill(-std::numeric_limits<double>::infinity());
      if (trial % 3 == 0) bounds[random.below(kFanOut)] = std::numeric_limits<double>::infinity();
      const double wanted = *std::max_element(bounds.begin(), bounds.end());
      double highest = 0;
      const std::uint64_t children = simd::highest_children(bounds.data(), highest);
      EXPECT_EQ(highest, wanted);
      for (std::size_t c = 0; c < kFanOut; ++c) EXPECT_EQ((children >> c & 1) != 0, bounds[c] == wanted) << c;
      EXPECT_EQ(children >> kFanOut, 0u);
    }
  }
}

TEST(Kernels, HaveTheFastestTargetFirstAndAPlainOneToo) {
  const std::vector<std::string> targets = simd::available_targets();
  ASSERT_FALSE(targets.empty());
  simd::force_target("");
  EXPECT_EQ(simd::current_target(), targets.front());
}

TEST(Kernels, RefuseATargetThatIsNotThere) {
  EXPECT_THROW(simd::force_target("Z80"), InvalidArgument);
  EXPECT_EQ(simd::current_target(), simd::available_targets().front());
}

}  // namespace
}  // namespace culmen::test
