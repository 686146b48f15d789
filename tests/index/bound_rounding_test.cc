// Bounds of many sums at once against those of one after the other.
#include "index/bound_rounding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "index/bound_row.h"
#include "tests/index/simd_targets.h"

namespace culmen::test {
namespace {

// The ends of the floats' range, and what lies just beside and between floats.
std::vector<double> special_values() {
  std::vector<double> values;
  for (const double value : {0.0, 0x1p-1074, 0x1p-1000, 0x1p-150, 0x1p-149, 0x1p-126, 0x1p-125, 0x1p-124, 1.0,
                             1.5, 0x1.fffffep0, 0x1p100, 0x1.fffffep127, 0x1p128, HUGE_VAL})
    for (const double near : {std::nextafter(value, -HUGE_VAL), value, std::nextafter(value, HUGE_VAL),
                              value * (1 + 0x1p-25), value * (1 - 0x1p-25)})
      for (const double sign : {1.0, -1.0}) values.push_back(sign * near);
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  return values;
}

void expect_same_bounds(const std::vector<double>& maxima, const std::vector<double>& minima,
                        const std::vector<double>& errors) {
  const auto bits = [](float bound) { return std::bit_cast<std::uint32_t>(bound); };
  for_each_simd_target([&] {
    std::vector<float> upper(maxima.size(), 7), lower(maxima.size(), 7);
    round_bounds(maxima.data(), minima.data(), errors.data(), maxima.size(), upper.data(), lower.data());
    for (std::size_t i = 0; i < maxima.size(); ++i) {
      EXPECT_EQ(bits(upper[i]), bits(bound_above(maxima[i] + errors[i]))) << maxima[i] << " + " << errors[i];
      EXPECT_EQ(bits(lower[i]), bits(bound_below(minima[i] - errors[i]))) << minima[i] << " - " << errors[i];
    }
  });
}

TEST(BoundRounding, OfSpecialValuesIsThatOfEachAlone) {
  const std::vector<double> values = special_values();
  for (const double error : {0.0, 0x1p-1000, 0x1p-40}) {
    expect_same_bounds(values, values, std::vector<double>(values.size(), error));
    for (const double value : values)  // so that no other decides for it
      expect_same_bounds(std::vector<double>(9, value), std::vector<double>(9, value),
                         std::vector<double>(9, error));
  }
}

TEST(BoundRounding, OfRandomValuesIsThatOfEachAlone) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> fraction(-1, 1);
  for (int trial = 0; trial < 2000; ++trial) {
    const std::size_t count = random() % 40;
    std::vector<double> maxima, minima, errors;
    for (std::size_t i = 0; i < count; ++i) {
      const int exponent = static_cast<int>(random() % 300) - 180;
      maxima.push_back(std::ldexp(fraction(random), exponent));
      minima.push_back(std::ldexp(fraction(random), exponent));
      errors.push_back(std::ldexp(std::fabs(fraction(random)), exponent - 50));
    }
    expect_same_bounds(maxima, minima, errors);
  }
}

}  // namespace
}  // namespace culmen::test
