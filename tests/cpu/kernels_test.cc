// The SIMD kernels, target by target, against plain code.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

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
    std::vector<float> bounds(7 * kFanOut);
    for (float& bound : bounds) bound = static_cast<float>(random.between(-100, 100));
    BoundPlan plan;
    plan.base = 3;
    for (const std::int32_t row : {6, 0, 3})
      plan.terms.push_back({row, static_cast<double>(random.between(-8, 8))});
    double found[kFanOut];
    simd::child_bounds(bounds.data(), plan, found);
    for (std::size_t c = 0; c < kFanOut; ++c) {
      double wanted = plan.base;
      for (const BoundTerm& term : plan.terms)
        wanted +=
            term.coefficient * static_cast<double>(bounds[static_cast<std::size_t>(term.row) * kFanOut + c]);
      EXPECT_EQ(found[c], wanted);  // small integers: any order is exact
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
  const std::string before = simd::current_target();
  EXPECT_THROW(simd::force_target("Z80"), InvalidArgument);
  EXPECT_EQ(simd::current_target(), simd::available_targets().front());
  static_cast<void>(before);
}

}  // namespace
}  // namespace culmen::test
