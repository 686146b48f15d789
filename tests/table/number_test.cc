#include "table/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

namespace culmen::io {
namespace {

TEST(ParseNumber, ReadsDecimalText) {
  const std::pair<const char*, double> cases[] = {
      {"0", 0},
      {"12", 12},
      {"-12.5", -12.5},
      {"+3", 3},
      {" 7\t", 7},
      {".5", 0.5},
      {"5.", 5},
      {"1e3", 1000},
      {"1E-3", 0.001},
      {"+.5e+1", 5},
      {"0.1", 0.1},
      {"1e22", 1e22},
      {"00012", 12},
      {"4.9e-324", 5e-324},
      {"1.7976931348623157e308", 1.7976931348623157e308},
      {"9007199254740992", 9007199254740992.0},
      {"-9007199254740992", -9007199254740992.0},
      {"9007199254740993.0", 9007199254740992.0},
      {"9007199254740994", 9007199254740994.0},
      {"-009007199254740994", -9007199254740994.0},
      {"12345678901234567168", 12345678901234567168.0},
      {"-9223372036854775808", -0x1p63},
      {"18446744073709551616", 0x1p64},
      {"99999999999999991611392", 1e23},
      {"1e18", 1e18},
  };
  for (const auto& [text, expected] : cases) {
    const ParsedNumber number = parse_number(text);
    EXPECT_EQ(number.kind, NumberKind::finite) << text;
    EXPECT_EQ(number.value, expected) << text;
  }
}

TEST(ParseNumber, SaysWhyTextIsNotANumber) {
  const std::pair<const char*, NumberKind> cases[] = {
      {"", NumberKind::empty},
      {"  \t", NumberKind::empty},
      {"nan", NumberKind::nan},
      {"NaN", NumberKind::nan},
      {"-inf", NumberKind::infinite},
      {"+Infinity", NumberKind::infinite},
      {"abc", NumberKind::not_a_number},
      {"12x", NumberKind::not_a_number},
      {"1,5", NumberKind::not_a_number},
      {"1 2", NumberKind::not_a_number},
      {"0x10", NumberKind::not_a_number},
      {"+-1", NumberKind::not_a_number},
      {"++1", NumberKind::not_a_number},
      {"-", NumberKind::not_a_number},
      {"+", NumberKind::not_a_number},
      {".", NumberKind::not_a_number},
      {"1e", NumberKind::not_a_number},
      {"1e999", NumberKind::out_of_range},
      {"-1e309", NumberKind::out_of_range},
      {"1e99999999999999999999", NumberKind::out_of_range},
      {"9007199254740993", NumberKind::inexact_integer},
      {"-9007199254740993", NumberKind::inexact_integer},
      {"18446744073709551615", NumberKind::inexact_integer},
      {"12345678901234567890", NumberKind::inexact_integer},
      {"100000000000000000000000", NumberKind::inexact_integer},
      {"99999999999999991611393", NumberKind::inexact_integer},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parse_number(text).kind, expected) << text;
}

TEST(ParseNumber, TakesZeroForALiteralBelowEveryDenormal) {
  for (const char* text : {"1e-400", "-1e-400", "0.0001e-350", "1e-99999999999999999999", "123456e-400"}) {
    const ParsedNumber number = parse_number(text);
    EXPECT_EQ(number.kind, NumberKind::finite) << text;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(number.value), 0u) << text;
  }
  EXPECT_EQ(parse_number("0." + std::string(400, '0') + "1").kind, NumberKind::finite);
  EXPECT_EQ(parse_number(std::string(400, '9') + ".5").kind, NumberKind::out_of_range);
  EXPECT_EQ(parse_number("0.001e400").kind, NumberKind::out_of_range);
}

TEST(ParseNumber, TurnsMinusZeroIntoZero) {
  for (const char* text : {"-0", "-0.0", "-0e5"}) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(parse_number(text).value), 0u) << text;
  }
}

