// The contract of an answer: one test per clause, for every engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <thread>

#include "culmen/error.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"
#include "tests/hostile_floating_point.h"
#include "tests/resident_memory.h"

namespace culmen::test {
namespace {

constexpr int kLeafRows = 16;

Index build(const Table& table, Partitioning partitioning = Partitioning::angle) {
  return Index::build(table.view(),
                      {.partitioning = partitioning, .num_partitions = 3, .leaf_rows = kLeafRows});
}

class Answers : public testing::TestWithParam<Engine> {
 protected:
  static SearchResult search(const Index& index, const Query& query) {
    return index.search(query, {.engine = GetParam()});
  }
  static void expect_oracle(const Index& index, const Oracle& oracle, const Query& query) {
    EXPECT_EQ(difference(search(index, query).hits, oracle.search(query)), "") << describe(query);
  }
};

TEST_P(Answers, WithSmallerKArePrefixesOfThoseWithLargerK) {
  Random random(1);
  for (const ValueClass value_class :
       {ValueClass::small_integers, ValueClass::uniform_f32, ValueClass::duplicates}) {
    const Table table = random_table(random, value_class, 500, 4);
    const Index index = build(table);
    Query query{.weights = random_weights(random, 4), .k = 501};
    const std::vector<Hit> all = search(index, query).hits;
    ASSERT_EQ(all.size(), 500u);
    for (std::size_t k = 1; k <= 500; k += 7) {
      query.k = k;
      const std::vector<Hit> best = search(index, query).hits;
      ASSERT_EQ(best.size(), k);
      EXPECT_TRUE(std::equal(best.begin(), best.end(), all.begin())) << k;
    }
  }
}

TEST_P(Answers, AreRightForSizesAroundLeavesAndNodes) {
  constexpr std::size_t kNode = std::size_t{kLeafRows} * 32;
  Random random(2);
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{15}, std::size_t{16},
                              std::size_t{17}, kNode - 1, kNode, kNode + 1, kNode * 32 + 1}) {
    const Table table =
        random_table(random, n % 2 == 0 ? ValueClass::uniform_f32 : ValueClass::small_integers, n, 3);
    const Oracle oracle(table.view(), false);
    const Index index = Index::build(table.view(), {.num_partitions = 1, .leaf_rows = kLeafRows});
    for (const std::size_t k :
         {std::size_t{1}, std::size_t{2}, n - (n > 1), n, n + 1, std::size_t{1} << 40}) {
      if (k > 0) expect_oracle(index, oracle, {.weights = random_weights(random, 3), .k = k});
    }
  }
}

TEST_P(Answers, BreakTiesBySmallerId) {
  Table table;
  std::vector<float> equal(1000, 3.0f);
  table.num_rows = equal.size();
  table.attributes = {{"a"}};
  table.columns.emplace_back(equal);
  for (std::int64_t i = 0; i < 1000; ++i) table.ids.push_back(i * 7919 % 1000 - 500);
  for (const Partitioning partitioning : {Partitioning::kd, Partitioning::angle, Partitioning::random}) {
    const std::vector<Hit> hits = search(build(table, partitioning), {.weights = {1}, .k = 10}).hits;
    ASSERT_EQ(hits.size(), 10u);
    for (std::size_t rank = 0; rank < hits.size(); ++rank)
      EXPECT_EQ(hits[rank].id, -500 + static_cast<std::int64_t>(rank));
  }
}

TEST_P(Answers, TakeTheLargestAndSmallestIdsThereAre) {
  constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kHighest = std::numeric_limits<std::int64_t>::max();
  Table table;
  std::vector<float> equal(3, 3.0f);
  table.num_rows = equal.size();
  table.attributes = {{"a"}};
  table.columns.emplace_back(equal);
  table.ids = {kHighest, 0, kLowest};
  const std::vector<Hit> hits = search(build(table), {.weights = {1}, .k = 3}).hits;
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].id, kLowest);
  EXPECT_EQ(hits[1].id, 0);
  EXPECT_EQ(hits[2].id, kHighest);
}

