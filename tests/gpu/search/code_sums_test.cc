// Bounds by code sums, as kernels compute them, beside scores. Runs without a GPU.
//
// CULMEN_TEST_CASES=N    so many rows
// CULMEN_TEST_SEED=N     one row again
#include "gpu/search/code_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "index/score.h"
#include "query/code_bound.h"
#include "tests/cases.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

struct CodedAttribute {
  double weight, minimum, maximum, value;

  std::int32_t code() const { return code_of(value, minimum, 1 / code_step(minimum, maximum)); }
};

// A row of a leaf, and a query to it.
struct Case {
  double offset = 0;
  std::vector<CodedAttribute> attributes;
  int leaf_of_table = 10;  // by how many powers of two the range of the table is larger

  double score() const {
    double score = offset;
    for (const CodedAttribute& of : attributes)
      if (of.weight != 0) score = score_step(score, of.weight, of.value);
    return score_finish(score);
  }

  // As LeafCodeSums::may_reach, for this row alone.
  bool may_reach(double kth_score) const {
    const double scale = key_scale();
    for (const CodedAttribute& of : attributes)
      if (!gpu::can_scale(of.weight, scale)) return true;
    std::vector<gpu::CodePart> parts;
    float base = 0, largest = 0;
    for (const CodedAttribute& of : attributes) {
      parts.push_back(of.weight == 0 ? gpu::CodePart()
                                     : gpu::code_part(of.weight * scale, of.minimum, of.maximum));
      base += parts.back().base;
      largest = std::max(largest, std::fabs(parts.back().step));
    }
    if (!gpu::has_code_sums(largest)) return true;
    const float per_score = gpu::codes_per_score(largest);
    std::int32_t sum = 0;
    for (std::size_t a = 0; a < attributes.size(); ++a) {
      if (attributes[a].weight == 0) continue;
      const std::int32_t weight = gpu::code_weight(parts[a].step, per_score);
      EXPECT_GE(weight, -127);
      EXPECT_LE(weight, 127);
      sum += weight * attributes[a].code();
    }
    return sum >= gpu::least_code_sum(kth_score * scale, base, offset * scale, per_score);
  }

