// What a query may be: each refusal of the contract, and queries at its edges.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "culmen/error.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kMax = std::numeric_limits<double>::max();

Index sample() {
  static const std::vector<double> price = {100, 200, 300}, stars = {3, 5, 4};
  return Index::build({.num_rows = 3,
                       .attributes = {{"price", Preference::low}, {"stars"}},
                       .columns = {ColumnView(price.data()), ColumnView(stars.data())},
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

std::vector<Refusal> refused_queries() {
  return {
      Refusal{"ask_for_nothing", {.weights = {1, 1}, .k = 0}, {"k is 0"}},
      Refusal{"have_too_few_weights", {.weights = {1}}, {"1 weights", "2 attributes", "price, stars"}},
      Refusal{"have_too_many_weights", {.weights = {1, 2, 3}}, {"3 weights", "price, stars"}},
      Refusal{"have_no_weights", {.weights = {}}, {"0 weights"}},
      Refusal{"have_zero_weights_only", {.weights = {0, -0.0}}, {"zero"}},
      Refusal{"have_a_nan_weight", {.weights = {1, kNan}}, {"stars", "finite"}},
      Refusal{"have_an_infinite_weight", {.weights = {-kInfinity, 1}}, {"price", "finite"}},
      Refusal{"could_overflow", {.weights = {kMax, 1}}, {"overflow"}},
      Refusal{"could_overflow_in_the_sum", {.weights = {kMax / 400, kMax / 8}}, {"overflow"}},
      Refusal{"could_overflow_when_scaled", {.weights = {1, kMax}, .scale = Scale::minmax}, {"overflow"}},
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
  EXPECT_THROW(
      static_cast<void>(sample().search({.weights = {1, 1}}, {.engine = Engine::scan, .num_threads = -1})),
      InvalidArgument);
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

TEST(Queries, ScaledOverAConstantAttributeIgnoreIt) {
  const std::vector<double> constant = {7, 7}, rising = {1, 2};
  const Index index = Index::build({.num_rows = 2,
                                    .attributes = {{"constant"}, {"rising"}},
                                    .columns = {ColumnView(constant.data()), ColumnView(rising.data())},
                                    .ids = {},
                                    .labels = {}});
  for (const Engine engine : kEngines) {
    const std::vector<Hit> hits =
        index.search({.weights = {5, 1}, .k = 2, .scale = Scale::minmax}, {.engine = engine}).hits;
    EXPECT_EQ(hits[0].id, 1);
    EXPECT_EQ(hits[0].score, 1);
    EXPECT_EQ(hits[1].score, 0);
    const std::vector<Hit> all_equal =
        index.search({.weights = {5, 0}, .k = 2, .scale = Scale::minmax}, {.engine = engine}).hits;
    ASSERT_EQ(all_equal.size(), 2u);
    EXPECT_EQ(all_equal[0].id, 0);
    EXPECT_EQ(all_equal[0].score, 0);
  }
}

TEST(Queries, OfAnEmptyIndexHaveNoHits) {
  const Index index = Index::build({.num_rows = 0,
                                    .attributes = {{"a"}},
                                    .columns = {ColumnView(static_cast<const float*>(nullptr))},
                                    .ids = {},
                                    .labels = {}});
  EXPECT_EQ(index.info().num_tuples, 0u);
  EXPECT_TRUE(index.verify().empty());
  for (const Engine engine : kEngines) {
    EXPECT_TRUE(index.search({.weights = {1}, .k = 3}, {.engine = engine}).hits.empty());
    EXPECT_TRUE(index.search({.weights = {1}, .k = 0, .min_score = 0}, {.engine = engine}).hits.empty());
    EXPECT_TRUE(
        index.search({.weights = {1}, .k = 3, .scale = Scale::minmax}, {.engine = engine}).hits.empty());
  }
  EXPECT_TRUE(index.search_monotone(WeightedMinimum({1}), 3).hits.empty());
  EXPECT_FALSE(index.explain({.weights = {1}}).text.empty());
}

TEST(Queries, OfAnEmptyBatchHaveNoResults) {
  EXPECT_TRUE(sample().search(std::span<const Query>()).empty());
}

TEST(Info, SaysWhatWasBuilt) {
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 3);
  const IndexInfo info = Index::build(table.view(), {.num_splits = 3, .block_rows = 16}).info();
  EXPECT_EQ(info.num_tuples, 1000u);
  EXPECT_EQ(info.num_partitions, 9u);
  EXPECT_EQ(info.num_splits, 3);
  EXPECT_EQ(info.block_rows, 16);
  EXPECT_GE(info.num_blocks, 1000u / 16);
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
