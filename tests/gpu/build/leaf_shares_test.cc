// Shares of leaves: whole nodes, of even size, with every partition that they need.
#include "gpu/build/leaf_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/generators.h"

namespace culmen::test {
namespace {

using gpu::LeafShare;
using Partitions = std::vector<PartitionRange>;

// Some without leaves, also at either end; at least one leaf.
Partitions random_partitions(Random& random) {
  Partitions partitions(1 + random.below(random.pick({3, 40, 400})));
  const auto most = random.pick<std::uint64_t>({2, 30, 500});
  std::uint32_t next = 0;
  for (PartitionRange& partition : partitions) {
    partition = {next, static_cast<std::uint32_t>(random.chance(0.3) ? 0 : random.below(most))};
    next += partition.num_leaves;
  }
  if (next == 0) partitions.back().num_leaves = 1;
  return partitions;
}

std::uint32_t num_leaves_of(const Partitions& partitions) {
  return partitions.back().first_leaf + partitions.back().num_leaves;
}

bool has_leaves_in(const PartitionRange& partition, const LeafShare& share) {
  return std::max(partition.first_leaf, share.first_leaf) <
         std::min(partition.first_leaf + partition.num_leaves, share.end_leaf);
}

TEST(LeafShares, AreWholeNodesOneAfterTheOther) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const Partitions partitions = random_partitions(random);
    const std::size_t count = 1 + random.below(9);
    const std::vector<LeafShare> shares = gpu::share_leaves(partitions, count);
    ASSERT_EQ(shares.size(), count);
    std::uint32_t next = 0;
    for (const LeafShare& share : shares) {
      ASSERT_EQ(share.first_leaf, next) << seed;
      next = share.end_leaf;
      ASSERT_TRUE(next % kFanOut == 0 || next == num_leaves_of(partitions)) << seed;
    }
    ASSERT_EQ(next, num_leaves_of(partitions)) << seed;
    ASSERT_GT(shares.front().end_leaf, 0u) << seed;
  }
}

TEST(LeafShares, DifferByOneNode) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const Partitions partitions = random_partitions(random);
    const std::vector<LeafShare> shares = gpu::share_leaves(partitions, 1 + random.below(9));
    std::uint32_t fewest = num_leaves_of(partitions), most = 0;
    for (const LeafShare& share : shares) {
      const std::uint32_t nodes = (share.end_leaf - share.first_leaf + kFanOut - 1) / kFanOut;
      fewest = std::min(fewest, nodes);
      most = std::max(most, nodes);
    }
    ASSERT_LE(most - fewest, 1u) << seed;
  }
}

TEST(LeafShares, HaveThePartitionsOfTheirLeaves) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    const Partitions partitions = random_partitions(random);
    for (const LeafShare& share : gpu::share_leaves(partitions, 1 + random.below(9))) {
      for (std::uint32_t p = 0; p < partitions.size(); ++p) {
        if (!has_leaves_in(partitions[p], share)) continue;
        ASSERT_LE(share.partitions.first, p) << seed;
        ASSERT_GT(share.partitions.end, p) << seed;
      }
      if (share.first_leaf == share.end_leaf) continue;
      ASSERT_TRUE(has_leaves_in(partitions[share.partitions.first], share)) << seed;
      ASSERT_LT(partitions[share.partitions.end - 1].first_leaf, share.end_leaf) << seed;
    }
  }
}

}  // namespace
}  // namespace culmen::test
