// Each query that the contract refuses, and queries at its limits.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "culmen/device.h"
#include "culmen/error.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"
#include "tests/hostile_floating_point.h"

namespace culmen::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kMax = std::numeric_limits<double>::max();

Index sample() {
  static const std::vector<double> price = {100, 200, 300}, stars = {3, 5, 4};
  return Index::build({.num_rows = 3,
                       .attributes = {{"price", Preference::low}, {"stars"}},
                       .columns = {ColumnView(price), ColumnView(stars)},
                       .ids = {},
                       .labels = {}});
}

struct Refusal {
  std::string name;
  Query query;
  std::vector<std::string> words;

  friend void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }
};

class Queries : public testing::TestWithParam<Refusal> {};

TEST_P(Queries, AreRefusedByEveryEngineWithTheReason) {
  const Index index = sample();
  for (const Engine engine : kEngines) {
    try {
      static_cast<void>(index.search(GetParam().query, {.engine = engine}));
      FAIL() << "taken by " << engine_name(engine);
    } catch (const InvalidArgument& error) {
      for (const std::string& word : GetParam().words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
    EXPECT_THROW(static_cast<void>(index.explain(GetParam().query, {.engine = engine})), InvalidArgument);
    const std::vector<Query> batch = {{.weights = {1, 1}, .k = 1}, GetParam().query};
    EXPECT_THROW(static_cast<void>(index.search(batch, {.engine = engine})), InvalidArgument);
  }
}

TEST_P(Queries, AreRefusedOnAGpuToo) {
  SKIP_WITHOUT_GPU();
  const DeviceIndex on_gpu = sample().to_device();
  for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan, Engine::gta}) {
    const Query& query = GetParam().query;
    EXPECT_THROW(static_cast<void>(on_gpu.search(query, {.engine = engine})), InvalidArgument);
    for (const std::vector<Query>& batch :
         std::vector<std::vector<Query>>{{query}, {{.weights = {1, 1}, .k = 1}, query}, {query, query}})
      EXPECT_THROW(static_cast<void>(on_gpu.search(batch, {.engine = engine})), InvalidArgument);
  }
}

std::vector<Refusal> refused_queries() {
  return {
      Refusal{"ask_for_nothing", {.weights = {1, 1}, .k = 0}, {"k is 0"}},
      Refusal{"say_neither_how_many_nor_above_what",
              {.weights = {1, 1}, .k = std::nullopt},
              {"neither k nor min_score"}},
      Refusal{"have_too_few_weights", {.weights = {1}}, {"1 weights", "2 attributes", "price, stars"}},
      Refusal{"have_too_many_weights", {.weights = {1, 2, 3}}, {"3 weights", "price, stars"}},
      Refusal{"have_no_weights", {.weights = {}}, {"0 weights"}},
      Refusal{"have_zero_weights_only", {.weights = {0, -0.0}}, {"zero"}},
      Refusal{"have_a_nan_weight", {.weights = {1, kNan}}, {"stars", "finite"}},
      Refusal{"have_an_infinite_weight", {.weights = {-kInfinity, 1}}, {"price", "finite"}},
      Refusal{"could_overflow", {.weights = {kMax, 1}}, {"overflow"}},
      Refusal{"could_overflow_in_the_sum", {.weights = {kMax / 400, kMax / 8}}, {"overflow"}},
      Refusal{"could_overflow_when_scaled", {.weights = {1, kMax}, .scale = Scale::minmax}, {"overflow"}},
      Refusal{"could_overflow_by_deviations", {.weights = {1, kMax}, .scale = Scale::zscore}, {"overflow"}},
      Refusal{"could_overflow_by_ranks", {.weights = {kMax, kMax}, .scale = Scale::rank}, {"overflow"}},
      Refusal{"have_a_nan_min_score", {.weights = {1, 1}, .min_score = kNan}, {"min_score"}},
      Refusal{"filter_an_attribute_that_is_not_there",
              {.weights = {1, 1}, .where = {{.attribute = 2}}},
              {"attribute 2"}},
      Refusal{
          "filter_a_negative_attribute", {.weights = {1, 1}, .where = {{.attribute = -1}}}, {"attribute -1"}},
      Refusal{"filter_by_nan", {.weights = {1, 1}, .where = {{.attribute = 1, .minimum = kNan}}}, {"NaN"}}};
}

