#include "table/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace culmen::io {
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

TEST(QuoteExcerpt, EscapesWhatATerminalShouldNotSee) {
  EXPECT_EQ(quote_excerpt("plain"), "\"plain\"");
  EXPECT_EQ(quote_excerpt(std::string_view("a\x1B[2J\0z", 7)), "\"a\\x1b[2J\\x00z\"");
  EXPECT_EQ(quote_excerpt("\xFFok"), "\"\\xffok\"");
  EXPECT_EQ(quote_excerpt("Z\xC3\xBCrich"), "\"Z\xC3\xBCrich\"");
}

TEST(QuoteExcerpt, ShortensLongText) {
  EXPECT_EQ(quote_excerpt(std::string(40, 'x')), '"' + std::string(40, 'x') + '"');
  EXPECT_EQ(quote_excerpt(std::string(5000, 'x')), '"' + std::string(40, 'x') + "...\"");
}

TEST(QuoteList, StopsBeforeTheListIsTooLongToRead) {
  EXPECT_EQ(quote_list(std::vector<std::string>{"a", "b"}), "\"a\", \"b\"");
  const std::string list = quote_list(std::vector<std::string>(100, "n"));
  EXPECT_LT(list.size(), 200u);
  EXPECT_EQ(list.substr(list.size() - 5), ", ...");
}

TEST(TrimBlanks, TakesAwaySpacesAndTabsAtBothEnds) {
  EXPECT_EQ(trim_blanks(" \ta b\t "), "a b");
  EXPECT_EQ(trim_blanks(" \t"), "");
}

}  // namespace
}  // namespace culmen::io
