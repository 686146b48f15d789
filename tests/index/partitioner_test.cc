#include "index/partitioner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "culmen/error.h"
#include "tests/generators.h"

namespace culmen::test {
namespace {

RowChunk random_chunk(Random& random, std::size_t rows, std::size_t attributes) {
  RowChunk chunk(rows, attributes);
  for (std::size_t i = 0; i < attributes; ++i)
    for (double& value : chunk.attribute(i)) value = random.uniform(-3, 5);
  return chunk;
}

RowChunk some_of(const RowChunk& all, std::size_t first, std::size_t rows) {
  RowChunk some(rows, all.num_attributes());
  for (std::size_t i = 0; i < all.num_attributes(); ++i)
    std::ranges::copy(all.attribute(i).subspan(first, rows), some.attribute(i).begin());
  return some;
}

std::vector<AttributeStats> stats_of(const RowChunk& chunk) {
  std::vector<AttributeStats> stats;
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i) {
    const auto [minimum, maximum] = std::ranges::minmax(chunk.attribute(i));
    stats.push_back({minimum, maximum, -1074});
  }
  return stats;
}

TEST(Partitioner, GivesATupleTheSameKeyInEveryChunk) {
  Random random(1);
  const RowChunk all = random_chunk(random, 1000, 5);
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
  RowChunk chunk(4, 2);
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
  const RowChunk all = random_chunk(random, 20'000, 3);
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
  RowChunk all(4000, 3);
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
  RowChunk all(4000, 3);
  for (std::size_t r = 0; r < 4000; ++r)
    for (std::size_t i = 0; i < 3; ++i) all(r, i) = random.chance(0.05) ? random.unit() : 0;
  const Partitioner partitioner = Partitioner::from_sample(
      Partitioning::kd, std::vector<AttributeStats>(3, {0, 1, -1074}), {1, 2, 2}, all);
  EXPECT_EQ(partitioner.own_coordinates()[0], kFirstAngle + 1);
}

TEST(Partitioner, HalvesASingleAttributeToo) {
  Random random(8);
  const RowChunk all = random_chunk(random, 4000, 1);
  const Partitioner partitioner = Partitioner::from_sample(Partitioning::kd, stats_of(all), {3, 2, 2}, all);
  std::vector<OrderKey> keys(4000);
  partitioner.keys(all, 0, 4000, keys);
  std::vector<int> count(12, 0);
  for (const OrderKey key : keys) ++count[partition_of(key)];
  for (const int rows : count) EXPECT_GT(rows, 100);
}

TEST(Partitioner, CutsPositionsIntoEqualParts) {
  Random random(3);
  const RowChunk all = random_chunk(random, 100, 1);
  std::vector<OrderKey> keys(100);
  Partitioner::random(stats_of(all), 4).keys(all, 0, 100, keys);
  for (std::size_t r = 0; r < 100; ++r) EXPECT_EQ(partition_of(keys[r]), r / 25);
}

TEST(Partitioner, RestoredFromItsPartsGivesTheSameKeys) {
  Random random(4);
  const RowChunk all = random_chunk(random, 500, 4);
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

// ---- Later cuts

std::vector<std::uint32_t> partitions_of(const Partitioner& partitioner, const RowChunk& rows) {
  std::vector<OrderKey> keys(rows.num_rows());
  partitioner.keys(rows, 0, keys.size(), keys);
  std::vector<std::uint32_t> partitions;
  for (const OrderKey key : keys) partitions.push_back(partition_of(key));
  return partitions;
}

// Cuts come one by one: what each moves is counted by hand.
TEST(LateSplit, MoveTheRowsFromACutOnToTheNextPartition) {
  Random random(8);
  const RowChunk all = random_chunk(random, 2000, 3);
  const std::vector<AttributeStats> stats = stats_of(all);
  for (const Partitioning kind : {Partitioning::kd, Partitioning::angle}) {
    Partitioner partitioner = Partitioner::from_sample(kind, stats, {2, 2, 3}, all);
    std::vector<std::uint32_t> expected = partitions_of(partitioner, all);
    std::vector<LateSplit> cuts;
    for (int c = 0; c < 60; ++c) {
      // Of the rows of a partition, one at random says where.
      const auto row = static_cast<std::size_t>(random.below(2000));
      const std::uint32_t attribute = c < 30 ? 0 : static_cast<std::uint32_t>(random.below(3));
      const LateSplit cut{expected[row], attribute, all(row, attribute)};
      const std::uint32_t fresh = partitioner.num_partitions();
      try {
        partitioner = partitioner.with({&cut, 1});
      } catch (const InvalidArgument&) {
        continue;  // there is such a cut
      }
      cuts.push_back(cut);
      for (std::size_t r = 0; r < 2000; ++r)
        if (expected[r] == cut.partition && all(r, attribute) >= cut.cut) expected[r] = fresh;
      ASSERT_EQ(partitions_of(partitioner, all), expected) << "cut " << c;
    }
    EXPECT_GT(cuts.size(), 50u);
    const Partitioner at_once = Partitioner::from_sample(kind, stats, {2, 2, 3}, all).with(cuts);
    EXPECT_EQ(partitions_of(at_once, all), expected);
    std::vector<std::uint32_t> order = at_once.order();
    std::vector<std::size_t> place(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
    for (std::size_t c = 0; c < cuts.size(); ++c) EXPECT_GT(place[12 + c], place[cuts[c].partition]);
    std::ranges::sort(order);
    for (std::uint32_t p = 0; p < order.size(); ++p) EXPECT_EQ(order[p], p);
  }
}

// A chain as of a column that always rises, longer than a node's cuts.
TEST(LateSplit, OfARisingColumnAreFoundAgain) {
  const std::vector<AttributeStats> stats{{0, 1, -1074}};
  RowChunk sample(2, 1);
  sample(1, 0) = 1;
  Partitioner partitioner = Partitioner::from_sample(Partitioning::kd, stats, {}, sample);
  std::vector<LateSplit> cuts;
  for (std::uint32_t c = 0; c < 5000; ++c) cuts.push_back({c, 0, 1.0 + c});
  partitioner = partitioner.with(cuts);
  RowChunk rows(5001, 1);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t r = 0; r <= 5000; ++r) {
    rows(r, 0) = r + 0.5;
    expected.push_back(r);
  }
  EXPECT_EQ(partitions_of(partitioner, rows), expected);
  EXPECT_EQ(partitioner.order(), expected);
}

TEST(LateSplit, AreRefusedWhereTheyDoNotFit) {
  Random random(9);
  const RowChunk all = random_chunk(random, 100, 2);
  const Partitioner base = Partitioner::from_sample(Partitioning::kd, stats_of(all), {1, 2}, all);
  const auto with = [&](std::vector<LateSplit> cuts) { return base.with(cuts); };
  EXPECT_NO_THROW(with({{0, 0, 0.5}, {2, 0, 0.75}, {0, 0, 0.25}, {0, 1, 7.0}}));
  EXPECT_THROW(with({{2, 0, 0.5}}), InvalidArgument) << "of a partition that is not there";
  EXPECT_THROW(with({{0, 2, 0.5}}), InvalidArgument) << "by an attribute that is not there";
  EXPECT_THROW(with({{0, 0, 0.5}, {0, 0, 0.5}}), InvalidArgument) << "twice";
  EXPECT_THROW(with({{0, 0, 0.5}, {0, 0, 0.75}}), InvalidArgument) << "beyond the part's end";
  EXPECT_THROW(with({{0, 0, 0.5}, {2, 0, 0.25}}), InvalidArgument) << "before the part's beginning";
  EXPECT_THROW(with({{0, 0, std::numeric_limits<double>::quiet_NaN()}}), InvalidArgument);
  const LateSplit cut{0, 0, 0.5};
  EXPECT_THROW(Partitioner::random(stats_of(all), 3).with({&cut, 1}), InvalidArgument);
  // Cuts within cuts, by attributes in turn.
  std::vector<LateSplit> deep;
  for (std::uint32_t c = 0; c < 65; ++c) deep.push_back({c == 0 ? 0 : c + 1, c % 2, 1.0 + c});
  EXPECT_THROW(base.with(deep), InvalidArgument);
  deep.resize(static_cast<std::size_t>(Partitioner::kMaxLaterDepth));
  const Partitioner as_deep = base.with(deep);
  EXPECT_TRUE(as_deep.can_be_cut(1));
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
