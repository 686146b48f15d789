#include "planner/planner.h"

#include <gtest/gtest.h>

#include "base/with_threads.h"
#include "culmen/device.h"
#include "culmen/error.h"
#include "planner/automatic.h"
#include "planner/explain.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

// As search_automatic does with all cores.
bool asks_for_most_here(const Snapshot& snapshot, const ResolvedQuery& query) {
  return asks_for_most(snapshot, query, scan_threads(snapshot, 0));
}

TEST(Explain, NamesTheEngineThatSearchThenUses) {
  Random random(1);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 3);
  const Index index = Index::build(table.view());
  for (const std::size_t k : {1, 100, 999})
    for (const Engine engine : kEngines) {
      const Query query{.weights = {1, 1, 1}, .k = k};
      const Explanation explanation = index.explain(query, {.engine = engine});
      EXPECT_EQ(explanation.engine, index.search(query, {.engine = engine}).stats.engine);
      EXPECT_NE(explanation.engine, Engine::automatic);
      if (engine != Engine::automatic) {
        EXPECT_EQ(explanation.engine, engine);
      }
      EXPECT_NE(explanation.text.find(engine_name(explanation.engine)), std::string::npos)
          << explanation.text;
      EXPECT_NE(explanation.text.find(explanation.reason), std::string::npos);
    }
}

