#include "table/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace culmen::io {
namespace {

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
