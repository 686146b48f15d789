// The engines on the GPU against the oracle, and the other guarantees of a DeviceIndex.
//
// CULMEN_TEST_CASES and CULMEN_TEST_SEED as in tests/cpu/engines_test.cc.
#include "culmen/device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "culmen/error.h"
#include "tests/answer_arrays.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/stops.h"

namespace culmen::test {
namespace {

class DeviceEngines : public testing::TestWithParam<ValueClass> {};

TEST_P(DeviceEngines, ReturnTheOraclesRowsAndScoreBits) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kDefaultCases = 5000;
  const std::uint64_t num_tables = num_cases(kDefaultCases) / (8 * kNumValueClasses) + 1;
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  std::size_t answers = 0;
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 2'000'000'000 + t;
    const Trial trial(seed, GetParam());
    const std::string wrong = trial.run();
    ASSERT_EQ(wrong, "") << rerun_command(seed, "device_test",
                                          "*/" + std::string(value_class_name(GetParam())));
    for (const std::vector<Answer>& expected : trial.expected) answers += expected.size();
    if (only_seed() != 0) return;
  }
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(answers, num_tables);
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, DeviceEngines, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

TEST(Device, TakesSizesAroundTheEdgesOfWarpsAndLeaves) {
  SKIP_WITHOUT_GPU();
  Random random(11);
  for (const int leaf_rows : {16, 32, 96, 112, 512})
    for (const std::size_t num_rows :
         {1, 2, 15, 16, 17, 31, 32, 33, 95, 96, 97, 512, 513, 3071, 3072, 3073}) {
      const Table table = random_table(random, ValueClass::small_integers, num_rows, 3);
      std::vector<Query> queries;
      for (const std::size_t k : {std::size_t{1}, num_rows - 1, num_rows, num_rows + 1})
        if (k > 0) queries.push_back({.weights = {1, -2, 0.5}, .k = k});
      expect_oracle(table.view(), {.leaf_rows = leaf_rows}, queries);
    }
}

TEST(Device, TakesAnyK) {
  SKIP_WITHOUT_GPU();
  Random random(12);
  const Table table = random_table(random, ValueClass::uniform_f32, 300'000, 4);
  std::vector<Query> queries;
  for (const std::size_t k :
       {1, 2, 31, 32, 33, 127, 128, 129, 1023, 1024, 1025, 5000, 70'000, 299'999, 300'000, 300'001})
    queries.push_back({.weights = {0.1, 0.9, 0.4, 0.7}, .k = k});
  queries.push_back({.weights = {1, 1, 1, 1}, .k = std::nullopt, .min_score = 2.5});
  queries.push_back({.weights = {1, -1, 1, -1}, .k = std::nullopt, .min_score = -0.5});
  expect_oracle(table.view(), {}, queries);
}

// More rows tie than the candidate list holds.
TEST(Device, BreaksTiesByTheSmallerIdHoweverManyTie) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kRows = 400'000;
  std::vector<float> constant(kRows, 0.5f);
  std::vector<float> few(kRows);
  for (std::size_t row = 0; row < kRows; ++row) few[row] = static_cast<float>(row % 3);
  std::vector<std::int64_t> ids(kRows);
  for (std::size_t row = 0; row < kRows; ++row)  // a bijection, in no order
    ids[row] = static_cast<std::int64_t>((row * 2'654'435'761u + 7) % (1ull << 32));
  TableView table;
  table.num_rows = kRows;
  table.attributes = {{"constant"}, {"few"}};
  table.columns = {ColumnView(constant), ColumnView(few)};
  table.ids = ids;
  expect_oracle(table, {},
                {{.weights = {1, 0}, .k = 1},
                 {.weights = {1, 0}, .k = 300},
                 {.weights = {0.1, 1}, .k = 16},
                 {.weights = {0.1, -1}, .k = 2000},
                 {.weights = {0.3, 0.7}, .k = 1000}});
}

// One row is the best by one unit in the last place, and one is worse by a few. All others tie, below the score of the
// best key by less than the rounding of that score.
template <typename T>
void expect_best_by_one_unit(Random& random, std::size_t num_rows) {
  const T base = std::is_same_v<T, float> ? T(0x1p23) : T(0x1p52);
  std::vector<T> values(num_rows, base + 40);
  const std::size_t best = random.below(num_rows), worst = (best + 1 + random.below(num_rows - 1)) % num_rows;
  values[best] = base + 41;
  values[worst] = base;
  TableView table;
  table.num_rows = num_rows;
  table.attributes = {{"a"}};
  table.columns = {ColumnView(values)};
  const DeviceIndex index = Index::build(table).to_device();
  for (const std::size_t k : {1, 3, 40, 1000}) {
    const Query query = {.weights = {1}, .k = k};
    std::vector<Hit> expected = index.search(std::vector<Query>{query})[0].hits;
    ASSERT_EQ(expected.size(), k);
    ASSERT_EQ(expected[0].id, static_cast<std::int64_t>(best));
    std::int64_t id = 0;  // the others tie
    for (std::size_t i = 1; i < k; ++i, ++id) {
      while (id == expected[0].id || id == static_cast<std::int64_t>(worst)) ++id;
      ASSERT_EQ(expected[i].id, id);
    }
    for (const Engine engine : kDeviceEngines)
      EXPECT_EQ(index.search(query, {.engine = engine}).hits, expected)
          << engine_name(engine) << ", k " << k << ", " << num_rows << " rows, the best is " << best;
  }
}

TEST(Device, FindsTheBestByOneUnitInTheLastPlaceHoweverManyTieBehindIt) {
  SKIP_WITHOUT_GPU();
  Random random(18);
  for (const std::size_t num_rows : {2500, 2500, 2500, 2500, 12'000, 12'000, 20'000, 300'000, 3'000'000}) {
    if (num_rows > 3000 * num_cases(5000)) continue;  // a sanitizer has asked for few
    expect_best_by_one_unit<double>(random, num_rows);
    expect_best_by_one_unit<float>(random, num_rows);
  }
}

// With such weights bounds carry an error bound, so that only zone maps and ids can exclude a leaf.
TEST(Device, VisitsFewOfTheMillionsOfRowsThatTie) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kRows = 4'000'000;
  Random random(17);
  std::vector<float> halves(kRows), stars(kRows), tenths(kRows);
  std::vector<std::int64_t> ids(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    halves[row] = 0.5f * static_cast<float>(random.below(3));
    stars[row] = static_cast<float>(1 + random.below(5));
    tenths[row] = 0.1f * static_cast<float>(random.below(2));  // not representable in binary16
    ids[row] = static_cast<std::int64_t>((row * 2'654'435'761u + 7) % (1ull << 32));
  }
  TableView table;
  table.num_rows = kRows;
  table.attributes = {{"halves"}, {"stars"}, {"tenths"}};
  table.columns = {ColumnView(halves), ColumnView(stars), ColumnView(tenths)};
  table.ids = ids;
  const Index index = Index::build(table);
  const DeviceIndex on_gpu = index.to_device();
  for (const std::vector<double>& weights : std::initializer_list<std::vector<double>>{
           {1, 1, 0}, {0.1, 0.7, 0}, {0.3, 0.1, 0.9}, {0.3, -0.1, 0}, {0, 0, 1}, {-0.1, -0.2, -0.3}})
    for (const std::size_t k : {1, 16, 256, 1000}) {
      const Query query = {.weights = weights, .k = k};
      const std::vector<Hit> expected = index.search(query, {.engine = Engine::scan}).hits;
      const SearchResult best_first = on_gpu.search(query);
      EXPECT_EQ(best_first.hits, expected) << describe(query);
      EXPECT_LT(best_first.stats.rows_scored, kRows / 8) << describe(query);
      const SearchResult scanned = on_gpu.search(query, {.engine = Engine::scan});
      EXPECT_EQ(scanned.hits, expected) << describe(query);
      EXPECT_EQ(scanned.stats.rows_by_codes, kRows) << describe(query);  // one pass
      const SearchResult in_batch = on_gpu.search(std::vector<Query>{query})[0];
      EXPECT_EQ(in_batch.hits, expected) << describe(query);
      EXPECT_LT(in_batch.stats.rows_scored, kRows / 8) << describe(query);
    }
}

TEST(Device, AnswersALargeTableAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  Random random(13);
  const Table table = random_table(random, ValueClass::anticorrelated, 2'000'000, 8);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  std::vector<Query> queries;
  for (int q = 0; q < 40; ++q)
    queries.push_back({.weights = random_weights(random, table.columns.size()),
                       .k = static_cast<std::size_t>(random.pick({1, 16, 128, 256, 1000}))});
  const std::vector<SearchResult> batch = on_gpu.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<Hit> expected = index.search(queries[q]).hits;
    EXPECT_EQ(batch[q].hits, expected) << "batch, " << describe(queries[q]);
    for (const Engine engine : kDeviceEngines) {
      const SearchResult result = on_gpu.search(queries[q], {.engine = engine});
      EXPECT_EQ(result.hits, expected) << engine_name(engine) << ", " << describe(queries[q]);
      if (engine == Engine::scan) {
        EXPECT_EQ(result.stats.rows_by_codes, table.num_rows);
        // Where a weight has few digits, or may have them once it is scaled, codes say nothing.
        const bool has_digits = std::ranges::none_of(
            queries[q].weights, [](double weight) { return weight != 0 && std::fabs(weight) < 1e-200; });
        if (has_digits) {
          EXPECT_LT(result.stats.rows_scored, table.num_rows / 4) << describe(queries[q]);
        }
      }
    }
  }
}

// Scores with few digits, or none: their rounding is not relative to their sizes.
TEST(Device, AnswersWhereScoresAreDenormal) {
  SKIP_WITHOUT_GPU();
  Random random(14);
  for (const int num_attributes : {3, 12, 32}) {
    const Table table = random_table(random, ValueClass::uniform_f32, 20'000, num_attributes);
    const Index index = Index::build(table.view());
    const DeviceIndex on_gpu = index.to_device();
    for (const int exponent : {-900, -1000, -1040, -1060, -1068, -1072}) {
      Query query = {.weights = {}, .k = random.pick<std::size_t>({10, 300, 3000})};
      for (int a = 0; a < num_attributes; ++a)
        query.weights.push_back(std::ldexp(random.uniform(-1, 1), exponent));
      const std::vector<Hit> expected = index.search(query).hits;
      for (const Engine engine : {Engine::bounded, Engine::scan})
        EXPECT_EQ(on_gpu.search(query, {.engine = engine}).hits, expected)
            << engine_name(engine) << ", " << describe(query);
    }
  }
}

TEST(Device, AnswersManyThreadsAtOnce) {
  SKIP_WITHOUT_GPU();
  Random random(14);
  const Table table = random_table(random, ValueClass::uniform_f32, 200'000, 6);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  std::vector<Query> queries;
  std::vector<std::vector<Hit>> expected;
  for (int q = 0; q < 64; ++q) {
    queries.push_back({.weights = random_weights(random, table.columns.size()), .k = 50});
    expected.push_back(index.search(queries.back()).hits);
  }
  std::vector<std::string> faults(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < faults.size(); ++t)
      threads.emplace_back([&, t] {
        for (std::size_t q = t; q < 8 * queries.size(); q += 3) {
          const std::size_t i = q % queries.size();
          const Engine engine = kDeviceEngines[(q + t) % kDeviceEngines.size()];
          if (on_gpu.search(queries[i], {.engine = engine}).hits != expected[i])
            faults[t] = std::string(engine_name(engine));
          if (q % 32 == t && on_gpu.search(queries)[i].hits != expected[i]) faults[t] = "batch";
        }
      });
  }
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
}

TEST(Device, AnswersAnEmptyIndex) {
  SKIP_WITHOUT_GPU();
  TableView table;
  table.attributes = {{"a"}};
  table.columns = {ColumnView(std::span<const float>())};
  const DeviceIndex index = Index::build(table).to_device();
  EXPECT_TRUE(index.search({.weights = {1}, .k = 3}).hits.empty());
  EXPECT_EQ(index.search(std::vector<Query>{{.weights = {1}, .k = 3}}).size(), 1u);
  EXPECT_EQ(index.device_bytes(), 0u);
}

TEST(Device, AnswersABatchInFlatArraysAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  Random random(16);
  const Table table = random_table(random, ValueClass::small_integers, 5000, 3);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  std::vector<double> weights;
  for (int q = 0; q < 100; ++q)
    for (const double weight : random_weights(random, 3)) weights.push_back(weight);
  for (const std::size_t k : {1, 100, 6000}) {
    const QueryBatch batch = {.weights = weights, .k = k, .where = {{0, 1, 9}}, .min_score = 0};
    const BatchAnswers expected = index.search_batch(batch), found = on_gpu.search_batch(batch);
    EXPECT_EQ(found.k, expected.k);
    EXPECT_EQ(found.ids, expected.ids);
    EXPECT_EQ(found.scores, expected.scores);
    EXPECT_EQ(found.counts, expected.counts);
    expect_in_arrays(on_gpu, batch, expected);
    expect_arrays_are_checked(on_gpu, batch, 100);
  }
  const Index small = Index::build(random_table(random, ValueClass::small_integers, 50, 3).view());
  const QueryBatch wide = {.weights = weights, .k = 100, .min_score = 0};
  expect_in_arrays(small.to_device(), wide, small.search_batch(wide));
  EXPECT_THROW(static_cast<void>(on_gpu.search_batch({.weights = std::span(weights).first(2)})),
               InvalidArgument);
}

// The text of the error that a batch throws, or its answers.
std::string outcome_of(const auto& index, const QueryBatch& batch, BatchAnswers& answers) {
  try {
    answers = index.search_batch(batch);
    return "";
  } catch (const InvalidArgument& error) {
    return error.what();
  }
}

std::string difference_of(const auto& index, const auto& on_gpu, const QueryBatch& batch) {
  BatchAnswers expected, found;
  const std::string error = outcome_of(index, batch, expected), other = outcome_of(on_gpu, batch, found);
  if (error.empty() != other.empty()) return "\"" + error + "\" and \"" + other + "\"";
  if (found.num_queries != expected.num_queries || found.k != expected.k) return "shapes";
  if (found.counts != expected.counts) return "counts";
  if (found.ids != expected.ids) return "ids";
  return found.scores == expected.scores ? "" : "scores";
}

// One query of each trial, with other weights: filters, missing values, min_score, both scales.
TEST_P(DeviceEngines, AnswerFlatBatchesAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  const std::uint64_t num_tables = num_cases(1000) / (8 * kNumValueClasses) + 1;
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 4'000'000'000 + t;
    const Trial trial(seed, GetParam());
    const Index index = Index::build(trial.table.view(), trial.options);
    const DeviceIndex on_gpu = index.to_device({.memory = trial.memory});
    Random random(seed);
    for (const Query& query : trial.queries) {
      std::vector<double> weights = query.weights;
      while (weights.size() < 50 * query.weights.size())
        for (const double weight : random_weights(random, query.weights.size())) weights.push_back(weight);
      const QueryBatch batch = {.weights = weights,
                                .k = query.k.value_or(20),
                                .where = query.where,
                                .min_score = query.min_score,
                                .scale = query.scale,
                                .missing = query.missing};
      ASSERT_EQ(difference_of(index, on_gpu, batch), "")
          << describe(query) << "\n"
          << rerun_command(seed, "device_test", "*/" + std::string(value_class_name(GetParam())));
    }
    if (only_seed() != 0) return;
  }
}

// Several parts of a batch are under way at once.
TEST(Device, AnswersFlatBatchesOfManyParts) {
  SKIP_WITHOUT_GPU();
  Random random(19);
  const Table table = random_table(random, ValueClass::uniform_f32, 3000, 2);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  std::vector<double> weights;
  for (int q = 0; q < 70'000; ++q)
    for (const double weight : random_weights(random, 2)) weights.push_back(weight);
  for (const std::size_t num_queries : {1, 16'383, 16'384, 16'385, 32'768, 70'000})
    EXPECT_EQ(difference_of(index, on_gpu, {.weights = std::span(weights).first(2 * num_queries), .k = 3}),
              "");
  for (const std::size_t wrong : {0, 16'384, 40'000, 69'999}) {
    std::vector<double> some = weights;
    some[2 * wrong] = std::numeric_limits<double>::infinity();
    BatchAnswers none;
    EXPECT_EQ(outcome_of(on_gpu, {.weights = some, .k = 1}, none),
              outcome_of(index, {.weights = some, .k = 1}, none));
    some[2 * wrong] = some[2 * wrong + 1] = 0;
    EXPECT_EQ(outcome_of(on_gpu, {.weights = some, .k = 1}, none),
              outcome_of(index, {.weights = some, .k = 1}, none));
    EXPECT_NE(outcome_of(on_gpu, {.weights = some, .k = 1}, none), "");
  }
  for (const std::size_t k : {1000, 1024, 1025, 5000})
    EXPECT_EQ(difference_of(index, on_gpu, {.weights = std::span(weights).first(2 * 5000), .k = k}), "");
}

TEST(Device, RefusesWhatItCannotDo) {
  SKIP_WITHOUT_GPU();
  Random random(15);
  const Table table = random_table(random, ValueClass::uniform_f32, 5000, 2);
  const Index on_cpu = Index::build(table.view());
  const DeviceIndex index = on_cpu.to_device();
  EXPECT_THROW(static_cast<void>(index.search({.weights = {1, 1}, .k = 3}, {.engine = Engine::ta})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search({.weights = {1, 1}, .k = 1025}, {.engine = Engine::gta})),
               InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search({.weights = {1}, .k = 3})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.search({.weights = {1, 1}, .k = 3, .where = col("c") < 1})),
               InvalidArgument);
  for (const Filter& filter :
       {col(0) < 0.5 || col(1) < 0.5, id_col() < 7, col(0) != 0.5, col(1).in({0.25, 0.75})}) {
    const Query query = {.weights = {1, 1}, .k = 3, .where = filter};
    EXPECT_EQ(index.search(query).hits, on_cpu.search(query).hits) << filter.text();
    EXPECT_EQ(index.search(std::vector{query, query})[1].hits, on_cpu.search(query).hits);
  }
  const Query ranges = {
      .weights = {1, 1}, .k = 3, .where = !(col(0) > 0.5) && (col(1) < 0.25 || col(1) < 0.5)};
  EXPECT_EQ(index.search(ranges).hits, on_cpu.search(ranges).hits);
  EXPECT_TRUE(index.search({.weights = {1, 1}, .k = 3, .where = col(0) < 0 || col(1) > 2}).hits.empty());
  EXPECT_TRUE(
      index.search(std::vector{2, Query{.weights = {1, 1}, .k = 3, .where = !Filter()}})[1].hits.empty());
  EXPECT_EQ(index.search({.weights = {1, 1}, .k = 3}).hits.size(), 3u);  // and goes on
}

TEST(Device, EndsSearchesThatAreStopped) {
  SKIP_WITHOUT_GPU();
  Random random(17);
  expect_stops(uniform_index(random, 20'000).to_device(),
               {Engine::automatic, Engine::scan, Engine::gta, Engine::bounded});
}

TEST(Device, TellsHowManyQueriesAreAnswered) {
  SKIP_WITHOUT_GPU();
  Random random(18);
  const DeviceIndex on_device = uniform_index(random, 200'000).to_device();
  const std::vector<double> weights = weights_of_queries(random, 400'000);
  const QueryBatch batch = {.weights = weights, .k = 32};
  std::vector<std::size_t> counts;
  SearchOptions options;
  options.on_progress = [&](std::size_t answered, std::size_t queries) {
    EXPECT_EQ(queries, 400'000U);
    counts.push_back(answered);
  };
  EXPECT_EQ(on_device.search_batch(batch, options).ids, on_device.search_batch(batch).ids);
  EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
  options.on_progress = [](std::size_t /*answered*/, std::size_t /*queries*/) {
    throw std::logic_error("enough");
  };
  if (!counts.empty()) {
    EXPECT_THROW(static_cast<void>(on_device.search_batch(batch, options)), std::logic_error);
  }
}

// Runs everywhere: no machine has that many GPUs.
TEST(Device, SaysWhenThereIsNoSuchGpu) {
  Random random(16);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
  const Index index = Index::build(table.view());
  EXPECT_THROW(static_cast<void>(index.to_device({.device = 10'000})), CudaError);
  EXPECT_THROW(static_cast<void>(index.to_device({.device = -1})), CudaError);
}

TEST(Device, NamesItsKindsOfMemory) {
  for (const char* name : {"auto", "device", "managed", "host"})
    EXPECT_EQ(device_memory_name(parse_device_memory(name)), name);
  EXPECT_THROW(static_cast<void>(parse_device_memory("shared")), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
