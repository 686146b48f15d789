#include "base/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace culmen::test {
namespace {

TEST(Worker, RunsTasksInOrderOnOneThread) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  {
    Worker worker;
    for (int task = 0; task < 100; ++task)
      static_cast<void>(worker.run([&, task] {
        order.push_back(task);
        threads.push_back(std::this_thread::get_id());
      }));
  }  // runs what is queued
  ASSERT_EQ(order.size(), 100u);
  for (int task = 0; task < 100; ++task) {
    EXPECT_EQ(order[static_cast<std::size_t>(task)], task);
    EXPECT_EQ(threads[static_cast<std::size_t>(task)], threads[0]);
  }
  EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(Worker, HandsOnWhatATaskThrowsAndGoesOn) {
  Worker worker;
  std::future<void> fails = worker.run([] { throw std::runtime_error("no"); });
  std::future<void> succeeds = worker.run([] {});
  EXPECT_THROW(fails.get(), std::runtime_error);
  EXPECT_NO_THROW(succeeds.get());
}

TEST(Worker, LooksForTheNextTaskBeforeItSleeps) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kLong(20);
  const Clock::time_point start = Clock::now();
  {
    Worker sleeps, looks(kLong);
    const auto waits = [&] {
      while (!looks.is_waiting() && Clock::now() < start + kLong) std::this_thread::yield();
      return looks.is_waiting();
    };
    EXPECT_TRUE(waits());
    for (int task = 0; task < 100; ++task) {
      Ends ends(2);
      bool has_run = false;
      ends.add(looks.run([&] { has_run = true; }));
      ends.add(sleeps.run([] {}));
      ends.spin();
      EXPECT_TRUE(has_run);
    }
    EXPECT_TRUE(waits());
    EXPECT_FALSE(sleeps.is_waiting());
  }  // does not look any longer
  EXPECT_LT(Clock::now() - start, kLong);
}

}  // namespace
}  // namespace culmen::test
