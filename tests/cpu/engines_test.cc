// Every engine against the oracle: random tables and queries, both partitioners, every SIMD target, fresh and
// reopened.
//
// CULMEN_TEST_CASES=100000 engines_test    so many (table, query) pairs, each with every engine
// CULMEN_TEST_SEED=N engines_test --gtest_filter=...    one table again, as a failure prints it
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/floating_point_scope.h"
#include "cpu/scan.h"
#include "culmen/error.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr std::uint64_t kDefaultCases = 20'000;
constexpr std::uint64_t kQueriesPerTable = 8;
constexpr std::uint64_t kReopenEvery = 16;

struct Subject {
  std::string name;
  Index index;
};

struct Case {
  Query query;
  bool refused;
  std::vector<Answer> expected;
};

// One table, its indexes and its queries, all from one seed.
class Trial {
 public:
  Trial(std::uint64_t seed, ValueClass value_class) : random_(seed), seed_(seed) {
    const int width = random_width(random_, 20);
    const std::size_t num_rows = random_num_rows(random_) % (width > kMaxGroupedAttributes ? 300 : 6000);
    table_ = random_table(random_, value_class, num_rows, width);
    const ValueType value_type = random_value_type(random_, table_.view());
    const Oracle oracle(table_.view(), value_type == ValueType::float32);
    build(value_type);
    for (std::uint64_t q = 0; q < kQueriesPerTable; ++q) {
      const Query query = random_filtered_query(random_, oracle);
      const bool refused = oracle.refuses(query);
      cases_.push_back({query, refused, refused ? std::vector<Answer>() : oracle.search(query)});
    }
  }

  // The first disagreement on any engine, index, target and query; empty: none.
  std::string run(const std::vector<std::string>& targets) {
    for (const std::string& target : targets) {
      const ForcedTarget forced(target);
      for (const Subject& subject : subjects_)
        for (const Engine engine : kEngines)
          for (const Case& c : cases_) {
            const std::string wrong = check(subject.index, c, engine);
            if (!wrong.empty())
              return subject.name + ", engine " + std::string(engine_name(engine)) + ", " + target + ": " +
                     wrong + std::string("\n  ") + std::to_string(table_.num_rows) + " rows; " +
                     describe(c.query);
          }
    }
    return "";
  }

  std::uint64_t num_refused() const {
    return static_cast<std::uint64_t>(
        std::count_if(cases_.begin(), cases_.end(), [](const Case& c) { return c.refused; }));
  }
  std::uint64_t num_answers() const {
    std::uint64_t count = 0;
    for (const Case& c : cases_) count += c.expected.size();
    return count;
  }

 private:
  void build(ValueType value_type) {
    for (const Partitioning partitioning :
         {random_.chance(0.6) ? Partitioning::kd : Partitioning::angle, Partitioning::random}) {
      const BuildOptions options =
          random_build_options(random_, partitioning, value_type, table_.columns.size());
      const std::string name = name_of(partitioning) + " B=" + std::to_string(options.leaf_rows);
      subjects_.push_back({name, Index::build(table_.view(), options)});
    }
    if (seed_ % kReopenEvery != 0) return;
    const TemporaryDirectory directory;
    const Subject& original = subjects_[random_.below(2)];
    original.index.save(directory.path() / "index");
    subjects_.push_back({original.name + " reopened", Index::open(directory.path() / "index")});
  }

  std::string check(const Index& index, const Case& c, Engine engine) {
    const SearchOptions options{.engine = engine, .num_threads = random_.between(1, 2)};
    if (c.refused) {
      try {
        static_cast<void>(index.search(c.query, options));
      } catch (const InvalidArgument&) {
        return "";
      }
      return "a score could overflow, but the query was taken";
    }
    const SearchResult result = index.search(c.query, options);
    if (engine != Engine::automatic && result.stats.engine != engine) return "another engine answered";
    if (result.stats.rows_in_index != table_.num_rows) return "wrong number of rows in the index";
    if (result.stats.rows_scored > table_.num_rows && !result.stats.scan_fallback)
      return "a row was scored twice";
    const std::string wrong = difference(result.hits, c.expected);
    return wrong.empty() && engine == Engine::automatic ? check_taking_over(*result.snapshot, c) : wrong;
  }

  // The pruned scan that continues a search by bounds, from any k-th score bound.
  std::string check_taking_over(const Snapshot& snapshot, const Case& c) {
    ResolvedQuery rest = resolve(c.query, snapshot);
    const std::size_t reached =
        std::min<std::size_t>(c.expected.size(), random_.below(c.expected.size() + 2));
    if (reached > 0) rest.min_score = c.expected[reached - 1].score;
    // The rows that tie with the bound are in the answer too, up to k.
    std::size_t count = reached == 0 ? c.expected.size() : reached;
    while (count < c.expected.size() && c.expected[count].score == rest.min_score) ++count;
    SearchStats stats;
    const FloatingPointScope floating_point;
    const std::string wrong = difference(cpu::search_pruned_scan(snapshot, rest, stats),
                                         {c.expected.begin(), c.expected.begin() + count});
    return wrong.empty() ? ""
                         : "above the k-th score bound of " + std::to_string(reached) + " rows: " + wrong;
  }

  Random random_;
  std::uint64_t seed_;
  Table table_;
  std::vector<Subject> subjects_;
  std::vector<Case> cases_;
};

class Engines : public testing::TestWithParam<ValueClass> {};

TEST_P(Engines, ReturnTheOraclesRowsAndScoreBits) {
  const std::vector<std::string> targets = simd::available_targets();
  const std::uint64_t num_tables = num_cases(kDefaultCases) / (kQueriesPerTable * kNumValueClasses) + 1;
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  std::uint64_t refused = 0, answers = 0;
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 1'000'000'000 + t;
    Trial trial(seed, GetParam());
    const std::string wrong = trial.run(targets);
    ASSERT_EQ(wrong, "") << rerun_command(seed, "engines_test",
                                          "*/" + std::string(value_class_name(GetParam())));
    refused += trial.num_refused();
    answers += trial.num_answers();
    if (only_seed() != 0) return;
  }
  // A generator of only empty answers or refused queries would test nothing.
  EXPECT_GT(answers, num_tables);
  EXPECT_LT(refused, num_tables * kQueriesPerTable / 2);
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, Engines, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

}  // namespace
}  // namespace culmen::test
