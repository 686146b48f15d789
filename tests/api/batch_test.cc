// Batches so large that the planner may answer them by one pass over all rows (planner/shared_pass.h).
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/answer_arrays.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"
#include "tests/resident_memory.h"

namespace culmen::test {
namespace {

constexpr std::size_t kAttributes = 16;

// Values whose bounds exclude next to nothing.
double wild(Random& random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum += random.uniform(-1, 1);
  return sum;
}

std::vector<double> wild_weights(Random& random, std::size_t num_queries) {
  std::vector<double> weights(num_queries * kAttributes);
  for (double& weight : weights) weight = wild(random);
  return weights;
}

struct WildTable {
  explicit WildTable(Random& random, std::size_t num_rows)
      : columns(kAttributes, std::vector<double>(num_rows)) {
    for (std::vector<double>& column : columns)
      for (double& value : column) value = wild(random);
  }
  Index build() const {
    TableView view;
    view.num_rows = columns[0].size();
    for (std::size_t a = 0; a < kAttributes; ++a) {
      view.attributes.push_back(
          {.name = "a" + std::to_string(a), .preference = a % 3 == 0 ? Preference::low : Preference::high});
      view.columns.emplace_back(columns[a]);
    }
    return Index::build(view, {.value_type = ValueType::float64});
  }

