// Every engine on an index whose values have moved far away from those that it was built of. Bounds keep the units of
// the build (index/attribute_stats.h), whatever has been inserted and erased since.
//
// CULMEN_TEST_CASES=1000000 moved_values_test    so many queries, each to every engine
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/scoring.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"
#include "tests/moving_table.h"

namespace culmen::test {
namespace {

constexpr std::uint64_t kDefaultCases = 16'000;
constexpr int kBatches = 4;
constexpr std::uint64_t kQueriesEach = 8;  // after the build, and after each batch

struct Kind {
  bool float32, many_attributes, balanced;
  Partitioning partitioning;
};

std::vector<Kind> all_kinds() {
  std::vector<Kind> kinds;
  for (const bool float32 : {false, true})
    for (const bool many : {false, true})
      for (const bool balanced : {false, true})
        for (const Partitioning partitioning : {Partitioning::kd, Partitioning::angle, Partitioning::random})
          kinds.push_back({float32, many, balanced, partitioning});
  return kinds;
}

std::string name_of_kind(const Kind& kind) {
  return std::string(kind.float32 ? "float32" : "float64") + (kind.many_attributes ? "_many" : "_few") +
         (kind.balanced ? "_balanced" : "_any") + "_" + name_of(kind.partitioning);
}

// The smallest attribute of all: rises in each.
struct Smallest {
  double operator()(std::span<const double> attributes) const {
    return *std::min_element(attributes.begin(), attributes.end());
  }
  Direction direction(int) const { return Direction::rising; }
  double relative_error() const { return 0; }
};

std::vector<Answer> smallest_first(const Rows& rows, std::size_t k) {
  std::vector<Answer> answers;
  for (const auto& [id, values] : rows)
    answers.push_back({id, *std::min_element(values.begin(), values.end()) + 0.0});
  std::sort(answers.begin(), answers.end(), [](const Answer& a, const Answer& b) {
    return a.score != b.score ? a.score > b.score : a.id < b.id;
  });
  answers.resize(std::min(k, answers.size()));
  return answers;
}

// One index with its history, from one seed.
class Trial {
 public:
  Trial(std::uint64_t seed, const Kind& kind)
      : random_(seed),
        kind_(kind),
        table_(random_, kind.many_attributes ? random_.between(9, 20) : random_.between(1, 8), kind.float32) {
  }

  // The first disagreement; empty: none.
  std::string run() {
    table_.insert(1 + random_.below(150));
    const bool outliers = random_.chance(0.5);
    if (outliers) {
      table_.move();
      table_.insert(1 + random_.below(2));
    }
    Index index = Index::build(TableOf(table_.rows(), table_.attributes()).view(), options());
    std::string wrong = check(index);
    for (int b = 0; wrong.empty() && b < kBatches; ++b) {
      WriteBatch batch;
      const std::vector<std::int64_t> gone = table_.erase(outliers && b == 0);
      batch.erase(gone);
      table_.move();
      const Rows added = table_.insert(random_.pick<std::uint64_t>({0, 1, 3, 20, 60}));
      const TableOf table(added, table_.attributes());
      batch.insert(table.view());
      index.write(batch);
      wrong = check(index);
      if (!wrong.empty()) wrong = std::string("batch ") + std::to_string(b) + ": " + wrong;
    }
    return wrong;
  }

 private:
  BuildOptions options() {
    BuildOptions options = random_build_options(random_, kind_.partitioning,
                                                kind_.float32 ? ValueType::float32 : ValueType::float64,
                                                table_.attributes().size());
    options.leaf_rows = random_.pick({16, 16, 16, 48});
    options.num_threads = 1;
    return options;
  }

  std::string check(const Index& index) {
    const std::vector<std::string> faults = index.verify();
    if (!faults.empty()) return std::string("verify: ") + faults.front();
    const TableOf table(table_.rows(), table_.attributes());
    const Oracle oracle(table.view(), false);
    if (oracle.num_rows() == 0) return "";
    std::string wrong;
    for (std::uint64_t q = 0; wrong.empty() && q < kQueriesEach; ++q)
      wrong = check_query(
          index, oracle,
          random_filtered_query(random_, oracle,
                                kind_.balanced ? balancing_weights(random_, oracle)
                                               : random_weights(random_, oracle.num_attributes())));
    return wrong.empty() ? check_monotone(index) : wrong;
  }

  std::string check_query(const Index& index, const Oracle& oracle, const Query& query) const {
    const bool refused = oracle.refuses(query);
    const std::vector<Answer> expected = refused ? std::vector<Answer>() : oracle.search(query);
    for (const Engine engine : kEngines) {
      std::string wrong;
      try {
        const std::vector<Hit> found = index.search(query, {.engine = engine, .num_threads = 1}).hits;
        wrong = refused ? "a score could overflow, but the query was taken" : difference(found, expected);
      } catch (const InvalidArgument& error) {
        if (!refused) wrong = error.what();
      }
      if (!wrong.empty())
        return std::string(engine_name(engine)) + ": " + wrong + "\n  " + describe(query) + "\n  " +
               std::to_string(table_.rows().size()) + " rows";
    }
    return "";
  }

  std::string check_monotone(const Index& index) {
    const std::size_t k = 1 + random_.below(20);
    return difference(index.search_monotone(Smallest(), k).hits, smallest_first(table_.rows(), k));
  }

