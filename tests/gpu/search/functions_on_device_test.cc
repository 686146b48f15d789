// Terms besides the weights, and ranks, on a GPU: the CPU's ids and score bits, by every engine that takes them, in batches
// and after changes. Random ones are in fields_on_device_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/write.h"
#include "tests/answer_arrays.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/generators.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// A table of goods: price (low), rating, weight; reviews, day, brand.
class Goods {
 public:
  explicit Goods(std::size_t num_rows) {
    Random random(71);
    for (std::size_t row = 0; row < num_rows; ++row) {
      prices_.push_back(std::exp(random.uniform(0, 6)));
      ratings_.push_back(static_cast<double>(random.below(10)) / 2);
      weights_.push_back(random.uniform(-1, 1));
      reviews_.push_back(std::floor(std::exp(random.uniform(0, 9)) - 1));
      days_.push_back(19'000 + static_cast<std::int64_t>(random.below(1500)));
      const std::string brand = "brand " + std::to_string(random.below(40));
      letters_.insert(letters_.end(), brand.begin(), brand.end());
      ends_.push_back(letters_.size());
    }
  }

  Index index(const BuildOptions& options = {}) const {
    TableView table;
    table.num_rows = prices_.size();
    table.attributes = {{"price", Preference::low}, {"rating"}, {"weight"}};
    table.columns = {prices_, ratings_, weights_};
    table.fields = {{"reviews"},
                    {"day", FieldRole::filter, {ColumnType::date}},
                    {"brand", FieldRole::filter, {ColumnType::text}}};
    table.field_views = {ColumnView(reviews_), ColumnView(days_), TextView{{letters_, ends_}, {}}};
    return Index::build(table, options);
  }

 private:
  std::vector<double> prices_, ratings_, weights_, reviews_;
  std::vector<std::int64_t> days_;
  std::vector<char> letters_;
  std::vector<std::uint64_t> ends_ = {0};
};

// One of each kind, and together, with weights and without.
std::vector<Query> queries_with_terms(const Index& goods) {
  const std::vector<std::string> texts = {
      "near(price, 100)",
      "2 * near(weight, 0.25) + decay(day, '2023-05-01', 30, exp)",
      "decay(price, 20, 5, linear) + decay(weight, 0, 0.1, gauss)",
      "log1p(reviews) - sqrt(price) + saturate(reviews, 100)",
      "log(price) - 0.5 * near(price, 50)",
      "3 * [brand = 'brand 7'] + 2 * [brand = 'brand 8'] - [brand = 'brand 9']",
      "[price < 30 and rating >= 4] - 5 * [reviews < 10 or day > '2024-01-01']",
      "[id < 1000] + 0.25 * [brand in ('brand 1', 'brand 2')] + decay(day, '2022-01-01', 365, gauss)"};
  std::vector<Query> queries;
  for (const std::string& text : texts)
    for (const std::vector<double>& weights :
         std::vector<std::vector<double>>{{0, 0, 0}, {-0.01, 1, 0.3}, {0, 0, -2}})
      for (const std::size_t k : {1, 20, 500})
        queries.push_back({.weights = weights, .k = k, .terms = goods.terms(text)});
  for (const std::vector<double>& weights : std::vector<std::vector<double>>{{-1, 1, 0.5}, {0, 0, 1}})
    for (const std::size_t k : {1, 20, 500}) {
      queries.push_back({.weights = weights, .k = k, .scale = Scale::rank});
      queries.push_back({.weights = weights,
                         .k = k,
                         .where = goods.filter("price < 100 and brand < 'brand 3'"),
                         .scale = Scale::rank,
                         .terms = goods.terms("0.5 * near(price, 10) + [rating = 4.5]")});
    }
  return queries;
}

void expect_answers_of_cpu(const Index& index, const DeviceIndex& on_gpu, const std::vector<Query>& queries) {
  const std::vector<SearchResult> batch = on_gpu.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<Hit> expected = index.search(queries[q]).hits;
    EXPECT_EQ(batch[q].hits, expected) << "in a batch: " << describe(queries[q]);
    for (const Engine engine : {Engine::automatic, Engine::bounded, Engine::scan}) {
      EXPECT_EQ(on_gpu.search(queries[q], {.engine = engine}).hits, expected)
          << engine_name(engine) << ": " << describe(queries[q]);
    }
  }
}

