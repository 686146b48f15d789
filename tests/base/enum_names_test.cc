#include "base/enum_names.h"

#include <gtest/gtest.h>

namespace culmen::test {
namespace {

enum class Fruit { apple, pear, plum };

constexpr EnumNames<Fruit, 2> kFruits = {"fruit", {{{"apple", Fruit::apple}, {"pear", Fruit::pear}}}};

TEST(EnumNames, AreReadAndWritten) {
  for (const Fruit fruit : {Fruit::apple, Fruit::pear}) EXPECT_EQ(kFruits.parse(kFruits.name(fruit)), fruit);
  EXPECT_EQ(kFruits.find("pear"), Fruit::pear);
}

TEST(EnumNames, AreListedWhereOneIsUnknown) {
  EXPECT_EQ(kFruits.find("Pear"), std::nullopt);
  EXPECT_EQ(kFruits.name(Fruit::plum), "");
  try {
    static_cast<void>(kFruits.parse("plum"));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_STREQ(error.what(), "unknown fruit \"plum\"; known: apple, pear");
  }
}

}  // namespace
}  // namespace culmen::test
