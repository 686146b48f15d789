#include "query/turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

namespace culmen::test {
namespace {

// Runs of 1,000 ns, of which every `every`-th takes longer, by twice as much as the one before.
std::vector<double> interrupted_runs(std::size_t count, std::size_t every) {
  std::vector<double> runs(count);
  for (std::size_t i = 0; i < count; ++i)
    runs[i] = 1000 + static_cast<double>(i % 7) + (i % every == 0 ? std::ldexp(3e3, static_cast<int>(i)) : 0);
  return runs;
}

TEST(Turns, RunsThatWereInterruptedDoNotCount) {
  for (const std::size_t every : {1'000, 10, 3, 2}) {
    const UndisturbedTime time = undisturbed(interrupted_runs(100, every));
    EXPECT_NEAR(time.ns, 1000, 10) << every;
    EXPECT_TRUE(time.is_sure) << every;
  }
}

TEST(Turns, ATimeIsNotSureWhereNoRunsAgreeOrThereAreFew) {
  EXPECT_FALSE(undisturbed(interrupted_runs(100, 1)).is_sure);
  EXPECT_FALSE(undisturbed(interrupted_runs(10, 1'000)).is_sure);
  EXPECT_FALSE(undisturbed({}).is_sure);
}

TEST(Turns, OnlyUnsureWorksTakeMoreTurns) {
  double took = 0;
  const auto stopwatch = [&](const std::function<void()>& work) { return work(), took; };
  int steady = 0, unsteady = 0;
  Turns turns(stopwatch);
  const std::size_t steady_work = turns.add([&] { ++steady, took = 200e3; });
  turns.add([&] { took = std::ldexp(1, ++unsteady); });
  EXPECT_FALSE(turns.run());
  EXPECT_EQ(steady, 4 * 9);
  EXPECT_EQ(unsteady, 80 * 9);
  EXPECT_EQ(turns.ns(steady_work), 200e3);
}

TEST(Turns, ElapsedTimeIsThatOfTheWork) {
  using namespace std::chrono_literals;
  EXPECT_GE(elapsed_ns([] { std::this_thread::sleep_for(200us); }), 200e3);
}

}  // namespace
}  // namespace culmen::test
