// Tables with filter columns, stored columns and missing values against SQL's rules: every engine, every stage in the
// life of an index.
//
// CULMEN_TEST_CASES=100000 fields_test    so many (index, query) pairs, each with every engine
// CULMEN_TEST_SEED=N fields_test          one table again, as a failure prints it
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "tests/cases.h"
#include "tests/field_trial.h"

namespace culmen::test {
namespace {

constexpr std::uint64_t kDefaultFieldCases = 8'000;
constexpr std::uint64_t kLifeEvery = 3;  // tables

// Several suites of seeds, so that they run at the same time.
class Fields : public testing::TestWithParam<int> {};

TEST_P(Fields, AreFilteredAsSqlDoes) {
  constexpr std::uint64_t kSuites = 8;
  const std::uint64_t wanted = num_cases(kDefaultFieldCases) / kSuites + 1;
  std::uint64_t queries = 0, answers = 0, refused = 0;
  for (std::uint64_t t = 1; queries < wanted; ++t) {
    const std::uint64_t seed =
        only_seed() != 0 ? only_seed() : (static_cast<std::uint64_t>(GetParam()) + 1) * 1'000'000'000 + t;
    FieldTrial trial(seed);
    ASSERT_EQ(trial.run(seed % kLifeEvery == 0), "") << rerun_command(seed, "fields_test", "*/0");
    queries += trial.num_queries();
    answers += trial.num_answers();
    refused += trial.num_refused();
    if (only_seed() != 0) return;
  }
  if (wanted < 30) return;  // too few to say
  EXPECT_GT(answers, queries);
  EXPECT_LT(refused, queries / 4);
}

INSTANTIATE_TEST_SUITE_P(Seeds, Fields, testing::Range(0, 8));

// The oracle's own parts.
TEST(FieldOracle, RoundsMeansOnce) {
  const auto mean = [](std::vector<double> values) { return exact_mean_of<double>(values); };
  EXPECT_EQ(mean({1, 2}), 1.5);
  EXPECT_EQ(mean({0.1, 0.2, 0.3}), 0.2);
  EXPECT_EQ(mean({1e308, 1.7e308}), 1.35e308);
  EXPECT_EQ(mean({5e-324, 0}), 0);
  EXPECT_EQ(mean({5e-324, 1e-323}), 1e-323);
  EXPECT_EQ(mean({-1, -1, -1}), -1);
  EXPECT_EQ(exact_mean_of<float>(std::vector<double>{16'777'216, 16'777'218, 16'777'217}), 16'777'216);
}

TEST(FieldOracle, ReadsTimes) {
  EXPECT_TRUE(nanoseconds_of("1970-01-02") == __int128{86'400'000'000'000});
  EXPECT_TRUE(nanoseconds_of("1969-12-31 23:59:59.5") == -500'000'000);
  Random random(1);
  EXPECT_TRUE(nanoseconds_of("1970-01-01T02:00:01.25+02:00") == 1'250'000'000);
  EXPECT_EQ(time_text(random, -500'000'000, true).substr(0, 21), "1969-12-31 23:59:59.5");
}

}  // namespace
}  // namespace culmen::test
