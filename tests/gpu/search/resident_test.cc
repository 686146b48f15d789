// Single searches by a kernel that stays on the device (DeviceOptions::resident). device_test has random tables.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "culmen/culmen.h"
#include "gpu/cuda/buffer.h"
#include "gpu/search/resident.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::nanoseconds kStay(gpu::kResidence);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Without labels, and with ids from first_id on.
Table plain_table(Random& random, std::size_t num_rows, int num_attributes, std::int64_t first_id) {
  Table table = random_table(random, ValueClass::uniform_f32, num_rows, num_attributes);
  table.labels = {};
  table.label_name.clear();
  table.ids.resize(num_rows);
  std::iota(table.ids.begin(), table.ids.end(), first_id);
  return table;
}

// Where a row is may differ.
std::vector<Answer> answers_of(const SearchResult& result) {
  std::vector<Answer> answers;
  for (const Hit& hit : result.hits) answers.push_back({hit.id, hit.score});
  return answers;
}

std::vector<Query> random_queries(Random& random, std::size_t num_attributes, int count) {
  std::vector<Query> queries;
  for (int q = 0; q < count; ++q) {
    queries.push_back({.weights = random_weights(random, num_attributes),
                       .k = static_cast<std::size_t>(random.pick({1, 3, 16, 100, 256, 1000, 1024, 1025}))});
    if (random.below(4) == 0) queries.back().min_score = random.pick({-1.0, 0.0, 0.5});
    if (random.below(8) == 0) queries.back().where = {{0, 0.25, 0.75}};
  }
  return queries;
}

TEST(Resident, SaysWhatItOccupies) {
  SKIP_WITHOUT_GPU();
  Random random(1);
  const Index index = Index::build(random_table(random, ValueClass::uniform_f32, 1000, 3).view());
  EXPECT_EQ(index.to_device().num_resident_multiprocessors(), 0u);
  EXPECT_GT(index.to_device({.resident = true}).num_resident_multiprocessors(), 0u);
}