INSTANTIATE_TEST_SUITE_P(That, Queries, testing::ValuesIn(refused_queries()),
                         [](const auto& suite) { return suite.param.name; });

TEST(Queries, AreRefusedForNegativeThreads) {
  const Index index = sample();
  const Query query{.weights = {1, 1}};
  const std::vector<Query> batch = {query}, no_query;
  for (const Engine engine : kEngines) {
    const SearchOptions options{.engine = engine, .num_threads = -3};
    EXPECT_THROW(static_cast<void>(index.search(query, options)), InvalidArgument) << engine_name(engine);
    EXPECT_THROW(static_cast<void>(index.search(batch, options)), InvalidArgument) << engine_name(engine);
    EXPECT_THROW(static_cast<void>(index.search(no_query, options)), InvalidArgument);
    EXPECT_THROW(static_cast<void>(index.explain(query, options)), InvalidArgument) << engine_name(engine);
  }
  for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan})
    EXPECT_THROW(static_cast<void>(index.search_monotone(WeightedMinimum({1, 1}), 1, {},
                                                         {.engine = engine, .num_threads = -3})),
                 InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.place(batch, {.num_threads = -3})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.place(no_query, {.num_threads = -3})), InvalidArgument);
  const TemporaryDirectory directory;
  index.save(directory.path() / "index");
  EXPECT_THROW(static_cast<void>(Index::open(directory.path() / "index", {.num_threads = -3})),
               InvalidArgument);
}

// Every call on a handle that was moved from.
TEST(Handles, ThatWereMovedFromRefuseEveryCall) {
  Index index = sample();
  const Index taker = std::move(index);
  const Index copy = index;  // a copy of nothing, which is not an error
  const Query query{.weights = {1, 1}};
  const std::vector<Query> batch = {query};
  const std::vector<std::int64_t> ids = {1};
  const std::vector<std::function<void()>> calls = {
      [&] { index.save("nowhere"); },
      [&] { index.insert(TableView()); },
      [&] { index.upsert(TableView()); },
      [&] { index.erase(ids); },
      [&] { index.write(WriteBatch()); },
      [&] { index.flush(); },
      [&] { index.checkpoint(); },
      [&] { index.compact(); },
      [&] { index.close(); },
      [&] { index.refresh(); },
      [&] { static_cast<void>(index.snapshot()); },
      [&] { static_cast<void>(index.version()); },
      [&] { static_cast<void>(index.recovery()); },
      [&] { static_cast<void>(index.info()); },
      [&] {
        static_cast<void>(index.weights({{"price", 1.0}}));
      },
      [&] { static_cast<void>(index.filter("price<=2")); },
      [&] { static_cast<void>(index.search(query)); },
      [&] { static_cast<void>(index.search(batch)); },
      [&] {
        static_cast<void>(index.search_monotone(WeightedMinimum({1, 1}), 1));
      },
      [&] { static_cast<void>(index.to_device()); },
      [&] { static_cast<void>(index.explain(query)); },
      [&] { static_cast<void>(index.place(batch)); },
      [&] { static_cast<void>(index.verify()); },
      [&] { static_cast<void>(copy.search(query)); }};
  for (std::size_t c = 0; c < calls.size(); ++c) EXPECT_THROW(calls[c](), InvalidArgument) << "call " << c;
  EXPECT_EQ(taker.search(query).hits.size(), 3U);
}

