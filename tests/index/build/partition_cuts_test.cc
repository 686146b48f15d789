#include "index/build/partition_cuts.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/generators.h"
#include "tests/index/row_chunks.h"

namespace culmen::test {
namespace {

TEST(PartitionCuts, AreOfLikeSize) {
  Random random(2);
  const RowChunk all = random_chunk(random, 20'000, 3);
  for (const Partitioning kind : {Partitioning::angle, Partitioning::kd}) {
    const Partitioner partitioner = cut_partitions(kind, stats_of(all), {1, 4, 2}, all);
    ASSERT_EQ(partitioner.num_partitions(), 8u);
    std::vector<OrderKey> keys(20'000);
    partitioner.keys(all, 0, 20'000, keys);
    std::vector<int> count(8, 0);
    for (const OrderKey key : keys) {
      ASSERT_LT(partition_of(key), 8u);
      ++count[partition_of(key)];
    }
    EXPECT_EQ(std::accumulate(count.begin(), count.end(), 0), 20'000);
    for (const int rows : count) EXPECT_GT(rows, 20'000 / 8 / 4);
  }
}

TEST(PartitionCuts, HalveByTheAttributeThatSpreadsTheFarthest) {
  Random random(6);
  RowChunk all(4000, 3);
  for (std::size_t r = 0; r < 4000; ++r) {
    all(r, 0) = random.uniform(0, 1) * 0.4;
    all(r, 1) = random.uniform(0, 1);
    all(r, 2) = random.uniform(0, 1) * 0.8;
  }
  const std::vector<AttributeStats> stats(3, {0, 1, -1074});
  const Partitioner partitioner = cut_partitions(Partitioning::kd, stats, {1, 2, 2}, all);
  const std::vector<Coordinate> wanted = {1, 2, 2};  // halved, the second is narrower than the third
  EXPECT_EQ(partitioner.own_coordinates(), wanted);
  std::vector<OrderKey> keys(4000);
  partitioner.keys(all, 0, 4000, keys);
  for (std::size_t r = 0; r < 4000; ++r)
    EXPECT_EQ(partition_of(keys[r]) / 2 == 1, all(r, 1) >= partitioner.cuts()[0]) << r;
}

TEST(PartitionCuts, HalveByAnglesWhereNoAttributeSpreads) {
  Random random(7);
  RowChunk all(4000, 3);
  for (std::size_t r = 0; r < 4000; ++r)
    for (std::size_t i = 0; i < 3; ++i) all(r, i) = random.chance(0.05) ? random.unit() : 0;
  const Partitioner partitioner =
      cut_partitions(Partitioning::kd, std::vector<AttributeStats>(3, {0, 1, -1074}), {1, 2, 2}, all);
  EXPECT_EQ(partitioner.own_coordinates()[0], kFirstAngle + 1);
}

TEST(PartitionCuts, HalveASingleAttributeToo) {
  Random random(8);
  const RowChunk all = random_chunk(random, 4000, 1);
  const Partitioner partitioner = cut_partitions(Partitioning::kd, stats_of(all), {3, 2, 2}, all);
  std::vector<OrderKey> keys(4000);
  partitioner.keys(all, 0, 4000, keys);
  std::vector<int> count(12, 0);
  for (const OrderKey key : keys) ++count[partition_of(key)];
  for (const int rows : count) EXPECT_GT(rows, 100);
}

TEST(ChooseSplits, ComesNearTheNumberAskedForAndNeverAbove) {
  for (int d = 2; d <= 20; ++d) {
    for (const std::uint32_t wanted : {1u, 2u, 3u, 10u, 512u, 2048u, 1u << 14, kMaxPartitions}) {
      std::uint64_t product = 1;
      for (const std::int32_t parts : choose_splits(Partitioning::angle, d, wanted))
        product *= static_cast<std::uint64_t>(parts);
      EXPECT_LE(product, wanted);
      EXPECT_GT(product * 3, wanted) << d;
    }
  }
  EXPECT_TRUE(choose_splits(Partitioning::angle, 1, 1000).empty());
}

}  // namespace
}  // namespace culmen::test
