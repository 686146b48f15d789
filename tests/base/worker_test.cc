#include "base/worker.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace culmen::test
