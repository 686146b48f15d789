// A thread that waits for a parallel loop runs other tasks. None of them may wait for a lock that this thread holds
// (base/lock_isolated.h): it would wait for itself. Here a host program with many more threads than cores runs queries
// and changes as tasks of its own; an alarm ends a deadlock.
#include <gtest/gtest.h>
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "base/lock_isolated.h"
#include "culmen/index.h"
#include "index/build/bulk_load.h"
#include "index/storage/store.h"
#include "index/verify.h"
#include "index/write/live_index.h"
#include "tests/cases.h"
#include "tests/index/storage/memory_file_system.h"

namespace culmen::test {
namespace {

constexpr int kThreads = 16;
constexpr std::size_t kRounds = kSanitized ? 10 : 20;

class Stealing : public ::testing::Test {
 protected:
  Stealing() { ::alarm(400); }
  ~Stealing() override { ::alarm(0); }

  // Runs work() as one in eight of many tasks of an arena. The others sleep a little, so that there are always free
  // threads to steal a part of a loop, and tasks for its owner to run while it waits for them.
  template <typename Work>
  static void run_as_tasks(const Work& work) {
    const auto task = [&](const tbb::blocked_range<int>& one) {
      if (one.begin() % 8 == 0) return work();
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    };
    tbb::task_arena arena(kThreads);
    arena.execute(
        [&] { tbb::parallel_for(tbb::blocked_range<int>(0, 256, 1), task, tbb::simple_partitioner()); });
  }

 private:
  tbb::global_control more_threads_than_cores_{tbb::global_control::max_allowed_parallelism, kThreads};
};

struct RandomRows {
  std::vector<float> a, b;

  RandomRows(std::size_t count, std::uint64_t seed) : a(count), b(count) {
    std::mt19937_64 random(seed);
    for (std::size_t r = 0; r < count; ++r) {
      a[r] = static_cast<float>(random() % 4096);
      b[r] = static_cast<float>(random() % 4096);
    }
  }
  TableView view() const {
    TableView table{a.size(), {{"a"}, {"b"}}, {}, {}, {}};
    table.columns = {a, b};
    return table;
  }
};

TEST_F(Stealing, NoTaskIsTakenUpByTheOwnerOfALock) {
  std::mutex mutex;
  thread_local bool is_owner = false;
  std::atomic<int> num_taken_up = 0;
  for (int round = 0; round < 5; ++round)
    run_as_tasks([&] {
      if (is_owner) {
        ++num_taken_up;
        return;
      }
      lock_isolated(mutex, [&] {
        is_owner = true;
        tbb::parallel_for(0, 64, [](int) { std::this_thread::sleep_for(std::chrono::microseconds(300)); });
        is_owner = false;
      });
    });
  EXPECT_EQ(num_taken_up, 0);
}

// The first one sorts the lists of a fresh index, under a lock that all others wait for.
TEST_F(Stealing, QueriesOfTaShareTheListsOfAFreshIndex) {
  const RandomRows rows(40'000, 1);
  for (std::size_t round = 0; round < kRounds; ++round) {
    const Index index = Index::build(rows.view());
    run_as_tasks([&] {
      EXPECT_EQ(index.search({.weights = {1, 0.25}, .k = 3}, {.engine = Engine::ta}).hits.size(), 3u);
    });
  }
}

// An index in a directory in memory, read in several pieces in parallel, each of them slowly.
class StealingFromChanges : public Stealing {
 protected:
  StealingFromChanges() {
    storage::save(*bulk_load(RandomRows(kSanitized ? 200'000 : 600'000, 2).view(), {}), files_, "index",
                  false);
    files_.before_call = [] { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
  }

  std::unique_ptr<LiveIndex> open(bool writable) {
    return std::make_unique<LiveIndex>(files_, "index", OpenOptions{.writable = writable});
  }
  static void insert_some(LiveIndex& index, std::uint64_t seed) {
    const RandomRows rows(500, seed);
    index.write(WriteBatch().insert(rows.view()), {});
  }

 private:
  storage::MemoryFileSystem files_;
};

TEST_F(StealingFromChanges, ManyRefreshOneReader) {
  const std::unique_ptr<LiveIndex> writer = open(true), reader = open(false);
  for (std::size_t round = 0; round < kRounds / 2; ++round) {
    insert_some(*writer, round);
    if (round % 4 != 0) writer->checkpoint();
    run_as_tasks([&] { reader->refresh(); });
    EXPECT_EQ(reader->published()->get()->version, writer->published()->get()->version);
  }
}

TEST_F(StealingFromChanges, ManyMakeCheckpointsOfOneWriter) {
  const std::unique_ptr<LiveIndex> writer = open(true);
  for (std::size_t round = 0; round < kRounds / 10; ++round)
    run_as_tasks([&] {
      insert_some(*writer, round);
      writer->checkpoint();
    });
  EXPECT_EQ(verify_snapshot(*writer->published()->get(), false), std::vector<std::string>());
}

}  // namespace
}  // namespace culmen::test