TEST(DeviceFunctions, AnswerAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  for (const std::size_t num_rows : {1, 40, 3000, 200'000}) {
    const Index index = Goods(num_rows).index();
    for (const bool resident : {false, true})
      expect_answers_of_cpu(index, index.to_device({.resident = resident}), queries_with_terms(index));
  }
}

TEST(DeviceFunctions, TakeAnyK) {
  SKIP_WITHOUT_GPU();
  const Index index = Goods(120'000).index();
  const DeviceIndex on_gpu = index.to_device();
  std::vector<Query> queries;
  for (const std::size_t k : {1024, 1025, 30'000, 120'001}) {
    queries.push_back({.weights = {0, 1, 0}, .k = k, .terms = index.terms("near(price, 30)")});
    queries.push_back({.weights = {-1, 1, 1}, .k = k, .scale = Scale::rank});
  }
  queries.push_back(
      {.weights = {0, 0, 0}, .k = std::nullopt, .min_score = -3, .terms = index.terms("near(price, 30)")});
  expect_answers_of_cpu(index, on_gpu, queries);
}

// Nearly all rows have one of two scores.
TEST(DeviceFunctions, BreakTiesByTheSmallerId) {
  SKIP_WITHOUT_GPU();
  const Index index = Goods(150'000).index();
  std::vector<Query> queries;
  for (const char* text :
       {"[price < 400]", "0.1 * [rating < 3]", "[day > '1999-01-01'] - [brand = 'brand 3']"})
    for (const std::size_t k : {1, 100, 1000, 5000})
      queries.push_back({.weights = {0, 0, 0}, .k = k, .terms = index.terms(text)});
  expect_answers_of_cpu(index, index.to_device(), queries);
}

TEST(DeviceFunctions, Prune) {
  SKIP_WITHOUT_GPU();
  const auto expect_pruned = [](const Index& index, const Query& query) {
    const SearchResult result = index.to_device().search(query);
    EXPECT_EQ(result.hits, index.search(query).hits) << describe(query);
    EXPECT_LT(result.stats.rows_scored, 200'000U) << describe(query);
  };
  const Goods goods(400'000);
  const Index index = goods.index(), by_day = goods.index({.cluster = "day"});
  const auto with = [&](const char* terms) {
    return Query{.weights = {0, 0.01, 0}, .k = 20, .terms = index.terms(terms)};
  };
  expect_pruned(index, with("near(price, 100)"));
  expect_pruned(index, with("10 * [brand = 'brand 7']"));
  expect_pruned(index, {.weights = {-1, 1, 1}, .k = 20, .scale = Scale::rank});
  expect_pruned(by_day, with("decay(day, '2023-05-01', 30, exp)"));
}

// Of different terms, some without any.
TEST(DeviceFunctions, DifferWithinABatch) {
  SKIP_WITHOUT_GPU();
  const Index index = Goods(60'000).index();
  const DeviceIndex on_gpu = index.to_device();
  Random random(72);
  std::vector<Query> queries;
  for (int q = 0; q < 600; ++q) {
    Query query = {.weights = random_weights(random, 3), .k = 16};
    if (random.chance(0.3))
      query.terms = {ScoreTerm::near("price", random.uniform(1, 300)).times(random.uniform(-1, 1))};
    if (random.chance(0.3)) query.scale = Scale::rank;
    if (random.chance(0.3)) query.where = col("rating") >= random.uniform(0, 4);
    queries.push_back(query);
  }
  const std::vector<SearchResult> batch = on_gpu.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q)
    EXPECT_EQ(batch[q].hits, index.search(queries[q]).hits) << describe(queries[q]);
}

TEST(DeviceFunctions, AreInBatchesOfWeights) {
  SKIP_WITHOUT_GPU();
  const Index index = Goods(60'000).index();
  const DeviceIndex on_gpu = index.to_device();
  Random random(73);
  std::vector<double> weights;
  for (int q = 0; q < 300; ++q)
    for (const double weight : random_weights(random, 3)) weights.push_back(weight);
  QueryBatch batch = {.weights = weights, .k = 16};
  for (const Scale scale : {Scale::none, Scale::rank})
    for (const char* text : {"", "near(price, 30) + [brand = 'brand 5']"}) {
      batch.scale = scale;
      batch.terms = index.terms(text);
      const BatchAnswers expected = index.search_batch(batch);
      const BatchAnswers found = on_gpu.search_batch(batch);
      EXPECT_EQ(found.ids, expected.ids) << text;
      EXPECT_EQ(found.scores, expected.scores) << text;
      EXPECT_EQ(found.counts, expected.counts) << text;
      expect_in_arrays(on_gpu, batch, expected);
    }
}

// Ranks by the quantiles of the build, terms by the values of the version.
TEST(DeviceFunctions, FollowChanges) {
  SKIP_WITHOUT_GPU();
  Index index = Goods(20'000).index();
  const DeviceIndex on_gpu = index.to_device();
  const std::vector<Query> queries = queries_with_terms(index);
  expect_answers_of_cpu(index, on_gpu, {queries.front(), queries.back()});
  WriteBatch changes;
  changes.erase_where(index.filter("price between 20 and 200 or rating = 1"));
  index.write(changes);
  expect_answers_of_cpu(index, on_gpu, queries);
}

// More attributes than shared memory holds, and queries too large for a kernel's parameter.
TEST(DeviceFunctions, TakeWideTables) {
  SKIP_WITHOUT_GPU();
  Random random(74);
  for (const int num_attributes : {30, 64, 65, 200}) {
    const Table table = random_table(random, ValueClass::uniform_f32, 5000, num_attributes);
    const Index index = Index::build(table.view());
    std::vector<Query> queries;
    for (int q = 0; q < 10; ++q) {
      Query query = {.weights = random_weights(random, static_cast<std::size_t>(num_attributes)), .k = 10};
      if (q % 2 == 0) query.scale = Scale::rank;
      for (int a = q; a < num_attributes; a += 7)
        query.terms.push_back(ScoreTerm::near(a, random.unit()).times(random.uniform(-2, 2)));
      queries.push_back(query);
    }
    expect_answers_of_cpu(index, index.to_device(), queries);
  }
}

TEST(DeviceFunctions, AreRefusedByGta) {
  SKIP_WITHOUT_GPU();
  const Index index = Goods(1000).index();
  const DeviceIndex on_gpu = index.to_device();
  const std::string refusal =
      "the engine gta takes no score terms, no scale by rank, no `after` and no `per` on a GPU; bounded and "
      "scan do";
  for (const Query& query : {Query{.weights = {1, 1, 1}, .terms = {ScoreTerm::sqrt("price")}},
                             Query{.weights = {1, 1, 1}, .scale = Scale::rank}}) {
    EXPECT_EQ(
        error_of<InvalidArgument>([&] { static_cast<void>(on_gpu.search(query, {.engine = Engine::gta})); }),
        refusal);
    EXPECT_EQ(error_of<InvalidArgument>(
                  [&] { static_cast<void>(on_gpu.search(std::vector(2, query), {.engine = Engine::gta})); }),
              refusal);
  }
}

}  // namespace
}  // namespace culmen::test