TEST(Explain, NamesTheEngineThatSearchThenUsesForRandomQuestions) {
  std::size_t num_asked = 0, num_differing = 0, num_scans = 0, num_fallbacks = 0;
  const std::uint64_t num_tables = num_cases(60);
  for (std::uint64_t seed = 1; seed <= num_tables; ++seed) {
    Random random(seed);
    const auto values = random.pick(
        {ValueClass::uniform_f32, ValueClass::small_integers, ValueClass::anticorrelated, ValueClass::mixed});
    const auto num_rows = random.pick<std::size_t>({500, 8'000, 20'000, 40'000});
    const Table table = random_table(random, values, num_rows, random.between(1, 10));
    const Index index = Index::build(table.view(), {.leaf_rows = 16});
    const Oracle oracle(table.view(), index.info().value_type == ValueType::float32);
    for (int question = 0; question < 6; ++question) {
      Query query = random_query(random, oracle);
      if (random.chance(0.5)) query.k = random.pick({100, 3'000, 9'000});
      if (oracle.refuses(query)) continue;
      const SearchOptions options = {.num_threads = question % 2};  // all cores, or one
      const SearchStats stats = index.search(query, options).stats;
      ++num_asked;
      num_differing += index.explain(query, options).engine == stats.engine ? 0 : 1;
      num_scans += stats.engine == Engine::scan && !stats.scan_fallback ? 1 : 0;
      num_fallbacks += stats.scan_fallback ? 1 : 0;
    }
  }
  EXPECT_EQ(num_differing, 0U) << "of " << num_asked;
  if (num_tables < 60) return;
  EXPECT_GT(num_asked, 300U);
  EXPECT_GT(num_scans, 0U);
  EXPECT_GT(num_fallbacks, 0U);
}

TEST(Explain, ShowsTheBoundByAttributeNames) {
  const std::vector<float> a = {0, 1}, b = {0, 1}, c = {0, 1};
  const Index index = Index::build({.num_rows = 2,
                                    .attributes = {{"price", Preference::low}, {"rating"}, {"stars"}},
                                    .columns = {ColumnView(a), ColumnView(b), ColumnView(c)},
                                    .ids = {},
                                    .labels = {}});
  const std::string text = index.explain({.weights = {1, 2, 1}, .k = 1}, {.engine = Engine::bounded}).text;
  for (const std::string part : {"max{rating}", "max{rating + stars}", "min{price}"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST(Explain, ShowsWholeNumbersWhole) {
  const std::vector<float> a = {0, 1};
  const Index index = Index::build({2, {{"rating"}}, {ColumnView(a)}, {}, {}});
  const std::string text = index.explain({.weights = {1751328013}, .k = 1}, {.engine = Engine::bounded}).text;
  EXPECT_NE(text.find(" 1751328013 * max{rating}"), std::string::npos) << text;
}

// If the best rows are first, few replacements follow: in small tables the scan is no faster even for all rows.
TEST(Planner, SearchesSmallTablesByTheirBounds) {
  Random random(2);
  const Table table = random_table(random, ValueClass::uniform_f32, 1000, 3);
  const Index index = Index::build(table.view());
  for (const std::size_t k : {1, 10, 1000})
    EXPECT_EQ(index.search({.weights = {1, 1, 1}, .k = k}).stats.engine, Engine::bounded);
}

// 1,250 leaves or more, so that a search reaches a checkpoint.
Index wide_index(ValueClass values) {
  Random random(3);
  const Table table = random_table(random, values, 20000, 8);
  return Index::build(table.view(), {.leaf_rows = 16});
}

CostsNs nodes_cost_much() {
  CostsNs costs;
  costs.node = 1e9;
  costs.leaf = costs.value = 0;
  return costs;
}

CostsNs scans_cost_much() {
  CostsNs costs;
  costs.share = 1e12;
  return costs;
}

std::vector<Query> hard_queries() {
  const std::vector<double> mixed = {1, -0.7, 0.3, -1, 0.9, 0.2, -0.4, 0.6};
  return {{.weights = mixed, .k = 1},
          {.weights = mixed, .k = 4000},
          {.weights = mixed, .k = 50, .where = {{0, 0.3, 0.5}, {3, 0.1, 0.2}}},
          {.weights = mixed, .k = 4000, .where = {{0, 0.3, 0.30001}}},
          {.weights = mixed, .k = std::nullopt, .min_score = 0.5}};
}

TEST(Automatic, FallsBackToTheScanWithoutALossWhereTheRestIsDear) {
  for (const ValueClass values : {ValueClass::uniform_f32, ValueClass::small_integers}) {
    const Index index = wide_index(values);
    std::size_t scan_fallback = 0;
    for (const Query& query : hard_queries()) {
      const SearchResult expected = index.search(query, {.engine = Engine::scan});
      const ResolvedQuery resolved = resolve(query, *expected.snapshot);
      SearchStats stats;
      EXPECT_EQ(search_automatic(*expected.snapshot, resolved, 0, stats, nodes_cost_much()), expected.hits);
      EXPECT_EQ(stats.scan_fallback,
                stats.engine == Engine::scan && !asks_for_most_here(*expected.snapshot, resolved));
      scan_fallback += stats.scan_fallback ? 1 : 0;
      // It skips leaves that miss a range or cannot reach the k-th score bound.
      if (stats.scan_fallback && query.k == 50U) {
        EXPECT_LT(stats.leaves_visited, expected.snapshot->num_leaves / 2);
      }
    }
    EXPECT_GE(scan_fallback, 1U);
  }
}

TEST(Automatic, StaysWithTheBoundsWhereAScanIsDear) {
  const Index index = wide_index(ValueClass::uniform_f32);
  for (const Query& query : hard_queries()) {
    const SearchResult expected = index.search(query, {.engine = Engine::scan});
    const ResolvedQuery resolved = resolve(query, *expected.snapshot);
    if (asks_for_most_here(*expected.snapshot, resolved)) continue;
    SearchStats stats;
    EXPECT_EQ(search_automatic(*expected.snapshot, resolved, 0, stats, scans_cost_much()), expected.hits);
    EXPECT_FALSE(stats.scan_fallback);
    EXPECT_EQ(stats.engine, Engine::bounded);
  }
}

TEST(Automatic, ScansAtOnceForAGoodPartOfTheRows) {
  Random random(5);
  for (const ValueClass values : {ValueClass::uniform_f32, ValueClass::small_integers}) {
    const Table table = random_table(random, values, 70'000, 3);
    const Index index = Index::build(table.view());
    Query query = {.weights = {1, -2, 0.5}, .k = 70'000 / 8};
    for (const bool filtered : {false, true}) {
      if (filtered) query.where = {{.attribute = 1, .maximum = 0.5}};
      const SearchResult result = index.search(query);
      EXPECT_EQ(result.hits, index.search(query, {.engine = Engine::bounded}).hits);
      EXPECT_EQ(result.stats.engine, Engine::scan);
      EXPECT_FALSE(result.stats.scan_fallback);
      EXPECT_EQ(index.explain(query).engine, Engine::scan);
    }
    query.k = std::nullopt;
    query.where = {};
    query.min_score = index.search({.weights = query.weights, .k = 20}).hits.back().score;
    EXPECT_EQ(index.search(query).stats.engine, Engine::bounded) << "a smallest score prunes, k is all rows";
    query.min_score = std::nullopt;
  }
}

TEST(Automatic, AsksTheBoundsForAGreaterPartWhereFewerThreadsWouldScan) {
  if (kSanitized) GTEST_SKIP() << "a large table, of which only the plan is looked at";
  Random random(5);
  const Table table = random_table(random, ValueClass::uniform_f32, 1'200'000, 1);
  const Index index = Index::build(table.view());
  const auto asks = [&](std::size_t k, int threads) {
    const SearchResult result = index.search({.weights = {1}, .k = 1});
    return asks_for_most(*result.snapshot, resolve({.weights = {1}, .k = k}, *result.snapshot), threads);
  };
  EXPECT_TRUE(asks(100'000, 1));
  EXPECT_FALSE(asks(99'999, 1));
  EXPECT_TRUE(asks(50'000, 2));
  EXPECT_FALSE(asks(49'999, 2));
  EXPECT_TRUE(asks(12'500, 16));
  EXPECT_FALSE(asks(12'499, 64));
}

// 500 leaves: one thread would have read them before a checkpoint could save anything.
TEST(Automatic, HasACheckpointInASmallTableIfThreadsShareIt) {
  if (threads_of(0) == 1) GTEST_SKIP() << "one thread";
  Random random(4);
  const Table table = random_table(random, ValueClass::uniform_f32, 8000, 8);
  const Index index = Index::build(table.view(), {.leaf_rows = 16});
  const Query query = hard_queries()[1];
  const SearchResult expected = index.search(query, {.engine = Engine::scan});
  for (const int threads : {1, 2}) {
    SearchStats stats;
    EXPECT_EQ(search_automatic(*expected.snapshot, resolve(query, *expected.snapshot), threads, stats,
                               nodes_cost_much()),
              expected.hits);
    EXPECT_EQ(stats.scan_fallback, threads == 2);
  }
}

TEST(Automatic, SharesAScanAmongThreadsThatHaveEnoughToDo) {
  Random random(6);
  for (const auto& [num_rows, num_pieces] : {std::pair(1000, 1), std::pair(8000, 2), std::pair(20'000, 8)}) {
    const Table table = random_table(random, ValueClass::uniform_f32, static_cast<std::size_t>(num_rows), 2);
    const Index index = Index::build(table.view(), {.leaf_rows = 16});
    const SearchResult any = index.search({.weights = {1, 1}, .k = 1});
    EXPECT_EQ(scan_threads(*any.snapshot, 0), std::min(num_pieces, threads_of(0))) << num_rows << " rows";
    EXPECT_EQ(scan_threads(*any.snapshot, 1), 1);
  }
}

TEST(Automatic, RefusesANegativeNumberOfThreadsForEveryTable) {
  Random random(5);
  for (const std::size_t rows : {10, 8000}) {
    const Index index =
        Index::build(random_table(random, ValueClass::uniform_f32, rows, 8).view(), {.leaf_rows = 16});
    const Query query = {.weights = std::vector<double>(8, 1.0), .k = 1};
    EXPECT_THROW(static_cast<void>(index.search(query, {.num_threads = -1})), InvalidArgument) << rows;
    EXPECT_THROW(static_cast<void>(index.explain(query, {.num_threads = -1})), InvalidArgument) << rows;
  }
}

TEST(Planner, TakesTheEngineThatIsPredictedToBeFaster) {
  const Index index = wide_index(ValueClass::uniform_f32);
  const Query query = hard_queries()[1];
  const auto snapshot = index.search(query).snapshot;
  const ResolvedQuery resolved = resolve(query, *snapshot);
  for (const CostsNs& costs : {nodes_cost_much(), scans_cost_much(), CostsNs()}) {
    const Plan plan = make_plan(*snapshot, resolved, {}, costs, 1, {});
    ASSERT_EQ(plan.predictions.size(), 2U);
    EXPECT_EQ(plan.predictions.front().engine, plan.engine);
    EXPECT_LE(plan.predictions.front().elapsed_us, plan.predictions.back().elapsed_us);
    const Plan slower = make_plan(*snapshot, resolved, {}, costs, 3, {});
    for (std::size_t p = 0; p < plan.predictions.size(); ++p)
      EXPECT_DOUBLE_EQ(slower.predictions[p].elapsed_us, 3 * plan.predictions[p].elapsed_us);
  }
  EXPECT_EQ(make_plan(*snapshot, resolved, {}, nodes_cost_much(), 1, {}).engine, Engine::scan);
  EXPECT_EQ(make_plan(*snapshot, resolved, {}, scans_cost_much(), 1, {}).engine, Engine::bounded);
}

TEST(Explain, PrintsWhatEachEngineWouldTake) {
  const Index index = wide_index(ValueClass::uniform_f32);
  for (const Query& query : hard_queries()) {
    const Explanation explanation = index.explain(query);
    for (const std::string word : {"predicted", "bounded ", "scan ", " us"})
      EXPECT_NE(explanation.text.find(word), std::string::npos) << explanation.text;
    for (const Prediction& prediction : explanation.predictions) EXPECT_GT(prediction.elapsed_us, 0);
  }
  EXPECT_TRUE(Index::build({.num_rows = 0,
                            .attributes = {{"a"}},
                            .columns = {ColumnView(std::span<const float>())},
                            .ids = {},
                            .labels = {}})
                  .explain({.weights = {1}})
                  .predictions.empty());
}

TEST(Planner, PredictsAGpuThatIsThereAndNeverChoosesIt) {
  const Index index = wide_index(ValueClass::uniform_f32);
  const auto snapshot = index.search(hard_queries()[1]).snapshot;
  const ResolvedQuery query = resolve(hard_queries()[1], *snapshot);
  const Plan plan = make_plan(*snapshot, query, {}, {}, 1, DeviceCosts());
  ASSERT_EQ(plan.predictions.size(), 4U);
  EXPECT_LT(plan.predictions[0].device, 0);
  for (const std::size_t p : {2, 3}) EXPECT_EQ(plan.predictions[p].device, 0);
  EXPECT_GT(plan.copy_us, 0);
  const std::string text = explain_plan(*snapshot, query, plan).text;
  for (const std::string words : {"bounded on GPU 0 about", "scan    on GPU 0 about", "copying the index"})
    EXPECT_NE(text.find(words), std::string::npos) << text;
  EXPECT_NE(index.explain(hard_queries()[1]).text.find(num_devices() > 0 ? "on GPU 0" : "none is there"),
            std::string::npos);
}

TEST(Planner, PlacesQueriesWhereTheyAreAnsweredSoonest) {
  const Index index = wide_index(ValueClass::uniform_f32);
  const auto snapshot = index.search(hard_queries()[0]).snapshot;
  const std::vector<ResolvedQuery> queries(5'000, resolve(hard_queries()[0], *snapshot));
  const std::span all(queries);
  const auto place = [&](std::size_t count, bool has_copy, const std::optional<DeviceCosts>& device) {
    return place_queries(*snapshot, all.first(count), {.num_threads = 2, .has_copy = has_copy}, {}, 1,
                         device);
  };
  DeviceCosts quick;  // 1,000 queries would pay for a copy
  quick.batch_leaf = 0;
  EXPECT_LT(place(5'000, true, {}).device, 0);
  EXPECT_EQ(place(5'000, true, {}).reason, "there is no GPU");
  EXPECT_EQ(place(5'000, false, quick).device, 0);
  quick.speed.copy_ns_per_kb = 1e9;
  EXPECT_LT(place(5'000, false, quick).device, 0);
  EXPECT_EQ(place(5'000, true, quick).device, 0);
  quick.speed.launch_ns = 1e9;
  EXPECT_LT(place(1, true, quick).device, 0);
  EXPECT_GT(place(5'000, true, quick).cpu_us, 1'000 * place(1, true, quick).cpu_us);
  EXPECT_LT(index.place({}).device, 0);
}

TEST(EngineNames, AreReadAndWritten) {
  for (const Engine engine : kEngines) EXPECT_EQ(parse_engine(engine_name(engine)), engine);
  EXPECT_EQ(engine_name(Engine::automatic), "auto");
  try {
    static_cast<void>(parse_engine("quick"));
    FAIL();
  } catch (const InvalidArgument& error) {
    for (const std::string word : {"quick", "auto", "scan", "ta", "gta", "bounded"})
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace culmen::test
