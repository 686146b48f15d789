#include "base/suggestion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace culmen::test {
namespace {

TEST(Suggestion, IsTheNearestName) {
  const std::vector<std::string> known = {"price", "PRIX", "rating", "p", "t", "bb"};
  const std::pair<const char*, const char*> cases[] = {
      {"prise", "price"}, {"rat", "rating"},    {"Price", "price"},  // nearer than a name that differs by a letter
      {"prix", "PRIX"},   {"RATNIG", "rating"}, {"T", "t"},         {"b", "bb"},
  };
  for (const auto& [word, meant] : cases) EXPECT_EQ(nearest(word, known), meant) << word;
}

TEST(Suggestion, IsNoneIfNothingIsNear) {
  const std::vector<std::string> known = {"price", "p", "q"};
  for (const char* word : {"T", "", "xy", "stars", "7"}) EXPECT_EQ(nearest(word, known), "") << word;
  EXPECT_EQ(did_you_mean("T", known), "");
  EXPECT_EQ(did_you_mean("P", known), " (did you mean \"p\"?)");
}

}  // namespace
}  // namespace culmen::test
