#include "table/text.h"

#include <gtest/gtest.h>

#include <vector>

namespace culmen::io {
namespace {

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