// Questions in a row, after pauses in which the kernel leaves, and between other work on the device.
TEST(Resident, AnswersAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  Random random(2);
  for (const ValueClass kind :
       {ValueClass::uniform_f32, ValueClass::small_integers, ValueClass::anticorrelated}) {
    const Table table = random_table(random, kind, 200'000, 6);
    const Index index = Index::build(table.view());
    const DeviceIndex resident = index.to_device({.resident = true});
    const std::vector<Query> queries =
        random_queries(random, table.columns.size(), static_cast<int>(num_cases(300)));
    for (const Query& query : queries) {
      ASSERT_EQ(resident.search(query).hits, index.search(query).hits) << describe(query);
      if (random.below(20) == 0) std::this_thread::sleep_for(random.below(2) * kStay * 5 / 4);
      if (random.below(20) == 0) {
        ASSERT_EQ(resident.search(query, {.engine = Engine::scan}).hits, index.search(query).hits);
      }
      if (random.below(20) == 0) {
        ASSERT_EQ(resident.search(std::vector<Query>{query, query})[1].hits, index.search(query).hits);
      }
    }
  }
}

TEST(Resident, FollowsChanges) {
  SKIP_WITHOUT_GPU();
  Random random(3);
  for (const DeviceMemory memory : {DeviceMemory::device, DeviceMemory::host}) {
    const Table table = plain_table(random, 20'000, 4, 0);
    Index index = Index::build(table.view());
    const DeviceIndex resident = index.to_device({.memory = memory, .resident = true});
    std::int64_t next = 1'000'000;
    for (std::uint64_t change = 0; change < num_cases(200); ++change) {
      std::vector<std::int64_t> erased;
      const auto first = static_cast<std::int64_t>(random.below(20'000));
      for (std::int64_t i = 0; i < 50; ++i) erased.push_back(first + i);
      index.erase(erased);
      index.insert(plain_table(random, 50, 4, next).view());
      next += 50;
      if (random.below(3) == 0) static_cast<void>(resident.refresh());
      for (const Query& query : random_queries(random, 4, 5))
        ASSERT_EQ(resident.search(query).hits, index.search(query).hits) << describe(query);
    }
  }
}

// Threads take turns, while others search in batches and by launches, and while versions come.
TEST(Resident, AnswersManyThreadsAtOnce) {
  SKIP_WITHOUT_GPU();
  Random random(4);
  const Table table = plain_table(random, 100'000, 5, 0);
  Index index = Index::build(table.view());
  const DeviceIndex resident = index.to_device({.resident = true});
  const std::vector<Query> queries = random_queries(random, 5, 64);
  std::vector<std::vector<Answer>> expected;
  expected.reserve(queries.size());
  for (const Query& query : queries) expected.push_back(answers_of(index.search(query)));
  std::vector<std::string> faults(6);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < faults.size(); ++t)
      threads.emplace_back([&, t] {
        for (std::size_t i = 0; i < num_cases(300); ++i) {
          const std::size_t q = (7 * t + i) % queries.size();
          const SearchResult found = t == 5 ? resident.search(queries)[q] : resident.search(queries[q]);
          if (const std::string wrong = difference(found.hits, expected[q]); !wrong.empty())
            faults[t] = wrong + "; " + describe(queries[q]);
        }
      });
    for (int version = 0; version < 5; ++version) {
      index.compact();
      std::this_thread::sleep_for(kStay);
    }
  }
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
}

// Named twice, a device serves one member at a time.
TEST(Resident, AnswersInGroups) {
  SKIP_WITHOUT_GPU();
  Random random(8);
  const Index index = Index::build(random_table(random, ValueClass::anticorrelated, 50'000, 5).view());
  for (const DeviceLayout layout : {DeviceLayout::replicate, DeviceLayout::shard}) {
    const DeviceGroup group = index.to_devices({0, 0}, {.layout = layout, .resident = true});
    for (const Query& query : random_queries(random, 5, 20))
      ASSERT_EQ(group.search(query).hits, index.search(query).hits) << describe(query);
  }
}

// Allocations wait for running kernels when they are freed. A thread that never stops asking must not hold them up.
TEST(Resident, LetsOtherWorkOnTheDevicePass) {
  SKIP_WITHOUT_GPU();
  Random random(5);
  const Index index = Index::build(random_table(random, ValueClass::uniform_f32, 50'000, 4).view());
  const DeviceIndex resident = index.to_device({.resident = true}), launched = index.to_device();
  const Query query = {.weights = {1, 2, 3, 4}, .k = 16};
  const std::vector<Hit> expected = index.search(query).hits;
  static_cast<void>(launched.search(query));
  std::atomic<bool> ends = false;
  std::atomic<std::size_t> asked = 0;
  {
    const std::jthread asking([&] {
      for (; !ends; ++asked) static_cast<void>(resident.search(query));
    });
    while (asked < 100) std::this_thread::yield();
    for (int i = 0; i < 20; ++i) {
      const auto start = Clock::now();
      EXPECT_EQ(launched.search(query).hits, expected);
      EXPECT_LT(seconds_since(start), 0.1);
      const auto allocating = Clock::now();
      cuda::Buffer<std::byte>(std::size_t{64} << 20);
      EXPECT_LT(seconds_since(allocating), 0.5);
    }
    ends = true;
  }
  const auto start = Clock::now();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_LT(seconds_since(start), 0.1);
}

// Of the process below.
TEST(Resident, DISABLED_AsksUntilItIsKilled) {
  Random random(6);
  const Index index = Index::build(random_table(random, ValueClass::uniform_f32, 50'000, 4).view());
  const DeviceIndex resident = index.to_device({.resident = true});
  for (int i = 0;; ++i) {
    static_cast<void>(resident.search({.weights = {1, 2, 3, 4}, .k = 16}));
    if (i == 1000) static_cast<void>(::write(STDERR_FILENO, "!", 1));
  }
}

pid_t start_to_ask(int from) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::string> arguments = {program, "--gtest_also_run_disabled_tests",
                                        "--gtest_filter=Resident.DISABLED_AsksUntilItIsKilled"};
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, from, STDERR_FILENO);
  pid_t process = 0;
  const int error = ::posix_spawn(&process, program.c_str(), &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? process : 0;
}

TEST(Resident, LeavesTheDeviceWhenItsProcessIsKilled) {
  SKIP_WITHOUT_GPU();
  Random random(7);
  const Index index = Index::build(random_table(random, ValueClass::uniform_f32, 50'000, 4).view());
  const DeviceIndex launched = index.to_device();
  const Query query = {.weights = {1, 2, 3, 4}, .k = 16};
  static_cast<void>(launched.search(query));
  int pipe[2];
  ASSERT_EQ(::pipe2(pipe, O_CLOEXEC), 0);
  const pid_t process = start_to_ask(pipe[1]);
  ASSERT_GT(process, 0);
  ::close(pipe[1]);
  char asked = 0;
  ASSERT_EQ(::read(pipe[0], &asked, 1), 1);
  ::close(pipe[0]);
  ASSERT_EQ(::kill(process, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFSIGNALED(status));
  const auto start = Clock::now();
  EXPECT_EQ(launched.search(query).hits, index.search(query).hits);
  EXPECT_LT(seconds_since(start), 1);
}

}  // namespace
}  // namespace culmen::test
