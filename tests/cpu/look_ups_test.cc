// Filters that leave few ids: their rows are looked up, and the answer is the oracle's whichever way they are found.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "query/few_ids.h"
#include "tests/cases.h"
#include "tests/field_trial.h"

namespace culmen::test {
namespace {

class LookUpChecks {
 public:
  std::string check(const Index& index, const FieldOracle& oracle, Random& random) {
    for (int q = 0; q < 12; ++q) {
      Query query = random_field_query(random, oracle, random.chance(0.1), true);
      query.where = few_ids(oracle, random, query.where);
      if (oracle.refuses(query)) continue;
      const std::vector<Answer> expected = oracle.search(query);
      for (const Engine engine : {Engine::automatic, Engine::bounded}) {
        const SearchResult result =
            index.search(query, {.engine = engine, .num_threads = random.between(1, 2)});
        if (std::string fault = difference(result.hits, expected); !fault.empty())
          return std::string(engine_name(engine)) + ": " + fault + "\n  " + describe(query);
        if (engine == Engine::automatic) count(result.stats, expected.size());
      }
    }
    return "";
  }

  std::uint64_t num_answers = 0, num_by_map = 0, num_by_pass = 0, num_searched = 0;

 private:
  // Ids of rows, and beside them; alone, and with conditions.
  static Filter few_ids(const FieldOracle& oracle, Random& random, const Filter& where) {
    std::vector<std::int64_t> ids;
    for (std::uint64_t count = 1 + random.below(random.pick({3, 10, 40})); count > 0; --count) {
      std::int64_t id = random.between(-3, 3);
      if (!oracle.rows().empty() && random.chance(0.9))
        id = oracle.rows()[random.below(oracle.rows().size())].id;
      ids.push_back(id);
    }
    const Filter in = random.chance(0.5) ? Filter::ids_in(IdSet(ids))
                                         : id_col().in(std::vector<Literal>(ids.begin(), ids.end()));
    if (random.chance(0.4)) return in;
    if (random.chance(0.3)) return (in && where) || (id_col() == ids.front() && !where);
    return random.chance(0.8) ? in && where : in || where;
  }

  void count(const SearchStats& stats, std::size_t num_expected) {
    num_answers += num_expected;
    if (stats.ids_looked_up == 0) {
      ++num_searched;
    } else {
      ++(stats.by_id_map ? num_by_map : num_by_pass);
    }
  }
};

class LookUps : public testing::TestWithParam<int> {};

TEST_P(LookUps, FindTheOraclesRowsAndScoreBits) {
  constexpr std::uint64_t kDefaultCases = 4000;
  LookUpChecks checks;
  for (std::uint64_t t = 1; t <= num_cases(kDefaultCases) / 100 + 1; ++t) {
    const std::uint64_t seed =
        only_seed() != 0 ? only_seed() : (static_cast<std::uint64_t>(GetParam()) + 1) * 7'000'000'000 + t;
    FieldTrial trial(seed, [&checks](const Index& index, const FieldOracle& oracle, Random& random) {
      return checks.check(index, oracle, random);
    });
    ASSERT_EQ(trial.run(seed % 2 == 0), "") << rerun_command(seed, "fields_test", "*LookUps*/0");
    if (only_seed() != 0) return;
  }
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(checks.num_answers, 1000U);
  EXPECT_GT(checks.num_by_map, 100U);
  EXPECT_GT(checks.num_by_pass, 100U);
  EXPECT_GT(checks.num_searched, 100U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LookUps, testing::Range(0, 2));

TEST(LookUp, UsesAMapOfIdsOnceItIsWorthMakingOne) {
  Random random(51);
  Table table = random_table(random, ValueClass::uniform_f32, 70'000, 3);
  table.ids.clear();
  Index index = Index::build(table.view());
  const Query query = {.weights = {1, 2, -1}, .k = 3, .where = id_col().in({7, 40'000, 69'999, 12})};
  const std::vector<Hit> expected = index.search(query, {.engine = Engine::scan}).hits;
  EXPECT_EQ(expected.size(), 3U);
  EXPECT_EQ(index.explain(query).reason,
            "the filter leaves at most 4 ids, looked up by a pass over the ids of all rows");
  int num_passes = 0;
  for (SearchStats stats; !stats.by_id_map; ++num_passes) {
    const SearchResult result = index.search(query);
    EXPECT_EQ(result.hits, expected);
    stats = result.stats;
    EXPECT_EQ(stats.engine, Engine::automatic);
    EXPECT_EQ(stats.ids_looked_up, 4U);
    EXPECT_EQ(stats.rows_scored, 4U);
    EXPECT_EQ(stats.bytes_touched >= table.num_rows * sizeof(std::int64_t), !stats.by_id_map);
    ASSERT_LT(num_passes, 100);
  }
  EXPECT_GT(num_passes, 20);
  const Explanation explanation = index.explain(query);
  EXPECT_EQ(explanation.engine, Engine::automatic);
  EXPECT_EQ(explanation.reason, "the filter leaves at most 4 ids, looked up by the map of ids");
  EXPECT_TRUE(explanation.predictions.empty());
  EXPECT_NE(explanation.text.find(explanation.reason), std::string::npos);
  // Changes keep the map; older versions, and what it was not made for, do without.
  const Index before = index.snapshot();
  index.erase(std::vector<std::int64_t>{expected.front().id});
  EXPECT_EQ(index.search(query).hits.front().id, expected[1].id);
  EXPECT_TRUE(index.search(query).stats.by_id_map);
  EXPECT_EQ(before.search(query).hits, expected);
  EXPECT_FALSE(before.search(query).stats.by_id_map);
  index.compact();
  EXPECT_EQ(index.search(query).hits.front().id, expected[1].id);
  EXPECT_FALSE(index.search(query).stats.by_id_map);
}

// A pass over few rows is fast.
TEST(LookUp, MakesNoMapForASmallIndex) {
  Random random(52);
  Table table = random_table(random, ValueClass::uniform_f32, 3000, 2);
  table.ids.clear();
  const Index index = Index::build(table.view());
  const Query query = {.weights = {1, 2}, .k = 3, .where = id_col() == 7};
  for (int i = 0; i < 200; ++i) EXPECT_FALSE(index.search(query).stats.by_id_map);
}

}  // namespace
}  // namespace culmen::test
