#include "index/partitioner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <vector>

#include "culmen/error.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

TupleChunk random_chunk(Random& random, std::size_t rows, std::size_t attributes) {
  TupleChunk chunk(rows, attributes);
  for (std::size_t i = 0; i < attributes; ++i)
    for (double& value : chunk.attribute(i)) value = random.uniform(-3, 5);
  return chunk;
}

TupleChunk some_of(const TupleChunk& all, std::size_t first, std::size_t rows) {
  TupleChunk some(rows, all.num_attributes());
  for (std::size_t i = 0; i < all.num_attributes(); ++i)
    std::ranges::copy(all.attribute(i).subspan(first, rows), some.attribute(i).begin());
  return some;
}

std::vector<AttributeStats> stats_of(const TupleChunk& chunk) {
  std::vector<AttributeStats> stats;
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i) {
    const auto [minimum, maximum] = std::ranges::minmax(chunk.attribute(i));
    stats.push_back({minimum, maximum, -1074});
  }
  return stats;
}

TEST(Partitioner, GivesATupleTheSameKeyInEveryChunk) {
  Random random(1);
  const TupleChunk all = random_chunk(random, 1000, 5);
  const std::vector<AttributeStats> stats = stats_of(all);
  for (const Partitioner& partitioner :
       {Partitioner::from_sample(Partitioning::angle, stats, {3, 5, 2, 2}, all),
        Partitioner::from_sample(Partitioning::kd, stats, {3, 5, 2, 2}, all),
        Partitioner::random(stats, 7)}) {
    std::vector<OrderKey> at_once(1000);
    partitioner.keys(all, 0, 1000, at_once);
    for (const std::size_t chunk : {1, 3, 8, 17, 64, 333}) {
      std::vector<OrderKey> keys(1000);
      for (std::size_t first = 0; first < 1000; first += chunk) {
        const std::size_t rows = std::min(chunk, 1000 - first);
        partitioner.keys(some_of(all, first, rows), first, 1000, std::span(keys).subspan(first, rows));
      }
      EXPECT_EQ(keys, at_once) << "chunks of " << chunk;
    }
  }
}

TEST(Partitioner, OrdersByLargestScaledAttributeDescending) {
  TupleChunk chunk(4, 2);
  std::ranges::copy(std::array{0.0, 1.0, 0.25, 0.75}, chunk.attribute(0).begin());
  // The largest is 0.5, 1, 0.75, and 0.75 with a larger sum.
  std::ranges::copy(std::array{0.5, 0.0, 0.75, 0.75}, chunk.attribute(1).begin());
  const Partitioner partitioner = Partitioner::random(std::vector<AttributeStats>(2, {0, 1, -2}), 1);
  std::vector<OrderKey> keys(4);
  partitioner.keys(chunk, 0, 4, keys);
  EXPECT_LT(keys[1], keys[3]);
  EXPECT_LT(keys[3], keys[2]);
  EXPECT_LT(keys[2], keys[0]);
}

