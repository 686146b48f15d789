// An allocation fails while batches of several threads are committed in groups: some of them fail, and leave nothing; the
// others are there.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <random>

#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/harness.h"
#include "tests/index/write/failing_memory.h"
#include "tests/index/write/group_model.h"

namespace culmen::test {
namespace {

TEST(GroupFaults, FailTheirBatchesAndLeaveTheOthers) {
  constexpr std::size_t kThreads = 4, kBatchesEach = 12;
  std::mt19937_64 random(1);
  std::uint64_t num_failed = 0;
  for (std::uint64_t seed = 1; seed <= num_cases(30); ++seed) {
    SCOPED_TRACE(seed);
    const TemporaryDirectory folder;
    const std::filesystem::path path = folder.path() / "index";
    save_empty(path);
    GroupModel model;
    {
      Index index = Index::open(path, {.writable = true, .num_threads = 1});
      model.apply(write_from_threads(
          index, seed, kThreads, kBatchesEach,
          [&] { allocations_left = static_cast<std::int64_t>(random() % 8000); },
          [&] { num_failed += allocations_left.exchange(-1) < 0 ? 1 : 0; }));
      model.expect_same(index);
      model.apply(write_from_threads(index, seed + 1000, kThreads, 2));
      model.expect_same(index);
    }
    model.expect_same(Index::open(path));
  }
  EXPECT_GT(num_failed, 0u);
}

}  // namespace
}  // namespace culmen::test
