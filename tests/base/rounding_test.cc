#include "base/rounding.h"

#include <gtest/gtest.h>

#include "tests/generators.h"

namespace culmen::test {
namespace {

constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargestFloat = std::numeric_limits<float>::max();
constexpr float kSmallestFloat = std::numeric_limits<float>::denorm_min();

TEST(RoundUpToFloat, KeepsWhatFloatHolds) {
  for (const float value :
       {0.0f, 1.0f, -1.0f, 0.1f, kSmallestFloat, -kSmallestFloat, kLargestFloat, -kLargestFloat}) {
    EXPECT_EQ(round_up_to_float(static_cast<double>(value)), value);
    EXPECT_EQ(round_down_to_float(static_cast<double>(value)), value);
  }
}

TEST(RoundUpToFloat, GoesOutwardByOneStepAtMost) {
  Random random(1);
  for (int i = 0; i < 100'000; ++i) {
    const double value = random.sign() * random.uniform(1, 2) * std::ldexp(1.0, random.between(-160, 126));
    const float up = round_up_to_float(value), down = round_down_to_float(value);
    ASSERT_GE(static_cast<double>(up), value);
    ASSERT_LE(static_cast<double>(down), value);
    ASSERT_LT(static_cast<double>(std::nextafter(up, -kFloatInfinity)), value);
    ASSERT_GT(static_cast<double>(std::nextafter(down, kFloatInfinity)), value);
  }
}

TEST(RoundUpToFloat, TakesNumbersSmallerThanAnyFloat) {
  EXPECT_EQ(round_up_to_float(5e-324), kSmallestFloat);
  EXPECT_EQ(round_down_to_float(5e-324), 0.0f);
  EXPECT_EQ(round_up_to_float(-5e-324), 0.0f);
  EXPECT_EQ(round_down_to_float(-5e-324), -kSmallestFloat);
}

TEST(RoundUpToFloat, TakesNumbersBeyondAnyFloat) {
  EXPECT_EQ(round_up_to_float(1e300), kFloatInfinity);
  EXPECT_EQ(round_down_to_float(1e300), kLargestFloat);
  EXPECT_EQ(round_up_to_float(-1e300), -kLargestFloat);
  EXPECT_EQ(round_down_to_float(-1e300), -kFloatInfinity);
  EXPECT_EQ(round_up_to_float(std::numeric_limits<double>::infinity()), kFloatInfinity);
  EXPECT_EQ(round_up_to_float(-std::numeric_limits<double>::infinity()), -kFloatInfinity);
}

}  // namespace
}  // namespace culmen::test
