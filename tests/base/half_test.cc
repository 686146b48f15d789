#include "base/half.h"

#include <gtest/gtest.h>

#include "tests/generators.h"

namespace culmen::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double value_of(Half half) {
  return static_cast<double>(static_cast<float>(half));
}

// Neighbours in value, skipping the second zero.
Half next_up(Half half) {
  if (half.bits == 0x8000) half.bits = 0;
  if (half.bits == 0x8001) return {0};
  return {static_cast<std::uint16_t>((half.bits & 0x8000) != 0 ? half.bits - 1 : half.bits + 1)};
}
Half next_down(Half half) {
  const Half mirrored{static_cast<std::uint16_t>(half.bits ^ 0x8000)};
  return {static_cast<std::uint16_t>(next_up(mirrored).bits ^ 0x8000)};
}

TEST(Half, HoldsTheNumbersOfBinary16) {
  EXPECT_EQ(value_of({0x0000}), 0);
  EXPECT_EQ(value_of({0x0001}), 0x1p-24);
  EXPECT_EQ(value_of({0x03ff}), 0x1p-14 - 0x1p-24);
  EXPECT_EQ(value_of({0x0400}), 0x1p-14);
  EXPECT_EQ(value_of({0x3c00}), 1);
  EXPECT_EQ(value_of({0xc000}), -2);
  EXPECT_EQ(value_of({0x7bff}), kHalfMaximum);
  EXPECT_EQ(value_of(kHalfInfinity), kInfinity);
  EXPECT_EQ(value_of({0xfc00}), -kInfinity);
  EXPECT_TRUE(std::isnan(value_of({0x7e00})));
}

TEST(Half, KeepsEveryNumberItHolds) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const double value = value_of({static_cast<std::uint16_t>(bits)});
    if (std::isnan(value)) continue;
    EXPECT_EQ(value_of(round_up_to_half(value)), value == -kInfinity ? -kHalfMaximum : value) << bits;
    EXPECT_EQ(value_of(round_down_to_half(value)), value == kInfinity ? kHalfMaximum : value) << bits;
  }
}

TEST(Half, IsRoundedOutwardByLessThanOneStep) {
  Random random(1);
  for (int i = 0; i < 200'000; ++i) {
    const double value = random.sign() * random.uniform(1, 2) * std::ldexp(1.0, random.between(-30, 15));
    if (std::fabs(value) > kHalfMaximum) continue;
    const Half up = round_up_to_half(value), down = round_down_to_half(value);
    ASSERT_GE(value_of(up), value);
    ASSERT_LE(value_of(down), value);
    ASSERT_LT(value_of(next_down(up)), value);
    ASSERT_GT(value_of(next_up(down)), value);
  }
}

TEST(Half, IsRoundedOutwardBesideEachOfItsNumbers) {
  for (std::uint32_t bits = 0; bits < 0x7c00; ++bits) {
    for (const std::uint32_t sign : {0u, 0x8000u}) {
      const Half half{static_cast<std::uint16_t>(bits | sign)};
      const double above = std::nextafter(value_of(half), kInfinity);
      const double below = std::nextafter(value_of(half), -kInfinity);
      ASSERT_EQ(value_of(round_up_to_half(below)), value_of(half)) << bits;
      ASSERT_EQ(value_of(round_down_to_half(above)), value_of(half)) << bits;
      ASSERT_EQ(value_of(round_up_to_half(above)), value_of(next_up(half))) << bits;
      ASSERT_EQ(value_of(round_down_to_half(below)), value_of(next_down(half))) << bits;
    }
  }
}

TEST(Half, BeyondItsRangeExcludesNothing) {
  for (const double large : {65505.0, 1e300, kInfinity}) {
    EXPECT_EQ(value_of(round_up_to_half(large)), kInfinity);
    EXPECT_EQ(value_of(round_down_to_half(-large)), -kInfinity);
    EXPECT_EQ(value_of(round_up_to_half(-large)), -kHalfMaximum);
    EXPECT_EQ(value_of(round_down_to_half(large)), kHalfMaximum);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(value_of(round_up_to_half(nan)), kInfinity);
  EXPECT_EQ(value_of(round_down_to_half(nan)), -kInfinity);
}

TEST(Half, TakesTheSmallestNumbers) {
  for (const double tiny : {5e-324, 1e-300, 0x1p-25}) {
    EXPECT_EQ(value_of(round_up_to_half(tiny)), 0x1p-24);
    EXPECT_EQ(value_of(round_down_to_half(tiny)), 0);
    EXPECT_EQ(value_of(round_up_to_half(-tiny)), 0);
    EXPECT_EQ(value_of(round_down_to_half(-tiny)), -0x1p-24);
  }
}

}  // namespace
}  // namespace culmen::test
