#include "query/turns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
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
  using namespace std::chrono_literals;
  int steady = 0, unsteady = 0;
  Turns turns;
  const std::size_t steady_work = turns.add([&] { ++steady, std::this_thread::sleep_for(200us); });
  turns.add([&] { std::this_thread::sleep_for(10us * (++unsteady % 50)); });
  EXPECT_FALSE(turns.run());
  EXPECT_GE(steady, 32);
  EXPECT_GT(unsteady, 2 * steady);
  EXPECT_GE(turns.ns(steady_work), 200e3);
}

}  // namespace
}  // namespace culmen::test