TEST(Answers, RefuseToTellWhatIsNotThere) {
  const SearchResult none;
  EXPECT_THROW(static_cast<void>(none.version()), InvalidArgument);
  EXPECT_THROW(static_cast<void>(none.attribute(0, 0)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(none.label(0)), InvalidArgument);
  SearchResult result = sample().search({.weights = {1, 1}, .k = 2});
  for (const int attribute : {-1, 2, std::numeric_limits<int>::max()})
    EXPECT_THROW(static_cast<void>(result.attribute(0, attribute)), InvalidArgument) << attribute;
  EXPECT_THROW(static_cast<void>(result.attribute(2, 0)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(result.label(2)), InvalidArgument);
  EXPECT_EQ(result.label(1), "");
  for (const std::uint64_t row : {std::uint64_t{3}, std::uint64_t{1} << 40}) {
    result.hits[0].row = row;  // of another index, say
    EXPECT_THROW(static_cast<void>(result.attribute(0, 0)), InvalidArgument) << row;
    EXPECT_THROW(static_cast<void>(result.label(0)), InvalidArgument) << row;
  }
}

TEST(Answers, TellSubnormalValuesWhateverTheCallersFloatingPointMode) {
  const std::vector<double> small = {0x1p-1074, -0x1p-1060};
  const Index index = Index::build(row_major_table(std::span<const double>(small), {{"a", Preference::low}}));
  const SearchResult result = index.search({.weights = {-1}, .k = 2});
  ASSERT_EQ(result.hits.size(), 2U);
  double found[2] = {}, ends[3] = {};
  std::size_t num_hits = 0;
  {
    const HostileFloatingPoint hostile;
    found[0] = result.attribute(0, 0);
    found[1] = result.attribute(1, 0);
    ends[0] = index.info().attributes[0].minimum;
    ends[1] = index.info().attributes[0].maximum;
    ends[2] = std::get<double>(index.filter("a >= 5e-324").condition().values[0]);
    num_hits = index.search({.weights = {1}, .k = 9, .where = col("a") < 5e-324 && col("a") < 1}).hits.size();
  }
  EXPECT_EQ(found[0], -0x1p-1060);
  EXPECT_EQ(found[1], 0x1p-1074);
  EXPECT_EQ(ends[0], -0x1p-1060);
  EXPECT_EQ(ends[1], 0x1p-1074);
  EXPECT_EQ(ends[2], 0x1p-1074);
  EXPECT_EQ(num_hits, 1U);
}

TEST(Queries, MayNameTheirWeights) {
  const Index index = sample();
  EXPECT_EQ(index.weights({{"stars", 2.0}}), (std::vector<double>{0, 2}));
  EXPECT_EQ(index.weights({{"stars", 2.0}, {"price", -1.0}}), (std::vector<double>{-1, 2}));
  try {
    static_cast<void>(index.weights({{"rating", 2.0}}));
    FAIL();
  } catch (const InvalidArgument& error) {
    for (const std::string word : {"rating", "price, stars"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

// price 100, 200, 300 and stars 3, 5, 4 scale to 0, 1/2, 1 and 0, 1, 1/2.
TEST(Queries, MayScaleAttributesToZeroToOne) {
  const std::vector<Hit> hits = sample().search({.weights = {-1, 1}, .k = 3, .scale = Scale::minmax}).hits;
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].id, 1);
  EXPECT_DOUBLE_EQ(hits[0].score, 0.5);
  EXPECT_EQ(hits[1].id, 0);
  EXPECT_NEAR(hits[1].score, 0, 1e-15);
  EXPECT_EQ(hits[2].id, 2);
  EXPECT_DOUBLE_EQ(hits[2].score, -0.5);
}

// stars 3, 5, 4 have the mean 4 and the deviation sqrt(2 / 3).
TEST(Queries, MayScaleAttributesByTheirDeviations) {
  const Index index = sample();
  const std::vector<Hit> hits = index.search({.weights = {0, 1}, .k = 3, .scale = Scale::zscore}).hits;
  const double deviation = std::sqrt(2.0 / 3);
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].id, 1);
  EXPECT_DOUBLE_EQ(hits[0].score, 1 / deviation);
  EXPECT_EQ(hits[1].id, 2);
  EXPECT_NEAR(hits[1].score, 0, 1e-15);
  EXPECT_EQ(hits[2].id, 0);
  EXPECT_DOUBLE_EQ(hits[2].score, -1 / deviation);
  const IndexInfo info = index.info(Scale::zscore);
  EXPECT_EQ(info.attributes[0].mean, 200);
  EXPECT_EQ(info.attributes[1].mean, 4);
  EXPECT_DOUBLE_EQ(*info.attributes[1].deviation, deviation);
  EXPECT_FALSE(index.info().attributes[0].mean.has_value());
}

// The squares of these are beyond binary64.
TEST(Queries, MayScaleHugeAttributesByTheirDeviations) {
  const std::vector<double> huge = {kMax / 8, -kMax / 8, kMax / 8, -kMax / 8}, small = {0, 0x1p-1060, 0, 0};
  const Index index = Index::build({.num_rows = 4,
                                    .attributes = {{"huge", Preference::low}, {"small"}},
                                    .columns = {ColumnView(huge), ColumnView(small)},
                                    .ids = {},
                                    .labels = {}});
  EXPECT_EQ(index.info(Scale::zscore).attributes[0].deviation, kMax / 8);
  EXPECT_GT(*index.info(Scale::zscore).attributes[1].deviation, 0);
  const std::vector<Hit> hits = index.search({.weights = {2, 0}, .k = 4, .scale = Scale::zscore}).hits;
  ASSERT_EQ(hits.size(), 4u);
  EXPECT_EQ(hits[0], (Hit{0, 2, hits[0].row}));
  EXPECT_EQ(hits[3], (Hit{3, -2, hits[3].row}));
}

TEST(Queries, OfAPartOfATableNeedTheDeviationsOfTheTable) {
  const Index index = sample();
  const Query query{.weights = {1, 1}, .k = 3, .scale = Scale::zscore};
  const TableStatistics without = index.statistics(), with = index.statistics(Scale::zscore);
  EXPECT_THROW(static_cast<void>(index.search(query, {.statistics = &without})), InvalidArgument);
  EXPECT_EQ(index.search(query, {.statistics = &with}).hits, index.search(query).hits);
}

TEST(Queries, OfAPartOfATableNeedTheQuantilesOfTheTable) {
  const Index index = sample();
  const Query query{.weights = {1, 1}, .k = 3, .scale = Scale::rank};
  const TableStatistics without = index.statistics(), with = index.statistics(Scale::rank);
  EXPECT_THROW(static_cast<void>(index.search(query, {.statistics = &without})), InvalidArgument);
  EXPECT_EQ(index.search(query, {.statistics = &with}).hits, index.search(query).hits);
  EXPECT_FALSE(without.attributes[0].quantiles.has_value());
  EXPECT_FALSE(index.info().attributes[0].quantiles.has_value());
  EXPECT_EQ(index.info(Scale::rank).attributes[1].quantiles, (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(merge(std::vector{with, with}).attributes[1].quantiles, with.attributes[1].quantiles);
  EXPECT_FALSE(merge(std::vector{with, without}).attributes[1].quantiles.has_value());
  TableStatistics other = with;
  other.attributes[1].quantiles = {{3, 5}};
  EXPECT_THROW(static_cast<void>(merge(std::vector{with, other})), InvalidArgument);
}

TEST(Queries, MayScaleByQuantilesOfALargerTable) {
  const std::vector<double> values = {1, 2};
  const TableView table = {
      .num_rows = 2, .attributes = {{"a"}}, .columns = {ColumnView(values)}, .ids = {}, .labels = {}};
  const Index index = Index::build(table, {.quantiles = {{0, 1, 2, 3, 4}}});
  const std::vector<Hit> hits = index.search({.weights = {1}, .k = 2, .scale = Scale::rank}).hits;
  EXPECT_EQ(hits[0].score, 0.5);
  EXPECT_EQ(hits[1].score, 0.25);
  const std::vector<std::vector<std::vector<double>>> wrong = {
      {{0}, {1}}, {{1, 0}}, {{kInfinity}}, {std::vector<double>(258)}};
  for (const auto& quantiles : wrong)
    EXPECT_THROW(static_cast<void>(Index::build(table, {.quantiles = quantiles})), InvalidArgument);
}

TEST(Queries, ScaledOverAConstantAttributeIgnoreIt) {
  const std::vector<double> constant = {7, 7}, rising = {1, 2};
  const Index index = Index::build({.num_rows = 2,
                                    .attributes = {{"constant"}, {"rising"}},
                                    .columns = {ColumnView(constant), ColumnView(rising)},
                                    .ids = {},
                                    .labels = {}});
  for (const Engine engine : kEngines) {
    const auto search = [&](std::vector<double> weights, Scale scale) {
      return index.search({.weights = std::move(weights), .k = 2, .scale = scale}, {.engine = engine}).hits;
    };
    const std::vector<Hit> by_range = search({5, 1}, Scale::minmax),
                           by_deviation = search({5, 1}, Scale::zscore);
    EXPECT_EQ(by_range[0].id, 1);
    EXPECT_EQ(by_range[0].score, 1);
    EXPECT_EQ(by_range[1].score, 0);
    EXPECT_EQ(by_deviation[0].id, 1);
    EXPECT_EQ(by_deviation[0].score, 1);
    EXPECT_EQ(by_deviation[1].score, -1);
    for (const Scale scale : {Scale::minmax, Scale::zscore, Scale::rank}) {
      const std::vector<Hit> all_equal = search({5, 0}, scale);
      ASSERT_EQ(all_equal.size(), 2u);
      EXPECT_EQ(all_equal[0].id, 0);
      EXPECT_EQ(all_equal[0].score, 0);
    }
  }
}

TEST(Queries, OfAnEmptyIndexHaveNoHits) {
  const Index index = Index::build({.num_rows = 0,
                                    .attributes = {{"a"}},
                                    .columns = {ColumnView(std::span<const float>())},
                                    .ids = {},
                                    .labels = {}});
  EXPECT_EQ(index.info().num_rows, 0u);
  EXPECT_TRUE(index.verify().empty());
  for (const Engine engine : kEngines) {
    EXPECT_TRUE(index.search({.weights = {1}, .k = 3}, {.engine = engine}).hits.empty());
    EXPECT_TRUE(
        index.search({.weights = {1}, .k = std::nullopt, .min_score = 0}, {.engine = engine}).hits.empty());
    for (const Scale scale : {Scale::minmax, Scale::zscore})
      EXPECT_TRUE(index.search({.weights = {1}, .k = 3, .scale = scale}, {.engine = engine}).hits.empty());
  }
  EXPECT_TRUE(index.search_monotone(WeightedMinimum({1}), 3).hits.empty());
  EXPECT_FALSE(index.explain({.weights = {1}}).text.empty());
}

TEST(SearchStats, AddUpTheirCountersAndKeepTheRest) {
  const Query query = {.weights = {1, 2}, .k = 2};
  const SearchStats one = sample().search(query, {.engine = Engine::scan}).stats;
  SearchStats sum = one;
  sum += one;
  EXPECT_EQ(sum.rows_scored, 2 * one.rows_scored);
  EXPECT_EQ(sum.leaves_visited, 2 * one.leaves_visited);
  EXPECT_EQ(sum.candidates, 2 * one.candidates);
  EXPECT_EQ(sum.bytes_touched, 2 * one.bytes_touched);
  EXPECT_EQ(sum.rows_in_index, one.rows_in_index);
  EXPECT_EQ(sum.engine, Engine::scan);
  EXPECT_EQ(sum.elapsed_us, one.elapsed_us);
}

TEST(Queries, OfAnEmptyBatchHaveNoResults) {
  EXPECT_TRUE(sample().search(std::span<const Query>()).empty());
}

TEST(Info, SaysWhatWasBuilt) {
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 3);
  const IndexInfo info = Index::build(table.view(), {.num_splits = 3, .leaf_rows = 16}).info();
  EXPECT_EQ(info.num_rows, 1000u);
  EXPECT_EQ(info.num_partitions, 9u);
  EXPECT_EQ(info.num_splits, 3);
  EXPECT_EQ(info.leaf_rows, 16);
  EXPECT_GE(info.num_leaves, 1000u / 16);
  EXPECT_EQ(info.height, 2);
  const Oracle oracle(table.view(), false);
  for (std::size_t i = 0; i < 3; ++i) {
    double lowest = 2, highest = -2;
    for (std::size_t row = 0; row < 1000; ++row) {
      lowest = std::min(lowest, oracle.value(row, i));
      highest = std::max(highest, oracle.value(row, i));
    }
    EXPECT_EQ(info.attributes[i].name, table.attributes[i].name);
    EXPECT_EQ(info.attributes[i].preference, table.attributes[i].preference);
    EXPECT_EQ(info.attributes[i].minimum, lowest);
    EXPECT_EQ(info.attributes[i].maximum, highest);
  }
}

}  // namespace
}  // namespace culmen::test