  std::vector<std::vector<double>> columns;
};

void expect_equal(const BatchAnswers& a, const BatchAnswers& b) {
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.ids, b.ids);
  EXPECT_EQ(a.scores, b.scores);
}

// A loop over queries that ends with an error cancels the loops inside: what these make for all searches of a version is
// not to be kept half made.
TEST(Batch, ARefusedQueryLeavesNothingHalfMade) {
  Random random(11);
  const WildTable table(random, kSanitized ? 5'000 : 100'000);
  const std::vector<double> ones(kAttributes, 1), zeros(kAttributes, 0);
  const Query good{.weights = ones, .k = 5, .scale = Scale::zscore};
  const Index other = table.build();
  const auto scores_of = [&](const Index& of, Engine engine) {
    std::vector<double> scores;
    for (const Hit& hit : of.search(good, {.engine = engine}).hits) scores.push_back(hit.score);
    return scores;
  };
  const std::vector<double> expected = scores_of(other, Engine::bounded);
  Index index = table.build();
  for (std::uint64_t turn = 0; turn < num_cases(kSanitized ? 10 : 6); ++turn) {
    const Engine engine = turn % 2 == 0 ? Engine::automatic : Engine::ta;
    index.compact();  // another version, of which nothing is made yet
    std::vector<Query> batch(40, good);
    for (std::size_t q = 1; q < batch.size(); ++q) batch[q].weights = zeros;  // refused at once
    EXPECT_THROW(static_cast<void>(index.search(batch, {.engine = engine, .num_threads = 2})),
                 InvalidArgument);
    ASSERT_EQ(scores_of(index, engine), expected) << "turn " << turn;
  }
}

TEST(Batch, OfManyQuestionsHasTheAnswersOfAScan) {
  Random random(1);
  const Index index = WildTable(random, 20'000).build();
  for (const std::size_t num_queries : {1, 63, 128, 129, 1000, 10'000}) {
    const std::vector<double> weights = wild_weights(random, num_queries);
    for (const std::size_t k : {1, 10, 100, 300}) {
      if (num_queries * k > (kSanitized ? 13'000 : 200'000)) continue;  // a scan of each takes its time
      QueryBatch batch{.weights = weights, .k = k};
      expect_equal(index.search_batch(batch), index.search_batch(batch, {.engine = Engine::scan}));
      if (num_queries > 1000) break;
    }
  }
  const std::vector<double> weights = wild_weights(random, 300);
  QueryBatch batch{.weights = weights, .k = 10, .min_score = 12.0};
  expect_equal(index.search_batch(batch), index.search_batch(batch, {.engine = Engine::scan}));
  batch.min_score = kInfinity;
  EXPECT_EQ(index.search_batch(batch).counts, std::vector<std::uint32_t>(300, 0));
  batch = {.weights = weights, .where = {{.attribute = 3, .minimum = 0.5}}};
  expect_equal(index.search_batch(batch), index.search_batch(batch, {.engine = Engine::scan}));
  for (const Scale scale : {Scale::minmax, Scale::zscore}) {
    batch = {.weights = weights, .scale = scale};
    expect_equal(index.search_batch(batch), index.search_batch(batch, {.engine = Engine::scan}));
  }
}

TEST(Batch, WritesIntoArraysOfTheCaller) {
  Random random(4);
  const Index index = WildTable(random, kSanitized ? 5'000 : 20'000).build(),
              small = WildTable(random, 7).build();
  for (const std::size_t num_queries : {1, 3, 400}) {
    const std::vector<double> weights = wild_weights(random, num_queries);
    for (const std::size_t k : {1, 9, 300}) {
      const QueryBatch batch = {.weights = weights, .k = k, .where = {{.attribute = 3, .minimum = 0.5}}};
      expect_in_arrays(index, batch, index.search_batch(batch));
      expect_in_arrays(small, batch, small.search_batch(batch));
      expect_arrays_are_checked(index, batch, num_queries);
    }
  }
  expect_in_arrays(index, {.weights = {}, .k = 3}, index.search_batch({.weights = {}, .k = 3}));
}

// Leaves out the best rows of a question, as if its asker knew them, in one of the forms in which that can be said.
Filter but_the_best(const Index& index, Query query, std::size_t count) {
  if (count == 0) return {};
  query.k = count;
  std::vector<std::int64_t> ids;
  for (const Hit& hit : index.search(query).hits) ids.push_back(hit.id);
  if (count % 2 == 0) return !Filter::ids_in(IdSet(ids));
  Filter others;
  for (const std::int64_t id : ids) others = others && id_col() != id;
  return others;
}

TEST(Batch, MixesQuestionsThatShareAPassWithOthers) {
  Random random(2);
  const Index index = WildTable(random, 20'000).build();
  const std::vector<double> weights = wild_weights(random, 400);
  std::vector<Query> queries;
  for (std::size_t q = 0; q < 400; ++q) {
    queries.push_back({.weights = {weights.begin() + static_cast<std::ptrdiff_t>(q * kAttributes),
                                   weights.begin() + static_cast<std::ptrdiff_t>((q + 1) * kAttributes)},
                       .k = 1 + q % 20});
    if (q % 7 == 1) queries.back().where = {{.attribute = 2, .maximum = 0.1}};
    if (q % 11 == 1) queries.back().k = 2000;
    if (q % 3 == 0) queries.back().where = but_the_best(index, queries.back(), q % 60);
  }
  const std::vector<SearchResult> results = index.search(queries);
  std::size_t by_pass = 0;
  for (std::size_t q = 0; q < queries.size(); ++q) {
    ASSERT_EQ(results[q].hits, index.search(queries[q], {.engine = Engine::scan}).hits) << "question " << q;
    EXPECT_EQ(results[q].version(), index.info().version);
    EXPECT_EQ(results[q].stats.rows_in_index, 20'000U);
    by_pass += results[q].stats.rows_by_codes == 20'000 && results[q].stats.bounds_computed == 0 ? 1 : 0;
  }
  const std::string target = simd::current_target();
  if (target.starts_with("AVX")) {
    EXPECT_GT(by_pass, 250U) << "the planner chose no pass";
  }
  queries[5].weights[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(static_cast<void>(index.search(queries)), InvalidArgument);
}

TEST(Batch, SeesTheVersionOfEachCall) {
  Random random(3);
  Index index = WildTable(random, 20'000).build();
  const std::vector<double> weights = wild_weights(random, 256);
  const QueryBatch batch{.weights = weights, .k = 3};
  for (int change = 0; change < 3; ++change) {
    const BatchAnswers before = index.search_batch(batch);
    expect_equal(before, index.search_batch(batch, {.engine = Engine::scan}));
    std::vector<std::int64_t> best;
    for (std::size_t q = 0; q < 256; ++q) best.push_back(before.ids[q * 3]);
    index.erase(best);
    const BatchAnswers after = index.search_batch(batch);
    EXPECT_EQ(after.version, before.version + 1);
    expect_equal(after, index.search_batch(batch, {.engine = Engine::scan}));
  }
}

// Python takes a handle of its own for each matrix of questions.
TEST(Batch, HandlesOfAVersionShareItsCodes) {
  const std::string target = simd::current_target();
  if (!target.starts_with("AVX") || !tells_resident_bytes()) GTEST_SKIP();
  constexpr std::size_t kRows = 20'000, kHandles = 16;
  constexpr std::size_t kOfOne = kRows * kAttributes * (sizeof(double) + 1);  // rows and their codes
  Random random(5);
  const Index index = WildTable(random, kRows).build();
  const std::vector<double> weights = wild_weights(random, 256);
  std::vector<Query> queries;
  for (auto first = weights.begin(); first != weights.end(); first += kAttributes)
    queries.push_back({.weights = {first, first + kAttributes}, .k = 3});
  std::vector<Index> handles;
  const auto ask_another = [&] {
    handles.push_back(index.snapshot());
    return handles.back().search(queries).front().stats.rows_by_codes;
  };
  EXPECT_EQ(ask_another(), kRows) << "the planner chose no pass";
  const std::size_t after_one = resident_bytes();
  while (handles.size() < kHandles) static_cast<void>(ask_another());
  EXPECT_LT(resident_bytes(), after_one + 4 * kOfOne);
}

}  // namespace
}  // namespace culmen::test
