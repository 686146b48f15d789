// CommitQueue: one leader at a time, and every request is committed once.
#include "index/write/commit_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace culmen::test {
namespace {

TEST(CommitQueue, CommitsEachRequestOnce) {
  constexpr int kThreads = 8, kRequests = 500;
  const WriteBatch batch;
  const WriteOptions options;
  CommitQueue queue;
  std::atomic<int> num_leaders = 0;
  std::uint64_t num_committed = 0;  // only the leader counts
  const CommitQueue::Commit commit = [&](std::span<CommitRequest* const> group) {
    EXPECT_EQ(num_leaders.fetch_add(1), 0);
    EXPECT_FALSE(group.empty());
    for (CommitRequest* request : group) {
      EXPECT_EQ(request->result.version, 0u) << "committed before";
      request->result.version = ++num_committed;
    }
    num_leaders.fetch_sub(1);
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      std::uint64_t last = 0;
      for (int r = 0; r < kRequests; ++r) {
        CommitRequest request{batch, options};
        queue.run(request, commit);
        EXPECT_TRUE(request.is_done);
        EXPECT_GT(request.result.version, last);
        last = request.result.version;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_committed, std::uint64_t{kThreads} * kRequests);
}

}  // namespace
}  // namespace culmen::test
