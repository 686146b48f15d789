// Numbers as text: read back to the same bits, without an exponent where people expect none.
#include "base/number_text.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <random>

namespace culmen {
namespace {

double read_back(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  EXPECT_TRUE(error == std::errc() && end == text.data() + text.size()) << text;
  return value;
}

TEST(NumberText, HasNoExponentWhereNumbersAreOfUsualSize) {
  EXPECT_EQ(number_text(100000), "100000");
  EXPECT_EQ(number_text(-1e15), "-1000000000000000");
  EXPECT_EQ(number_text(0x1p53), "9007199254740992");
  EXPECT_EQ(number_text(100000.5), "100000.5");
  EXPECT_EQ(number_text(0.00001), "0.00001");
  EXPECT_EQ(number_text(0.0001), "0.0001");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(0), "0");
  EXPECT_EQ(number_text(-0.0), "-0");
  EXPECT_EQ(number_text(1e300), "1e+300");
  EXPECT_EQ(number_text(9e-6), "9e-06");
  EXPECT_EQ(number_text(5e-324), "5e-324");
}

TEST(NumberText, ReadsBackToTheSameBits) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200'000; ++i) {
    const double usual = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 80) - 90);
    const double any = std::bit_cast<double>(random());
    for (const double value : {usual, -usual, std::trunc(usual), any}) {
      if (!std::isfinite(value)) continue;
      const std::string text = number_text(value);
      ASSERT_EQ(std::bit_cast<std::uint64_t>(read_back(text)), std::bit_cast<std::uint64_t>(value)) << text;
      ASSERT_LT(text.size(), kMaxNumberText);
      const double size = std::fabs(value);
      const bool is_usual = size >= 1e-5 && size <= 1e15;
      ASSERT_TRUE(!is_usual || text.find('e') == std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace culmen
