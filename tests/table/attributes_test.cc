#include <gtest/gtest.h>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tests/table/reader_testing.h"

namespace culmen {
namespace {

using testing::error_of;
using Attributes = std::vector<Attribute>;

TEST(ParseAttributes, TakesNamesAndPreferences) {
  const Attributes expected{{"price", Preference::low}, {"rating"}, {"stars", Preference::high}};
  EXPECT_EQ(parse_attributes("price:low,rating,stars:high"), expected);
}

TEST(ParseAttributes, TrimsBlanksAroundNames) {
  const Attributes expected{{"price", Preference::low}, {"room size"}};
  EXPECT_EQ(parse_attributes(" price : low , room size "), expected);
}

TEST(ParseAttributes, TakesQuotedNamesWithCommasColonsAndQuotes) {
  const Attributes expected{{"a,b:c", Preference::low}, {"say \"hi\""}, {" padded "}};
  EXPECT_EQ(parse_attributes(R"("a,b:c":low,"say ""hi"""," padded ")"), expected);
}

TEST(ParseAttributes, NamesWhatItCannotRead) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected an attribute name, found none"},
      {"a,", "expected an attribute name, found none"},
      {",a", "expected an attribute name, found none"},
      {":low", "expected an attribute name, found none"},
      {"\"\"", "expected an attribute name, found none"},
      {"a:lower", "expected \"low\" or \"high\" after the colon, found \"lower\""},
      {"a:", "expected \"low\" or \"high\" after the colon, found \"\""},
      {"a:low:high", "expected a comma or the end, found \":high\""},
      {"\"a\"b", "expected a comma or the end, found \"b\""},
      {"\"a", "a quote is never closed"},
      {"a,b,a:low", "attribute \"a\" is named twice"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string error = error_of<InvalidArgument>([&, list = text] { parse_attributes(list); });
    EXPECT_NE(error.find(expected), std::string::npos) << text << " -> " << error;
  }
}

}  // namespace
}  // namespace culmen
