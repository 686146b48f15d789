// Searches that their caller stops, and those that he watches.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/sharded_index.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/stops.h"

namespace culmen::test {
namespace {

// Requests a stop when it has scored so many rows.
class StoppingSum {
 public:
  StoppingSum(std::stop_source& stop, std::uint64_t rows) : stop_(stop), rows_(rows) {}

  double operator()(std::span<const double> values) const {
    if (++num_scored_ == rows_) stop_.request_stop();
    return std::accumulate(values.begin(), values.end(), 0.0);
  }
  Direction direction(int /*attribute*/) const { return Direction::rising; }
  double relative_error() const { return 1e-12; }
  std::uint64_t num_scored() const { return num_scored_; }

 private:
  std::stop_source& stop_;
  const std::uint64_t rows_;
  mutable std::atomic<std::uint64_t> num_scored_ = 0;
};

TEST(Stop, EndsSearchesOfEveryEngine) {
  Random random(1);
  expect_stops(uniform_index(random, kSanitized ? 2'000 : 20'000),
               {Engine::automatic, Engine::scan, Engine::ta, Engine::gta, Engine::bounded});
}

TEST(Stop, EndsSearchesOfShards) {
  Random random(2);
  const std::vector<Index> shards = {uniform_index(random, 9'000), uniform_index(random, 9'000, 10'000)};
  expect_stops(ShardedIndex::of(shards), {Engine::automatic, Engine::scan, Engine::bounded});
}

TEST(Stop, EndsLookUpsOfFewIds) {
  Random random(3);
  const Index index = uniform_index(random, 5'000);
  std::stop_source stop;
  stop.request_stop();
  SearchOptions options;
  options.stop = stop.get_token();
  const Query query = {.weights = weights_of_queries(random, 1), .where = index.filter("id in (3, 4, 5)")};
  EXPECT_EQ(index.search(query).hits.size(), 3U);
  EXPECT_THROW(static_cast<void>(index.search(query, options)), Stopped);
}

TEST(Stop, EndsASearchThatIsUnderWay) {
  constexpr std::uint64_t kRows = 1000, kMostMore = 64 * 1024;  // a leaf for each thread, at most
  Random random(4);
  const Index index = uniform_index(random, kSanitized ? 100'000 : 200'000);
  for (const Engine engine : {Engine::scan, Engine::bounded}) {
    std::stop_source stop;
    SearchOptions options = {.engine = engine};
    options.stop = stop.get_token();
    const StoppingSum sum(stop, kRows);
    EXPECT_THROW(static_cast<void>(index.search_monotone(sum, 50'000, {}, options)), Stopped);
    EXPECT_GE(sum.num_scored(), kRows);
    EXPECT_LE(sum.num_scored(), kRows + kMostMore);
  }
}

TEST(Stop, EndsABatchThatIsUnderWay) {
  Random random(5);
  const Index index = uniform_index(random, 100'000);
  const std::vector<double> weights = weights_of_queries(random, 100'000);  // some minutes of work
  for (const Engine engine : {Engine::automatic, Engine::scan}) {
    std::stop_source stop;
    SearchOptions options = {.engine = engine};
    options.stop = stop.get_token();
    std::jthread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      stop.request_stop();
    });
    EXPECT_THROW(static_cast<void>(index.search_batch({.weights = weights}, options)), Stopped);
  }
}

TEST(Progress, CountsTheQuestionsThatAreAnswered) {
  Random random(6);
  const Index index = uniform_index(random, 100'000);
  const std::vector<double> weights = weights_of_queries(random, 600);
  std::vector<std::size_t> counts;
  SearchOptions options = {.engine = Engine::scan, .num_threads = 1};  // some hundred milliseconds of work
  const std::thread::id caller = std::this_thread::get_id();
  options.on_progress = [&](std::size_t answered, std::size_t queries) {
    EXPECT_EQ(queries, 600U);
    EXPECT_EQ(std::this_thread::get_id(), caller);
    counts.push_back(answered);
  };
  const BatchAnswers watched = index.search_batch({.weights = weights}, options);
  EXPECT_EQ(watched.ids, index.search_batch({.weights = weights}, {.engine = Engine::scan}).ids);
  EXPECT_TRUE(std::is_sorted(counts.begin(), counts.end()));
  ASSERT_FALSE(counts.empty());
  EXPECT_LE(counts.back(), 600U);
}

// There are few nodes and leaves, but each takes long.
TEST(Progress, IsLookedAtWhileQueriesOfManyTermsAreCountedAndExplained) {
  Random random(9);
  const Index index = uniform_index(random, 10'000);
  Query query = {.weights = weights_of_queries(random, 1), .k = 10};
  for (int term = 0; term < 5'000; ++term)
    query.terms.push_back(ScoreTerm::near(0, term / 1000.0).times(term % 2 == 0 ? 1 : -1));
  SearchOptions options = {.num_threads = 1};
  options.on_progress = [](std::size_t /*answered*/, std::size_t /*queries*/) {
    throw std::logic_error("enough");
  };
  EXPECT_THROW(static_cast<void>(index.count_above(query, 0, options)), std::logic_error);
  EXPECT_THROW(static_cast<void>(index.explain(query, options)), std::logic_error);
  EXPECT_THROW(static_cast<void>(index.search(query, options)), std::logic_error);
}

TEST(Progress, EndsTheSearchByAnException) {
  Random random(8);
  const Index index = uniform_index(random, 100'000);
  const std::vector<Index> shards = {index, uniform_index(random, 100'000, 1'000'000)};
  const ShardedIndex sharded = ShardedIndex::of(shards);
  const std::vector<double> weights = weights_of_queries(random, 100'000);  // some minutes of work
  std::size_t answered_before = 0;
  SearchOptions options = {.engine = Engine::scan};
  options.on_progress = [&](std::size_t answered, std::size_t /*queries*/) {
    answered_before = answered;
    throw std::logic_error("enough");
  };
  EXPECT_THROW(static_cast<void>(index.search_batch({.weights = weights}, options)), std::logic_error);
  EXPECT_GT(answered_before, 0U);
  EXPECT_THROW(static_cast<void>(sharded.search_batch({.weights = weights}, options)), std::logic_error);
}

}  // namespace
}  // namespace culmen::test