TEST_P(Answers, IncludeScoresEqualToMinScore) {
  Random random(3);
  const Table table = random_table(random, ValueClass::small_integers, 300, 2);
  const Oracle oracle(table.view(), false);
  const Index index = build(table);
  Query query{.weights = {1, 2}, .k = {}};
  for (std::size_t row = 0; row < 300; row += 10) {
    const double score = oracle.score_of(row, query);
    for (const double min_score : {score, std::nextafter(score, 1e300), std::nextafter(score, -1e300)}) {
      query.min_score = min_score;
      for (const std::size_t k : {0, 1, 5, 300}) {
        query.k = k == 0 ? std::nullopt : std::optional(k);
        expect_oracle(index, oracle, query);
      }
    }
  }
  query.min_score = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(search(index, query).hits.empty());
  query.min_score = -std::numeric_limits<double>::infinity();
  query.k.reset();
  EXPECT_EQ(search(index, query).hits.size(), 300u);
}

TEST_P(Answers, ObeyFiltersOnAttributesWithoutWeight) {
  Random random(4);
  for (const ValueClass value_class :
       {ValueClass::uniform_f64, ValueClass::small_integers, ValueClass::timestamps}) {
    const Table table = random_table(random, value_class, 400, 5);
    const Oracle oracle(table.view(), false);
    const Index index = build(table);
    for (int i = 0; i < 40; ++i) {
      Query query{.weights = {0, 1, 0, -1, 0}, .k = 7};
      query.where = Filter{random_range(random, oracle), random_range(random, oracle)};
      expect_oracle(index, oracle, query);
    }
  }
}

TEST_P(Answers, OfABatchEqualThoseOneByOne) {
  Random random(5);
  const Table table = random_table(random, ValueClass::correlated, 1000, 6);
  const Oracle oracle(table.view(), false);
  const Index index = build(table);
  std::vector<Query> queries;
  while (queries.size() < 200) {
    queries.push_back(random_filtered_query(random, oracle));
    if (oracle.refuses(queries.back())) queries.pop_back();
  }
  for (const int num_threads : {0, 1, 4}) {
    const std::vector<SearchResult> batch =
        index.search(queries, {.engine = GetParam(), .num_threads = num_threads});
    ASSERT_EQ(batch.size(), queries.size());
    for (std::size_t q = 0; q < queries.size(); ++q)
      ASSERT_EQ(batch[q].hits, search(index, queries[q]).hits) << describe(queries[q]);
  }
}

TEST_P(Answers, OfSetsOfIdsHoldTheirRowsAlone) {
  Random random(7);
  Table table = random_table(random, ValueClass::uniform_f32, 1500, 4);
  table.ids.clear();
  for (std::int64_t row = 0; row < 1500; ++row)  // of both signs, near and far
    table.ids.push_back(row % 2 == 0 ? row - 300 : row * 0x1234567890123 - (std::int64_t{1} << 60));
  const Oracle oracle(table.view(), false);
  const Index index = build(table);
  std::vector<Query> queries;
  for (int q = 0; q < 60; ++q) {
    const Filter set =
        Filter::ids_in(random_id_set(random, 1500, [&](std::size_t row) { return oracle.id(row); }));
    Query query{.weights = random_weights(random, 4), .k = 20, .where = q % 3 == 0 ? set : !set};
    if (q % 2 == 0) query.where = query.where && random_range(random, oracle);
    if (q % 5 == 0) query.where = query.where || id_col() < 0;
    queries.push_back(query);
  }
  const std::vector<SearchResult> batch = index.search(queries, {.engine = GetParam()});
  for (std::size_t q = 0; q < queries.size(); ++q) {
    expect_oracle(index, oracle, queries[q]);
    EXPECT_EQ(difference(batch[q].hits, oracle.search(queries[q])), "") << describe(queries[q]);
  }
}

