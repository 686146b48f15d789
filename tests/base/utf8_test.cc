#include "base/utf8.h"

#include <gtest/gtest.h>

#include <utility>

namespace culmen::test {
namespace {

TEST(Utf8, AcceptsEveryLengthAtItsLimits) {
  for (const char* text :
       {"", "plain", "\xC2\x80", "\xDF\xBF", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xEF\xBF\xBF",
        "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF", "mostly plain, gr\xC3\xBC\xC3\x9F"}) {
    EXPECT_EQ(find_invalid_utf8(text), std::string_view::npos) << text;
  }
}

TEST(Utf8, FindsTheFirstBrokenByte) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"\x80", 0},              // continuation without a lead
      {"\xC0\xAF", 0},          // overlong
      {"\xC1\xBF", 0},          // overlong
      {"\xE0\x9F\xBF", 0},      // overlong
      {"\xF0\x8F\xBF\xBF", 0},  // overlong
      {"\xED\xA0\x80", 0},      // surrogate
      {"\xF4\x90\x80\x80", 0},  // above U+10FFFF
      {"\xF5\x80\x80\x80", 0},  // never a lead
      {"abc\xC3", 3},           // cut short
      {"abcdefgh\xE2\x82", 8},  // cut short after a run of ASCII
      {"abcdefghi\xC3(", 9},    // continuation missing
  };
  for (const auto& [text, position] : cases) EXPECT_EQ(find_invalid_utf8(text), position) << text;
}

}  // namespace
}  // namespace culmen::test
