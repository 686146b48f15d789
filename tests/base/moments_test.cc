// Mean and deviation against their definitions in numbers of 9,000 bits, which hold every sum here exactly.
#include "base/moments.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/cases.h"

namespace culmen {
namespace {

namespace mp = boost::multiprecision;
using Exact = mp::number<mp::cpp_bin_float<9000, mp::digit_base_2>, mp::et_off>;

constexpr double kMax = std::numeric_limits<double>::max(), kLeast = 0x1p-1074;

Exact mean_of(const std::vector<double>& values) {
  Exact sum = 0;
  for (const double value : values) sum += value;
  return sum / values.size();
}

Exact deviation_of(const std::vector<double>& values) {
  Exact sum = 0, squares = 0;
  for (const double value : values) {
    sum += value;
    squares += Exact(value) * value;
  }
  return sqrt(squares * values.size() - sum * sum) / values.size();
}

// Whether no float64 is nearer.
bool is_nearest(double rounded, const Exact& exact) {
  const auto distance = [&](double value) { return Exact(abs(Exact(value) - exact)); };
  return std::isfinite(rounded) && distance(rounded) <= distance(std::nextafter(rounded, kMax)) &&
         distance(rounded) <= distance(std::nextafter(rounded, -kMax));
}

Moments moments_of(const std::vector<double>& values) {
  Moments moments;
  for (const double value : values) moments.add(value);
  return moments;
}

std::vector<double> random_values(std::mt19937_64& random) {
  std::vector<double> values(1 + random() % 40);
  const int kind = static_cast<int>(random() % 6);
  for (double& value : values) {
    const double part = static_cast<double>(random() >> 11) * 0x1p-53;  // 0..1
    if (kind == 0) value = std::round(part * 10);
    if (kind == 1) value = part - 0.5;
    if (kind == 2) value = std::ldexp(part - 0.5, static_cast<int>(random() % 2000) - 1000);
    if (kind == 3) value = 1e9 + part * 1e-6;                        // nearly constant
    if (kind == 4) value = random() % 2 == 0 ? kMax : -kMax * part;  // the squares overflow
    if (kind == 5) value = kLeast * std::round(part * 5 - 2);        // they underflow
  }
  return values;
}

TEST(Moments, HaveTheNearestMeanAndDeviation) {
  for (std::uint64_t seed = 0; seed < test::num_cases(600); ++seed) {
    std::mt19937_64 random(seed);
    const std::vector<double> values = random_values(random);
    const Moments moments = moments_of(values);
    EXPECT_EQ(moments.count(), values.size());
    EXPECT_TRUE(is_nearest(moments.mean(), mean_of(values))) << "seed " << seed;
    EXPECT_TRUE(is_nearest(moments.deviation(), deviation_of(values))) << "seed " << seed;
  }
}

TEST(Moments, AreOfTheNumbersAlone) {
  for (std::uint64_t seed = 0; seed < test::num_cases(300); ++seed) {
    std::mt19937_64 random(seed);
    std::vector<double> values = random_values(random);
    const std::vector<double> others = random_values(random);
    const Moments once = moments_of(values);
    std::ranges::shuffle(values, random);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(random() % values.size());
    Moments parts = moments_of({values.begin(), middle});
    parts.add(moments_of({middle, values.end()}));
    parts.add(moments_of(others));
    for (const double value : others) parts.remove(value);
    EXPECT_EQ(parts.words(), once.words()) << "seed " << seed;
    EXPECT_EQ(parts.mean(), once.mean());
    EXPECT_EQ(parts.deviation(), once.deviation());
  }
}

TEST(Moments, OfNoNumbersAndOfEqualOnesAreZero) {
  Moments none;
  EXPECT_EQ(none.mean(), 0);
  EXPECT_EQ(none.deviation(), 0);
  EXPECT_TRUE(none.words().empty());
  none.add(0.1);
  none.remove(0.1);
  EXPECT_TRUE(none.words().empty());
  for (const double value : {0.0, 0.1, -7.0, kMax, -kMax, kLeast}) {
    const Moments equal = moments_of({value, value, value});
    EXPECT_EQ(equal.mean(), value);
    EXPECT_EQ(equal.deviation(), 0);
  }
  EXPECT_EQ(moments_of({kMax, -kMax}).deviation(), kMax);
  EXPECT_EQ(moments_of({2, 4, 4, 4, 5, 5, 7, 9}).deviation(), 2);
}

TEST(Moments, AreRoundedToEvenIfTwoAreAsNear) {
  constexpr double kStep = 0x1p-52;
  EXPECT_EQ(moments_of({1, 1 + kStep}).mean(), 1);
  EXPECT_EQ(moments_of({1 + kStep, 1 + 2 * kStep}).mean(), 1 + 2 * kStep);
  EXPECT_EQ(moments_of({0.5, -0.5 - kStep / 2}).deviation(), 0.5);
  EXPECT_EQ(moments_of({1, -(kStep / 2)}).deviation(), 0.5);
  EXPECT_EQ(moments_of({1, -(kStep / 2 + 0x1p-100)}).deviation(), 0.5 + kStep / 2);  // more than half a step
}

TEST(Moments, HaveTheirWordsInOneOrder) {
  std::vector<std::uint64_t> words = moments_of({1, 2}).words();
  std::swap_ranges(words.begin() + 1, words.begin() + 8, words.begin() + 8);
  EXPECT_FALSE(Moments::of_words(words).has_value());
}

TEST(Moments, ComeBackFromTheirWords) {
  for (std::uint64_t seed = 0; seed < test::num_cases(300); ++seed) {
    std::mt19937_64 random(seed);
    const Moments moments = moments_of(random_values(random));
    std::vector<std::uint64_t> words = moments.words();
    const std::optional<Moments> back = Moments::of_words(words);
    ASSERT_TRUE(back.has_value());
    EXPECT_EQ(back->words(), words);
    EXPECT_EQ(back->deviation(), moments.deviation());
    // Whatever others send: nothing overflows, no loop is endless.
    words[random() % words.size()] ^= std::uint64_t{1} << random() % 64;
    if (const std::optional<Moments> damaged = Moments::of_words(words)) {
      static_cast<void>(damaged->mean());
      EXPECT_GE(damaged->deviation(), 0);
    }
    words.pop_back();
    EXPECT_TRUE(words.empty() || !Moments::of_words(words).has_value());
  }
}

}  // namespace
}  // namespace culmen