TEST_P(Answers, AreTheSameForEightThreadsAtOnce) {
  Random random(6);
  const Table table = random_table(random, ValueClass::small_integers, 2000, 5);
  const Oracle oracle(table.view(), false);
  const Index index = build(table);
  std::vector<Query> queries;
  std::vector<std::vector<Answer>> expected;
  for (int q = 0; q < 20; ++q) {
    queries.push_back({.weights = random_weights(random, 5), .k = 50});
    expected.push_back(oracle.search(queries.back()));
  }
  std::vector<std::string> wrong(8);
  std::vector<std::thread> threads;
  for (std::string& mine : wrong)
    threads.emplace_back([&] {
      for (std::size_t q = 0; q < queries.size(); ++q)
        mine += difference(search(index, queries[q]).hits, expected[q]);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& mine : wrong) EXPECT_EQ(mine, "");
}

TEST_P(Answers, KeepTheirIdsWhenWeightsAreScaledByPowersOfTwo) {
  Random random(7);
  const Table table = random_table(random, ValueClass::uniform_f64, 600, 6);
  const Index index = build(table);
  for (int i = 0; i < 10; ++i) {
    Query query{.weights = {}, .k = 25};
    for (int a = 0; a < 6; ++a) query.weights.push_back(random.uniform(-1, 1));
    const std::vector<Hit> plain = search(index, query).hits;
    for (const int exponent : {-200, -1, 1, 200}) {
      Query scaled = query;
      for (double& weight : scaled.weights) weight = std::ldexp(weight, exponent);
      const std::vector<Hit> hits = search(index, scaled).hits;
      ASSERT_EQ(hits.size(), plain.size());
      for (std::size_t rank = 0; rank < hits.size(); ++rank) {
        EXPECT_EQ(hits[rank].id, plain[rank].id);
        EXPECT_EQ(hits[rank].score, std::ldexp(plain[rank].score, exponent));
      }
    }
  }
}

TEST_P(Answers, DoNotDependOnPreferences) {
  Random random(8);
  Table table = random_table(random, ValueClass::signed_zeros, 300, 4);
  const Oracle oracle(table.view(), false);
  for (int mask = 0; mask < 16; ++mask) {
    for (std::size_t i = 0; i < 4; ++i)
      table.attributes[i].preference = (mask >> i & 1) != 0 ? Preference::low : Preference::high;
    const Index index = build(table);
    for (const Scale scale : {Scale::none, Scale::minmax, Scale::zscore})
      expect_oracle(index, oracle, {.weights = {1, -0.3, 0.7, 1e-300}, .k = 40, .scale = scale});
  }
}

TEST_P(Answers, GiveBackAttributesAndLabelsAsTheyCame) {
  Random random(9);
  for (const ValueClass value_class : {ValueClass::uniform_f32, ValueClass::huge, ValueClass::mixed}) {
    Table table = random_table(random, value_class, 200, 4);
    table.ids.clear();
    table.labels = {};
    table.labels.offsets.push_back(0);
    for (std::size_t row = 0; row < 200; ++row) {
      const std::string label = row % 5 == 0 ? "" : std::string("№ ") + std::to_string(row);
      table.labels.bytes.insert(table.labels.bytes.end(), label.begin(), label.end());
      table.labels.offsets.push_back(table.labels.bytes.size());
    }
    const TableView view = table.view();
    const SearchResult result = search(build(table), {.weights = {1, -1, 0.5, 0}, .k = 200});
    ASSERT_EQ(result.hits.size(), 200u);
    for (std::size_t rank = 0; rank < 200; ++rank) {
      const auto row = static_cast<std::size_t>(result.hits[rank].id);
      EXPECT_EQ(result.label(rank), view.labels[row]);
      for (int a = 0; a < 4; ++a)
        EXPECT_EQ(result.attribute(rank, a), value_at(view.columns[static_cast<std::size_t>(a)], row));
    }
  }
}

TEST_P(Answers, AreEmptyWhereNothingPassesTheFilter) {
  Random random(10);
  const Table table = random_table(random, ValueClass::uniform_f32, 200, 3);
  const Index index = build(table);
  EXPECT_TRUE(
      search(index, {.weights = {1, 1, 1}, .k = 5, .where = {{.attribute = 1, .minimum = 2}}}).hits.empty());
  EXPECT_TRUE(
      search(index,
             {.weights = {1, 1, 1}, .k = 5, .where = {{.attribute = 1, .minimum = 0.6, .maximum = 0.4}}})
          .hits.empty());
}

TEST_P(Answers, SurviveTheIndexThatGaveThem) {
  SearchResult result;
  {
    Random random(11);
    const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
    result = search(build(table), {.weights = {1, 1}, .k = 3});
  }
  for (std::size_t rank = 0; rank < 3; ++rank)
    EXPECT_EQ(std::fma(1.0, result.attribute(rank, 1), result.attribute(rank, 0)), result.hits[rank].score);
}

TEST_P(Answers, DoNotDependOnTheCallersFloatingPointMode) {
  Random random(12);
  for (const ValueClass value_class :
       {ValueClass::uniform_f64, ValueClass::denormal_f32, ValueClass::denormal_f64}) {
    const Table table = random_table(random, value_class, 2000, 5);
    const Oracle oracle(table.view(), false);
    for (const Scale scale : {Scale::none, Scale::minmax, Scale::zscore}) {
      const Query query{.weights = {1, 0.3, 0.7, 0.1, 0.9}, .k = 40, .scale = scale};
      if (oracle.refuses(query)) continue;  // a denormal range scales weights to infinity
      const SearchResult result = [&] {
        const HostileFloatingPoint hostile;
        return search(build(table), query);
      }();
      EXPECT_EQ(difference(result.hits, oracle.search(query)), "") << value_class_name(value_class);
    }
  }
}

// Searches must not leak, whatever their number of threads: a server runs for years.
TEST_P(Answers, LeaveNoMemoryBehind) {
  if (!tells_resident_bytes()) GTEST_SKIP();
  Random random(13);
  const Table table = random_table(random, ValueClass::uniform_f32, 5000, 2);
  const Index index = Index::build(table.view(), {.num_partitions = 40, .leaf_rows = kLeafRows});
  const auto search_often = [&](int times) {
    for (int i = 0; i < times; ++i)
      static_cast<void>(index.search({.weights = {1, 1}, .k = 5}, {.engine = GetParam(), .num_threads = 2}));
  };
  search_often(300);
  const std::size_t before = resident_bytes();
  search_often(3000);
  EXPECT_LT(resident_bytes(), before + (std::size_t{2} << 20));
}

INSTANTIATE_TEST_SUITE_P(AllEngines, Answers, testing::ValuesIn(kEngines),
                         [](const auto& suite) { return std::string(engine_name(suite.param)); });

TEST(Engines, ReadLessThanHalfOfATableFullOfTies) {
  std::vector<float> equal(20'000, 1.0f);
  std::vector<double> rounding(20'000, 0.1);  // its sums are not exact, so bounds carry an error bound
  Table table;
  table.num_rows = equal.size();
  table.attributes = {{"a"}, {"b"}};
  table.columns = {ColumnView(equal), ColumnView(rounding)};
  const Index index = build(table);
  for (const Query& query : {Query{.weights = {1, 0}, .k = 10}, Query{.weights = {1, 0.3}, .k = 10}}) {
    const SearchResult scan = index.search(query, {.engine = Engine::scan});
    EXPECT_GE(scan.stats.rows_scored, 20'000u);
    for (const Engine engine : {Engine::gta, Engine::bounded}) {
      const SearchResult result = index.search(query, {.engine = engine, .num_threads = 1});
      EXPECT_EQ(result.hits, scan.hits);
      EXPECT_LT(result.stats.rows_scored, 10'000u) << engine_name(engine);
    }
  }
}

// 0.3 and these weights round, so the bounds have an error bound: zone maps decide, for all later leaves at once.
TEST(Bounded, ReadsOneLeafOfATableInWhichAllRowsTie) {
  const std::vector<float> values(20'000 * 3, 0.3F);
  const Index index =
      Index::build(row_major_table(std::span<const float>(values), {{"a"}, {"b"}, {"c"}}), {.leaf_rows = 32});
  const SearchResult result =
      index.search({.weights = {0.7, -0.1, 0.3}, .k = 5}, {.engine = Engine::bounded});
  ASSERT_EQ(result.hits.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(result.hits[i].id, static_cast<std::int64_t>(i));
  EXPECT_EQ(result.stats.leaves_visited, 1U);
  EXPECT_GT(result.stats.leaves_tied_out, 0U);
  EXPECT_LT(result.stats.leaves_tied_out, index.info().num_leaves / 4);
  EXPECT_LE(result.stats.nodes_visited, 3U);
}

}  // namespace
}  // namespace culmen::test
