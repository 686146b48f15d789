#include "index/late_splits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "culmen/error.h"
#include "index/build/partition_cuts.h"
#include "index/partitioner.h"
#include "tests/generators.h"
#include "tests/index/row_chunks.h"

namespace culmen::test {
namespace {

std::vector<std::uint32_t> partitions_of(const Partitioner& partitioner, const RowChunk& rows) {
  std::vector<OrderKey> keys(rows.num_rows());
  partitioner.keys(rows, 0, keys.size(), keys);
  std::vector<std::uint32_t> partitions;
  for (const OrderKey key : keys) partitions.push_back(partition_of(key));
  return partitions;
}

// Splits one by one, and moves the rows of each by hand.
TEST(LateSplits, MoveTheRowsFromTheCutOnToANewPartition) {
  Random random(8);
  const RowChunk all = random_chunk(random, 2000, 3);
  const std::vector<AttributeStats> stats = stats_of(all);
  for (const Partitioning kind : {Partitioning::kd, Partitioning::angle}) {
    Partitioner partitioner = cut_partitions(kind, stats, {2, 2, 3}, all);
    std::vector<std::uint32_t> expected = partitions_of(partitioner, all);
    std::vector<LateSplit> splits;
    for (int c = 0; c < 60; ++c) {
      // At the value of a random row.
      const auto row = static_cast<std::size_t>(random.below(2000));
      const std::uint32_t attribute = c < 30 ? 0 : static_cast<std::uint32_t>(random.below(3));
      const LateSplit split{expected[row], attribute, all(row, attribute)};
      const std::uint32_t fresh = partitioner.num_partitions();
      try {
        partitioner = partitioner.with({&split, 1});
      } catch (const InvalidArgument&) {
        continue;  // this split is there already
      }
      splits.push_back(split);
      for (std::size_t r = 0; r < 2000; ++r)
        if (expected[r] == split.partition && all(r, attribute) >= split.cut) expected[r] = fresh;
      ASSERT_EQ(partitions_of(partitioner, all), expected) << "split " << c;
    }
    EXPECT_GT(splits.size(), 50u);
    const Partitioner at_once = cut_partitions(kind, stats, {2, 2, 3}, all).with(splits);
    EXPECT_EQ(partitions_of(at_once, all), expected);
    std::vector<std::uint32_t> order = at_once.order();
    std::vector<std::size_t> place(order.size());
    for (std::size_t p = 0; p < order.size(); ++p) place[order[p]] = p;
    for (std::size_t c = 0; c < splits.size(); ++c) EXPECT_GT(place[12 + c], place[splits[c].partition]);
    std::ranges::sort(order);
    for (std::uint32_t p = 0; p < order.size(); ++p) EXPECT_EQ(order[p], p);
  }
}

// As in a column that always rises; more splits than a node holds.
TEST(LateSplits, OfARisingColumnAreFound) {
  const std::vector<AttributeStats> stats{{0, 1, -1074}};
  RowChunk sample(2, 1);
  sample(1, 0) = 1;
  Partitioner partitioner = cut_partitions(Partitioning::kd, stats, {}, sample);
  std::vector<LateSplit> splits;
  for (std::uint32_t c = 0; c < 5000; ++c) splits.push_back({c, 0, 1.0 + c});
  partitioner = partitioner.with(splits);
  RowChunk rows(5001, 1);
  std::vector<std::uint32_t> expected;
  for (std::uint32_t r = 0; r <= 5000; ++r) {
    rows(r, 0) = r + 0.5;
    expected.push_back(r);
  }
  EXPECT_EQ(partitions_of(partitioner, rows), expected);
  EXPECT_EQ(partitioner.order(), expected);
}

TEST(LateSplits, AreRefusedIfTheyDoNotFit) {
  Random random(9);
  const RowChunk all = random_chunk(random, 100, 2);
  const Partitioner base = cut_partitions(Partitioning::kd, stats_of(all), {1, 2}, all);
  const auto with = [&](std::vector<LateSplit> splits) { return base.with(splits); };
  EXPECT_NO_THROW(with({{0, 0, 0.5}, {2, 0, 0.75}, {0, 0, 0.25}, {0, 1, 7.0}}));
  EXPECT_THROW(with({{2, 0, 0.5}}), InvalidArgument) << "of a partition that is not there";
  EXPECT_THROW(with({{0, 2, 0.5}}), InvalidArgument) << "by an attribute that is not there";
  EXPECT_THROW(with({{0, 0, 0.5}, {0, 0, 0.5}}), InvalidArgument) << "twice";
  EXPECT_THROW(with({{0, 0, 0.5}, {0, 0, 0.75}}), InvalidArgument) << "beyond the part's end";
  EXPECT_THROW(with({{0, 0, 0.5}, {2, 0, 0.25}}), InvalidArgument) << "before the part's beginning";
  EXPECT_THROW(with({{0, 0, std::numeric_limits<double>::quiet_NaN()}}), InvalidArgument);
  const LateSplit split{0, 0, 0.5};
  EXPECT_THROW(Partitioner::random(stats_of(all), 3).with({&split, 1}), InvalidArgument);
  // Nested splits, by the two attributes in turn.
  std::vector<LateSplit> deep;
  for (std::uint32_t c = 0; c < 65; ++c) deep.push_back({c == 0 ? 0 : c + 1, c % 2, 1.0 + c});
  EXPECT_THROW(base.with(deep), InvalidArgument);
  deep.resize(static_cast<std::size_t>(LateSplits::kMaxNesting));
  const Partitioner as_deep = base.with(deep);
  EXPECT_TRUE(as_deep.can_be_split(1));
}

}  // namespace
}  // namespace culmen::test