TEST(ParseNumber, ReadsBackEveryDoubleBitForBit) {
  std::mt19937_64 random(20240501);
  for (int i = 0; i < 100000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    char text[64];
    const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
    const ParsedNumber number = parse_number({text, static_cast<std::size_t>(end - text)});
    ASSERT_EQ(number.kind, NumberKind::finite) << value;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(number.value), std::bit_cast<std::uint64_t>(value)) << value;
  }
}

// Random decimals with up to 20 digits: whole numbers, fractions and exponents.
std::string random_decimal(std::mt19937_64& random) {
  std::string text = random() % 3 == 0 ? "-" : "";
  const std::size_t num_digits = random() % 20;
  const std::size_t point = random() % 24;
  for (std::size_t i = 0; i < num_digits; ++i) {
    if (i == point) text += '.';
    text += static_cast<char>('0' + random() % 10);
  }
  if (point == num_digits) text += '.';
  if (random() % 8 == 0) text.append("e").append(std::to_string(static_cast<int>(random() % 40) - 20));
  return text;
}

TEST(ParseLeadingNumber, GivesTheNearestFloatOrLeavesTheCellToParseNumber) {
  std::mt19937_64 random(8);
  int num_read = 0;
  for (int i = 0; i < 200000; ++i) {
    const std::string text = random_decimal(random);
    const std::string row = text + ",1";
    double value = 0;
    bool has_fraction = false;
    const char* const after = parse_leading_number(row.data(), row.data() + row.size(), value, has_fraction);
    if (!after || *after != ',') continue;
    ASSERT_EQ(has_fraction, !is_integer_literal(text)) << row;
    ++num_read;
    ASSERT_EQ(after - row.data(), static_cast<std::ptrdiff_t>(text.size())) << row;
    const double nearest = std::strtod(text.c_str(), nullptr) + 0.0;
    ASSERT_EQ(std::bit_cast<std::uint64_t>(value), std::bit_cast<std::uint64_t>(nearest)) << row;
    ASSERT_EQ(parse_number(text).kind, NumberKind::finite) << row;
  }
  EXPECT_GT(num_read, 150000);
}

TEST(ParseLeadingNumber, LeavesEverythingElseToParseNumber) {
  for (const std::string text :
       {"", "-", "x", " 1", "+1", "\"1\"", "nan", "inf", "1e999", "9007199254740993", ","}) {
    double value = 0;
    bool has_fraction = false;
    EXPECT_EQ(parse_leading_number(text.data(), text.data() + text.size(), value, has_fraction), nullptr)
        << text;
  }
}

TEST(ParseNumber, DoesNotCareForTheLocale) {
  const char* const german = std::setlocale(LC_ALL, "de_DE.UTF-8");
  EXPECT_EQ(parse_number("1.5").value, 1.5) << (german ? german : "de_DE is not installed");
  EXPECT_EQ(parse_number("1,5").kind, NumberKind::not_a_number);
  std::setlocale(LC_ALL, "C");
}

TEST(ParseInteger, ReadsTheWholeRangeOfInt64) {
  EXPECT_EQ(parse_integer("9223372036854775807").value, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_integer("-9223372036854775808").value, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_integer(" +42 ").value, 42);
  EXPECT_EQ(parse_integer("9007199254740993").value, 9007199254740993);  // a float would lose the last digit
}

TEST(ParseInteger, RefusesEverythingElse) {
  EXPECT_EQ(parse_integer("9223372036854775808").kind, NumberKind::out_of_range);
  EXPECT_EQ(parse_integer("").kind, NumberKind::empty);
  for (const char* text : {"7.0", "1e3", "x", "+-1", "-", "1 2", "0x1"}) {
    EXPECT_EQ(parse_integer(text).kind, NumberKind::not_a_number) << text;
  }
}

}  // namespace
}  // namespace culmen::io
