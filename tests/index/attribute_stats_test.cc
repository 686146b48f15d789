#include "index/attribute_stats.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "index/columns.h"
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

// Numbers of float32 of all kinds: denormal ones, zeros, powers of two, and, if so wanted, one that is none.
std::vector<float> all_kinds_of_floats(Random& random, float odd) {
  const int kinds = random.between(1, 4), offset = random.between(-130, 110);
  std::vector<float> values(random.below(70));
  for (float& value : values) {
    const double exponent = offset + random.between(0, 15);
    const double number =
        random.below(4) == 0 ? std::exp2(exponent) : std::ldexp(random.unit(), static_cast<int>(exponent));
    value = random.below(static_cast<std::uint64_t>(kinds)) == 0 ? 0.0F
                                                                 : static_cast<float>(random.sign() * number);
    if (random.chance(0.1)) value = random.pick({-0.0F, 0x1p-149F, 0x3p-149F, -0x1p-126F});
  }
  if (!values.empty() && random.chance(0.2)) values[random.below(values.size())] = odd;
  return values;
}

// Columns of numbers that lie next to each other are read in another way than those with others between.
TEST(TableStats, AreTheSameHoweverNumbersLie) {
  Random random(5);
  for (int i = 0; i < 20'000; ++i) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const std::vector<float> values = all_kinds_of_floats(random, random.pick({NAN, kInfinity, -kInfinity}));
    std::vector<float> apart;
    for (const float value : values) apart.insert(apart.end(), {value, 7.0F});
    const auto stats_of = [&](const ColumnView& column) -> std::string {
      TableView table;
      table.num_rows = values.size();
      table.attributes = {{"a"}};
      table.columns = {column};
      try {
        const TableStats stats = table_stats(table, ValueType::automatic);
        const AttributeStats& of = stats.attributes.front();
        return std::to_string(of.quantum) + (stats.has_gaps.front() ? " gaps " : " ") +
               std::to_string(std::bit_cast<std::uint64_t>(of.minimum)) + " " +
               std::to_string(std::bit_cast<std::uint64_t>(of.maximum));
      } catch (const InputError& error) {
        return error.what();
      }
    };
    ASSERT_EQ(stats_of(ColumnView(values)), stats_of(ColumnView(apart.data(), values.size(), 2))) << i;
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