  Random random_;
  Kind kind_;
  MovingTable table_;
};

class EnginesOnMovedValues : public testing::TestWithParam<Kind> {};

TEST_P(EnginesOnMovedValues, ReturnTheOraclesRowsAndScoreBits) {
  const std::uint64_t queries_each = (kBatches + 1) * kQueriesEach;
  const std::uint64_t num_trials = num_cases(kDefaultCases) / (queries_each * all_kinds().size()) + 1;
  for (std::uint64_t t = 1; t <= num_trials; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : t;
    ASSERT_EQ(Trial(seed, GetParam()).run(), "")
        << rerun_command(seed, "moved_values_test", "*/" + name_of_kind(GetParam()));
    if (only_seed() != 0) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllKinds, EnginesOnMovedValues, testing::ValuesIn(all_kinds()),
                         [](const auto& suite) { return name_of_kind(suite.param); });

// ---- Two former defects of bounds, each by itself

constexpr std::size_t kFewRows = 200;

std::vector<Hit> best(const Index& index, const std::vector<double>& weights, std::size_t k, Engine engine) {
  return index.search({.weights = weights, .k = k}, {.engine = engine}).hits;
}

// The unit of the build is near 2^900: beyond binary64, multiplied with such weights.
TEST(MovedValues, AreFoundAfterAnOutlierIsErased) {
  Rows rows;
  for (std::int64_t id = 0; id < static_cast<std::int64_t>(kFewRows); ++id)
    rows[id] = {static_cast<double>(id) * 0x1p888};
  rows[1000] = {0.75 * 0x1p900};
  Index index = Index::build(TableOf(rows, {{"a"}}).view(), {.leaf_rows = 16});
  const std::int64_t outlier[] = {1000};
  index.erase(outlier);
  for (const double weight : {0x1p124, -0x1p124, 0x1p100, -0x1p100, 1.0, -1.0}) {
    const std::vector<Hit> expected = best(index, {weight}, kFewRows, Engine::scan);
    ASSERT_EQ(expected.size(), kFewRows);
    EXPECT_EQ(best(index, {weight}, kFewRows, Engine::bounded), expected) << weight;
    EXPECT_EQ(best(index, {weight}, kFewRows, Engine::automatic), expected) << weight;
  }
}

// The unit of the build is as small as units get: below binary64, multiplied with such weights.
TEST(MovedValues, AreFoundAfterLargeOnesComeToTinyOnes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Rows rows;
    for (std::int64_t id = 0; id < static_cast<std::int64_t>(kFewRows); ++id)
      rows[id] = {random.unit() * 1e-310, random.unit()};
    Index index = Index::build(TableOf(rows, {{"a"}, {"b"}}).view(), {.num_partitions = 7, .leaf_rows = 16});
    const Rows large = {{1000, {1e10, -1}}};
    const TableOf table(large, {{"a"}, {"b"}});
    index.insert(table.view());
    for (const double weight : {1e-30, 1e-20, 1e-5, 1.0}) {
      for (const Engine engine : {Engine::bounded, Engine::automatic}) {
        const std::vector<Hit> hits = best(index, {weight, weight * 1e5}, 1, engine);
        ASSERT_EQ(hits.size(), 1U);
        EXPECT_EQ(hits[0].id, 1000) << weight << ", seed " << seed;
      }
    }
  }
}

// A unit that is far too large must not disable pruning by the other attributes.
TEST(MovedValues, ArePrunedByOtherAttributesAfterAnOutlierIsErased) {
  Random random(2);
  Rows rows;
  for (std::int64_t id = 0; id < 20'000; ++id) rows[id] = {random.unit(), random.unit(), random.unit()};
  rows[-1] = {0.5, 0x1p900, 0.5};
  Index index = Index::build(TableOf(rows, {{"a"}, {"b"}, {"c"}}).view(), {.leaf_rows = 16});
  const std::int64_t outlier[] = {-1};
  index.erase(outlier);
  const SearchResult result = index.search({.weights = {1, 1e-3, 1}, .k = 5}, {.engine = Engine::bounded});
  EXPECT_EQ(result.hits, index.search({.weights = {1, 1e-3, 1}, .k = 5}, {.engine = Engine::scan}).hits);
  EXPECT_LT(result.stats.rows_scored, 5'000U);
}

// Sums of the other attributes stay exact; no sum with the huge value is.
TEST(MovedValues, ArePrunedAsBeforeOnceAHugeOneHasComeAndGone) {
  Random random(3);
  Rows rows;
  for (std::int64_t id = 0; id < 20'000; ++id)
    for (int i = 0; i < 3; ++i) rows[id].push_back(std::ldexp(random.between(-5000, 5000), -10));
  Index index = Index::build(TableOf(rows, {{"a"}, {"b"}, {"c"}}).view(), {.leaf_rows = 16});
  const Query query = {.weights = {1, -0.3, 0.7}, .k = 5};
  const auto visited = [&] { return index.search(query, {.engine = Engine::bounded}).stats.leaves_visited; };
  const std::uint64_t before = visited();
  for (const double huge : {0x1p57, -0x1p57, 0x1p20}) {
    const Rows there = {{500, {huge, huge, -huge}}}, back = {{500, rows[500]}};
    index.upsert(TableOf(there, {{"a"}, {"b"}, {"c"}}).view());
    index.upsert(TableOf(back, {{"a"}, {"b"}, {"c"}}).view());
    EXPECT_LE(visited(), before + 8) << huge;
    EXPECT_EQ(index.verify(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace culmen::test