  // As a CodeTable does, for this row alone.
  double bound() const {
    CodeParts parts;
    parts.add_offset(offset);
    std::size_t num_terms = 0;
    for (const CodedAttribute& of : attributes) {
      if (of.weight == 0) continue;
      parts.add(of.weight, of.minimum, of.maximum);
      ++num_terms;
    }
    const CodeScale scale(parts, std::max<std::size_t>(num_terms, 1));
    if (!scale.has_bound()) return std::numeric_limits<double>::infinity();
    CodeSums<std::uint32_t> sums;
    for (const CodedAttribute& of : attributes) {
      if (of.weight == 0) continue;
      const auto code = static_cast<std::uint32_t>(of.code());
      sums.add(code * 0x1111'1111u, of.weight < 0, scale.weight_in_sums(of.weight, of.minimum, of.maximum));
    }
    // The same code eight times: a carry would show.
    for (const std::uint32_t sum : sums.sums) EXPECT_EQ(sum & 0xffff, sum >> 16);
    return scale.bound(sums.highest());
  }

  // A power of two, as pack_query() makes it of the whole table: here of a range that is up to some thousand times the leaf's.
  double key_scale() const {
    double magnitude = 0;
    for (const CodedAttribute& of : attributes) magnitude += std::fabs(of.weight) * (of.maximum - of.minimum);
    const int exponent = std::clamp(std::ilogb(magnitude), -2000, 2000) + leaf_of_table;
    return std::exp2(-std::clamp(exponent, -1000, 1000));
  }

  double uncertainty() const {
    double sum = 0;
    for (const CodedAttribute& of : attributes) sum += std::fabs(of.weight) * (of.maximum - of.minimum) / 16;
    return sum;
  }
};

double random_magnitude(Random& random) {
  return random.chance(0.7) ? random.uniform(0.1, 10) : std::exp2(random.uniform(-120, 120));
}

// In the range: anywhere, at an end, or at and around the edge of a code.
double random_value(Random& random, double minimum, double maximum) {
  double value = random.uniform(minimum, maximum);
  if (random.chance(0.2)) value = random.pick({minimum, maximum});
  if (random.chance(0.4)) value = minimum + code_step(minimum, maximum) * random.between(0, 16);
  if (random.chance(0.3))
    value = std::nextafter(value, random.sign() * std::numeric_limits<double>::infinity());
  return std::clamp(value, minimum, maximum);
}

Case random_case(Random& random) {
  Case c;
  if (random.chance(0.2)) c.offset = random.sign() * random_magnitude(random);
  const int d = random.between(1, 32);
  const double scale = random_magnitude(random);
  // Weights of any exponent, also so small that they, and scores, have few digits.
  const int exponent = random.chance(0.7) ? 0 : random.between(-1074, 900);
  c.leaf_of_table = random.pick({0, 10, 10, 100, 1000});
  c.offset = std::ldexp(c.offset, exponent);
  const bool begin_at_0 = random.chance(0.2);  // then bases are small, and roundings of steps show
  for (int a = 0; a < d; ++a) {
    const double middle =
        begin_at_0 ? 0 : random.sign() * (random.chance(0.2) ? 1e6 : 1) * scale * random_magnitude(random);
    const double range = random.chance(0.1) ? 0 : scale * random_magnitude(random);
    double weight = random.chance(0.2) ? 0 : random.sign() * random_magnitude(random);
    weight = std::ldexp(weight, random.chance(0.05) ? -random.between(0, 1074) : exponent);
    const int large = random.chance(0.05) ? random.between(0, 800) : 0;  // values, and so small weights
    weight = std::ldexp(weight, -large);
    const double minimum = std::ldexp(middle, large), maximum = minimum + std::ldexp(range, large);
    c.attributes.push_back({weight, minimum, maximum, random_value(random, minimum, maximum)});
  }
  return c;
}

TEST(CodeSums, ExcludeNoRowThatReachesTheKthScore) {
  constexpr std::uint64_t kDefaultCases = 100'000;
  std::uint64_t num_excluded = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultCases); ++seed) {
    if (only_seed() != 0 && only_seed() != seed) continue;
    Random random(seed);
    const Case c = random_case(random);
    const double score = c.score();
    ASSERT_TRUE(c.may_reach(score)) << "seed " << seed;
    ASSERT_TRUE(c.may_reach(score - random.unit() * c.uncertainty())) << "seed " << seed;
    num_excluded += c.may_reach(score + 4 * c.uncertainty()) ? 0 : 1;
  }
  if (ran_all_cases(kDefaultCases)) {
    EXPECT_GT(num_excluded, kDefaultCases / 4);
  }
}

TEST(CodeBounds, AreNeverBelowAScore) {
  std::uint64_t num_tight = 0;
  constexpr std::uint64_t kDefaultCases = 100'000;
  for (std::uint64_t seed = 1; seed <= num_cases(kDefaultCases); ++seed) {
    if (only_seed() != 0 && only_seed() != seed) continue;
    Random random(seed);
    const Case c = random_case(random);
    ASSERT_GE(c.bound(), c.score()) << "seed " << seed;
    num_tight += c.bound() <= c.score() + 1.5 * c.uncertainty() ? 1 : 0;
  }
  if (ran_all_cases(kDefaultCases)) {
    EXPECT_GT(num_tight, kDefaultCases / 2);
  }
}

TEST(CodeSums, LeaveRowsWhereNumbersAreTooSmallOrTooLarge) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double most = std::numeric_limits<double>::max();
  for (const Case& c : {Case{0, {{0, 0, 1, 0.5}}}, Case{0, {{1, -most, most, 0}}},
                        Case{most, {{1, 0, most, 1}, {1, 0, 1, 1}}}, Case{1e30, {{1, 0, 1, 1}}}})
    EXPECT_TRUE(c.may_reach(c.score()));
  EXPECT_TRUE((Case{0, {{1e-300, 0, 1, 0.5}}}).may_reach(1e-290));
  for (const double scale : {1e-250, 1e-30, 1.0, 1e30, 1e250}) {
    const Case usual = {0, {{scale, 0, 1, 0.5}}};
    EXPECT_TRUE(usual.may_reach(-kInfinity));
    EXPECT_TRUE(usual.may_reach(0.5 * scale));
    EXPECT_FALSE(usual.may_reach(0.6 * scale));
    EXPECT_FALSE(usual.may_reach(1e10 * scale));
  }
}

}  // namespace
}  // namespace culmen::test
