// Index::filter: the expressions of --where.
#include <gtest/gtest.h>

#include <cmath>

#include "culmen/error.h"
#include "culmen/index.h"

namespace culmen::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Index hotels() {
  static const std::vector<double> values = {1, 2, 3};
  return Index::build({.num_rows = 3,
                       .attributes = {{"price", Preference::low},
                                      {"stars"},
                                      {"distance to beach"},
                                      {"v1.5"},
                                      {"android"},
                                      {"\"say \"\"\""}},
                       .columns = std::vector<ColumnView>(6, ColumnView(values)),
                       .ids = {},
                       .labels = {}});
}

struct Parsed {
  std::string text;
  Filter ranges;
};

TEST(Filter, ReadsComparisonsJoinedByAnd) {
  const Index index = hotels();
  for (const Parsed& parsed : std::vector<Parsed>{
           {"", {}},  // no condition: every row passes
           {"  ", {}},
           {"price<=200", {{0, -kInfinity, 200}}},
           {"price <= 200 and stars >= 4", {{0, -kInfinity, 200}, {1, 4, kInfinity}}},
           {"price<=200 AND stars>=4", {{0, -kInfinity, 200}, {1, 4, kInfinity}}},
           {"price < 200", {{0, -kInfinity, std::nextafter(200.0, 0)}}},
           {"price>200", {{0, std::nextafter(200.0, 300), kInfinity}}},
           {"stars=4", {{1, 4, 4}}},
           {"stars==4", {{1, 4, 4}}},
           {"  stars  =  -4.5e-3  ", {{1, -4.5e-3, -4.5e-3}}},
           {"stars>=+3", {{1, 3, kInfinity}}},
           {"v1.5>=0", {{3, 0, kInfinity}}},
           {"\"distance to beach\"<=0.5", {{2, -kInfinity, 0.5}}},
           {"\"\"\"say \"\"\"\"\"\"\"=2 and stars=1", {{5, 2, 2}, {1, 1, 1}}},
           {"stars>=3 and stars<=4 and stars>=2", {{1, 3, kInfinity}, {1, -kInfinity, 4}, {1, 2, kInfinity}}},
           {"android>0", {{4, std::nextafter(0.0, 1), kInfinity}}},
           {"stars<0.1", {{1, -kInfinity, std::nextafter(0.1, 0)}}}})
    EXPECT_EQ(index.filter(parsed.text), parsed.ranges) << parsed.text;
}

TEST(Filter, RefusesWhatItCannotRead) {
  const Index index = hotels();
  for (const std::string text : {"price",
                                 "price<=",
                                 "<=200",
                                 "price<=200 and",
                                 "and price<=200",
                                 "price<=200 stars>=4",
                                 "price<=200,stars>=4",
                                 "price=<200",
                                 "price!=200",
                                 "price<=abc",
                                 "price<=nan",
                                 "price<=inf",
                                 "price<=1e999",
                                 "\"price<=200",
                                 "price<=200 or stars>=4",
                                 "200>=price",
                                 "price<=200 and and stars>=4",
                                 "price<=1x",
                                 "price<=- 1",
                                 "price<=+-1"})
    EXPECT_THROW(static_cast<void>(index.filter(text)), InvalidArgument) << "taken: " << text;
}

TEST(Filter, NamesThePositionAndTheKnownAttributes) {
  try {
    static_cast<void>(hotels().filter("stars>=4 and prize<=200"));
    FAIL();
  } catch (const InvalidArgument& error) {
    for (const std::string word : {"prize", "price, stars", "position 14"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace culmen::test
