// The k best of many hits, spread by their scores or not, against a sort of all.
#include "cpu/sort_hits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/cases.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

// Scores that spread well and scores that do not: outliers, ties, neighbouring scores, a range that overflows.
struct Scores {
  std::string name;
  double (*draw)(Random& random);
};

const std::vector<Scores>& all_scores() {
  static const std::vector<Scores> all = {
      {"uniform", [](Random& random) { return random.uniform(-3, 5); }},
      {"one_score", [](Random&) { return 0.25; }},
      {"few_scores", [](Random& random) { return static_cast<double>(random.below(7)); }},
      {"outliers",
       [](Random& random) { return random.chance(1e-4) ? random.sign() * 1e300 : random.uniform(0, 1); }},
      {"many_outliers",
       [](Random& random) { return random.chance(0.6) ? random.uniform(1e6, 1e7) : random.uniform(0, 1); }},
      {"heavy_tail", [](Random& random) { return std::pow(random.uniform(1e-9, 1), -2); }},
      {"last_places",
       [](Random& random) { return 1 + static_cast<double>(random.below(100'000)) * 0x1p-52; }},
      {"denormal", [](Random& random) { return static_cast<double>(random.below(1000)) * 0x1p-1074; }},
      {"overflowing", [](Random& random) { return random.sign() * random.uniform(1e307, 1.7e308); }}};
  return all;
}

class SortHits : public testing::TestWithParam<Scores> {};

TEST_P(SortHits, GivesTheFirstOfAllSorted) {
  Random random(41);
  const std::size_t num_trials = num_cases(500) / 50 + 1;
  for (std::size_t trial = 0; trial < num_trials; ++trial) {
    std::vector<std::vector<Hit>> parts(random.pick<std::size_t>({1, 2, 5}));
    const std::size_t count = random.pick<std::size_t>({1, 100, (1 << 16) - 1, 1 << 16, 150'000});
    for (std::size_t i = 0; i < count; ++i)
      parts[random.below(parts.size())].push_back(
          {static_cast<std::int64_t>((i * 2'654'435'761u) % (1ull << 32)), GetParam().draw(random), i});
    std::vector<Hit> expected;
    for (const std::vector<Hit>& part : parts) expected.insert(expected.end(), part.begin(), part.end());
    std::sort(expected.begin(), expected.end(), [](const Hit& a, const Hit& b) {
      return a.score != b.score ? a.score > b.score : a.id < b.id;
    });
    const std::size_t k = 1 + random.below(count + count / 8 + 1);
    expected.resize(std::min(k, count));
    ASSERT_EQ(take_best(parts, k), expected) << count << " hits, k " << k << ", " << parts.size() << " parts";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SortHits, testing::ValuesIn(all_scores()),
                         [](const auto& suite) { return suite.param.name; });

TEST(SortHitsOf, Nothing) {
  EXPECT_TRUE(take_best({}, 5).empty());
  EXPECT_TRUE(take_best({{}, {}}, 5).empty());
}

}  // namespace
}  // namespace culmen::test
