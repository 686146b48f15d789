#include "base/excerpt.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace culmen {
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

}  // namespace
}  // namespace culmen