TEST(Partitioner, CutsIntoPartsOfLikeSize) {
  Random random(2);
  const TupleChunk all = random_chunk(random, 20'000, 3);
  for (const Partitioning kind : {Partitioning::angle, Partitioning::kd}) {
    const Partitioner partitioner = Partitioner::from_sample(kind, stats_of(all), {1, 4, 2}, all);
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

TEST(Partitioner, HalvesByTheAttributeThatSpreadsTheFarthest) {
  Random random(6);
  TupleChunk all(4000, 3);
  for (std::size_t r = 0; r < 4000; ++r) {
    all(r, 0) = random.uniform(0, 1) * 0.4;
    all(r, 1) = random.uniform(0, 1);
    all(r, 2) = random.uniform(0, 1) * 0.8;
  }
  const std::vector<AttributeStats> stats(3, {0, 1, -1074});
  const Partitioner partitioner = Partitioner::from_sample(Partitioning::kd, stats, {1, 2, 2}, all);
  const std::vector<std::uint8_t> wanted = {1, 2, 2};  // halved, the second is narrower than the third
  EXPECT_EQ(partitioner.own_coordinates(), wanted);
  std::vector<OrderKey> keys(4000);
  partitioner.keys(all, 0, 4000, keys);
  for (std::size_t r = 0; r < 4000; ++r)
    EXPECT_EQ(partition_of(keys[r]) / 2 == 1, all(r, 1) >= partitioner.cuts()[0]) << r;
}

TEST(Partitioner, HalvesByAnglesWhereNoAttributeSpreads) {
  Random random(7);
  TupleChunk all(4000, 3);
  for (std::size_t r = 0; r < 4000; ++r)
    for (std::size_t i = 0; i < 3; ++i) all(r, i) = random.chance(0.05) ? random.unit() : 0;
  const Partitioner partitioner = Partitioner::from_sample(
      Partitioning::kd, std::vector<AttributeStats>(3, {0, 1, -1074}), {1, 2, 2}, all);
  EXPECT_EQ(partitioner.own_coordinates()[0], kFirstAngle + 1);
}

TEST(Partitioner, HalvesASingleAttributeToo) {
  Random random(8);
  const TupleChunk all = random_chunk(random, 4000, 1);
  const Partitioner partitioner = Partitioner::from_sample(Partitioning::kd, stats_of(all), {3, 2, 2}, all);
  std::vector<OrderKey> keys(4000);
  partitioner.keys(all, 0, 4000, keys);
  std::vector<int> count(12, 0);
  for (const OrderKey key : keys) ++count[partition_of(key)];
  for (const int rows : count) EXPECT_GT(rows, 100);
}

TEST(Partitioner, CutsPositionsIntoEqualParts) {
  Random random(3);
  const TupleChunk all = random_chunk(random, 100, 1);
  std::vector<OrderKey> keys(100);
  Partitioner::random(stats_of(all), 4).keys(all, 0, 100, keys);
  for (std::size_t r = 0; r < 100; ++r) EXPECT_EQ(partition_of(keys[r]), r / 25);
}

TEST(Partitioner, RestoredFromItsPartsGivesTheSameKeys) {
  Random random(4);
  const TupleChunk all = random_chunk(random, 500, 4);
  for (const Partitioning kind : {Partitioning::angle, Partitioning::kd}) {
    const Partitioner made = Partitioner::from_sample(kind, stats_of(all), {3, 2, 2, 2}, all);
    const Partitioner restored =
        Partitioner::restore(made.kind(), made.minimum(), made.maximum(), made.splits(), made.cuts(),
                             made.own_coordinates(), made.num_partitions());
    std::vector<OrderKey> before(500), after(500);
    made.keys(all, 0, 500, before);
    restored.keys(all, 0, 500, after);
    EXPECT_EQ(before, after);
  }
}

TEST(Partitioner, RefusesCoordinatesThatAreNotThere) {
  const auto restore = [](Partitioning kind, std::vector<std::uint8_t> own) {
    return Partitioner::restore(kind, {0, 0}, {1, 1}, {1, 2}, {0.5}, std::move(own), 2);
  };
  EXPECT_NO_THROW(restore(Partitioning::kd, {1}));
  EXPECT_NO_THROW(restore(Partitioning::kd, {kFirstAngle + 1}));
  EXPECT_NO_THROW(restore(Partitioning::angle, {}));
  EXPECT_THROW(restore(Partitioning::kd, {}), InvalidArgument);
  EXPECT_THROW(restore(Partitioning::kd, {2}), InvalidArgument);
  EXPECT_THROW(restore(Partitioning::kd, {kFirstAngle}), InvalidArgument);
  EXPECT_THROW(restore(Partitioning::kd, {kFirstAngle + 2}), InvalidArgument);
  EXPECT_THROW(restore(Partitioning::angle, {1}), InvalidArgument);
}

TEST(Partitioner, RefusesPartsThatDoNotFitTogether) {
  const std::vector<double> two = {0, 0}, cuts = {0.5};
  const auto restore = [&](std::vector<std::int32_t> splits, std::vector<double> c,
                           std::uint32_t partitions) {
    return Partitioner::restore(Partitioning::angle, two, two, std::move(splits), std::move(c), {},
                                partitions);
  };
  EXPECT_NO_THROW(restore({2}, cuts, 2));
  EXPECT_THROW(restore({2}, cuts, 3), InvalidArgument);
  EXPECT_THROW(restore({2}, {}, 2), InvalidArgument);
  EXPECT_NO_THROW(restore({1}, {}, 1));
  EXPECT_THROW(restore({0}, {}, 0), InvalidArgument);
  EXPECT_THROW(restore({-2}, cuts, 2), InvalidArgument);
  EXPECT_THROW(restore({2, 1}, cuts, 2), InvalidArgument) << "only the shells may be one";
  EXPECT_NO_THROW(restore({2, 2}, {0.5, 0.5, 0.5}, 4));
  EXPECT_THROW(restore({2, 2}, {0.5, 0.5}, 4), InvalidArgument) << "each part has a cut of its own";
  EXPECT_THROW(Partitioner::restore(Partitioning::angle, {0}, {1}, {2, 2}, {0.5, 0.5, 0.5}, {}, 4),
               InvalidArgument)
      << "one attribute has no angle";
  EXPECT_THROW(restore({2}, cuts, 0), InvalidArgument);
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
