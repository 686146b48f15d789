#include "index/attribute_stats.h"

#include <gtest/gtest.h>

#include "tests/generators.h"

namespace culmen::test {
namespace {

TEST(QuantumExponent, IsTheLargestPowerOfTwoThatDivides) {
  EXPECT_EQ(quantum_exponent(0.0), kNoQuantum);
  EXPECT_EQ(quantum_exponent(-0.0), kNoQuantum);
  EXPECT_EQ(quantum_exponent(1.0), 0);
  EXPECT_EQ(quantum_exponent(-1.0), 0);
  EXPECT_EQ(quantum_exponent(12.0), 2);
  EXPECT_EQ(quantum_exponent(0.75), -2);
  EXPECT_EQ(quantum_exponent(0x1p-1074), -1074);
  EXPECT_EQ(quantum_exponent(0x1p-1022), -1022);
  EXPECT_EQ(quantum_exponent(0x6p-1074), -1073);
  EXPECT_EQ(quantum_exponent(0x1p1023), 1023);
  EXPECT_EQ(quantum_exponent(std::numeric_limits<double>::max()), 971);
}

TEST(QuantumExponent, LeavesAnOddWholeNumber) {
  Random random(1);
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.sign() * std::ldexp(1 + random.unit(), random.between(-900, 900));
    const double quotient = std::ldexp(value, -quantum_exponent(value));
    ASSERT_EQ(quotient, std::rint(quotient));
    ASSERT_NE(std::fmod(quotient, 2.0), 0.0);
  }
}

TEST(BoundUnit, MapsTheRangeToAboutZeroToOne) {
  Random random(2);
  for (int i = 0; i < 10'000; ++i) {
    AttributeStats stats;
    stats.minimum = random.sign() * std::ldexp(random.unit(), random.between(-900, 900));
    stats.maximum =
        stats.minimum + std::fabs(stats.minimum) * random.unit() + std::ldexp(1.0, random.between(-900, 900));
    if (!(stats.maximum > stats.minimum)) continue;
    const BoundUnit unit = bound_unit(stats);
    ASSERT_EQ(unit.to_units(stats.minimum), 0.0);
    ASSERT_GE(unit.to_units(stats.maximum), 0.7);
    ASSERT_LE(unit.to_units(stats.maximum), 1.42);
    ASSERT_EQ(unit.unit * unit.inverse, 1.0);
  }
}

// Values near zero lose their last digits if the origin is far away.
TEST(BoundUnit, GivesValuesBackRoundedOutwards) {
  Random random(3);
  for (int i = 0; i < 10'000; ++i) {
    const double extent = std::ldexp(1.0, random.between(-900, 900));
    const BoundUnit unit = bound_unit({-extent * random.unit(), extent * random.unit(), kNoQuantum});
    const double value = random.sign() * extent * std::ldexp(random.unit(), random.between(-60, 0));
    ASSERT_GE(unit.value_outwards(unit.to_units(value), true), value);
    ASSERT_LE(unit.value_outwards(unit.to_units(value), false), value);
  }
}

TEST(BoundUnit, StaysANormalNumberAtTheEdges) {
  constexpr double kMax = std::numeric_limits<double>::max();
  for (const AttributeStats& stats :
       {AttributeStats{0, 0, kNoQuantum}, AttributeStats{5, 5, 0}, AttributeStats{0, 0x1p-1074, -1074},
        AttributeStats{-kMax, kMax, 971}, AttributeStats{-0x1p-1074, 0x1p-1074, -1074}}) {
    const BoundUnit unit = bound_unit(stats);
    EXPECT_TRUE(std::isnormal(unit.unit) && std::isnormal(unit.inverse));
    EXPECT_EQ(unit.unit * unit.inverse, 1.0);
    EXPECT_TRUE(std::isfinite(unit.to_units(stats.minimum)));
    EXPECT_TRUE(std::isfinite(unit.to_units(stats.maximum)));
  }
}

}  // namespace
}  // namespace culmen::test
