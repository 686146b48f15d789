// A mirror that follows a tree, downloaded and compared with it after batches of all kinds: byte by byte, and by
// verify. refresh_test.cc tests the engines over such mirrors.
#include "gpu/mirror/mirror.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "culmen/error.h"
#include "gpu/cuda/allocation_fault.h"
#include "tests/cases.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/mirror/download.h"
#include "tests/index/write/written_tree.h"

namespace culmen::test {
namespace {

using gpu::Mirror;
using gpu::MirrorView;

class MirrorAfter : public testing::TestWithParam<Writes> {};

TEST_P(MirrorAfter, HasWhatTheTreeHas) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kKept = 3;
  const std::uint64_t num_batches = num_cases(6000) / 100;
  for (const DeviceMemory memory :
       {DeviceMemory::device, DeviceMemory::managed, DeviceMemory::host, DeviceMemory::compressed}) {
    WrittenTree tree(GetParam(), 21);
    const auto published = std::make_shared<Published>(tree.version());
    Mirror mirror(published, {.memory = memory});
    std::deque<MirrorView> kept;  // older versions with readers
    for (std::uint64_t b = 0; b < num_batches; ++b) {
      kept.push_back(mirror.latest());
      ASSERT_EQ(kept.back().snapshot, tree.version());
      ASSERT_EQ(fault_in(kept.back()), "") << device_memory_name(memory) << ", batch " << b;
      if (kept.size() > kKept) kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(b % kKept));
      ASSERT_EQ(fault_in(kept.front()), "")
          << "an older version, " << device_memory_name(memory) << ", batch " << b;
      do published->set(tree.write());
      while (tree.random().chance(0.2));
    }
  }
  EXPECT_EQ(cuda::num_allocations(), 0);
}

INSTANTIATE_TEST_SUITE_P(All, MirrorAfter, testing::ValuesIn(all_writes()),
                         [](const auto& suite) { return suite.param.name; });

TEST(MirrorRefresh, CopiesWhatIsNewAndSaysWhat) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "one row", .first_rows = 20'000, .most_rows = 1}, 22);
  const auto published = std::make_shared<Published>(tree.version());
  Mirror mirror(published, {});
  EXPECT_EQ(mirror.refresh().leaves, 0u);  // nothing to do
  std::size_t num_changed = 0;
  for (int b = 0; b < 20; ++b) {
    published->set(tree.write());
    const RefreshStats stats = mirror.refresh();
    EXPECT_EQ(stats.version, tree.version()->version);
    EXPECT_FALSE(stats.is_whole);
    EXPECT_LT(stats.leaves + stats.nodes, 100u);
    num_changed += stats.leaves;
    EXPECT_EQ(fault_in(mirror.latest()), "");
  }
  EXPECT_GT(num_changed, 0u);
}

// Without a view, a mirror must not keep the index from reusing slots.
TEST(MirrorRefresh, HoldsNoVersionOfTheIndexByItself) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "held"}, 23);
  const auto published = std::make_shared<Published>(tree.version());
  Mirror mirror(published, {});
  const std::weak_ptr<const Snapshot> first = mirror.latest().snapshot;
  published->set(tree.write());
  EXPECT_TRUE(first.expired());
}

// A failed refresh leaves what was there, and the next one succeeds.
TEST(MirrorRefresh, ThatFindsNoMemoryChangesNothing) {
  SKIP_WITHOUT_GPU();
  for (const DeviceMemory memory : {DeviceMemory::device, DeviceMemory::host}) {
    // Device arrays grow in pages of 2 MiB.
    const Writes writes = {.name = "growing", .first_rows = 300, .most_rows = 60'000, .inserts = 0.95};
    WrittenTree tree(writes, 24);
    const auto published = std::make_shared<Published>(tree.version());
    Mirror mirror(published, {.memory = memory});
    MirrorView before = mirror.latest();
    int num_failed = 0;
    for (int b = 0; b < 10; ++b) {
      published->set(tree.write());
      for (int nth = 1;; ++nth) {
        try {
          const cuda::AllocationFault fault(nth);
          mirror.latest();
          break;
        } catch (const OutOfDeviceMemory&) {
          ++num_failed;
          ASSERT_EQ(fault_in(before), "") << "allocation " << nth << ", batch " << b;
        }
      }
      before = mirror.latest();
      ASSERT_EQ(before.snapshot, tree.version());
      ASSERT_EQ(fault_in(before), "") << "batch " << b;
    }
    EXPECT_GT(num_failed, 0) << device_memory_name(memory);
  }
  EXPECT_EQ(cuda::num_allocations(), 0);
}

// Threads that call during a refresh get the new version, and never an older one than was published before the call.
TEST(MirrorRefresh, IsDoneOnceForAllThreads) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "threads", .first_rows = 5000, .most_rows = 200}, 25);
  const auto published = std::make_shared<Published>(tree.version());
  Mirror mirror(published, {});
  std::vector<std::string> faults(6);
  {
    std::vector<std::jthread> threads;
    for (std::string& fault : faults)
      threads.emplace_back([&](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
          const std::uint64_t known = published->get()->version;
          const MirrorView view = mirror.latest();
          if (view.snapshot->version < known) fault = "an older version";
          if (view.mirror->ref().root != view.snapshot->root) fault = "another tree";
        }
      });
    for (int b = 0; b < 100; ++b) {
      published->set(tree.write());
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
  EXPECT_EQ(fault_in(mirror.latest()), "");
}

}  // namespace
}  // namespace culmen::test
