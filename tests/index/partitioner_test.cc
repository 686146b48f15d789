#include "index/partitioner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/build/partition_cuts.h"
#include "index/row_orders.h"
#include "tests/generators.h"
#include "tests/index/row_chunks.h"

namespace culmen::test {
namespace {

TEST(Partitioner, GivesARowTheSameKeyInEveryChunk) {
  Random random(1);
  const RowChunk all = random_chunk(random, 1000, 5);
  const std::vector<AttributeStats> stats = stats_of(all);
  for (const Partitioner& partitioner :
       {cut_partitions(Partitioning::angle, stats, {3, 5, 2, 2}, all),
        cut_partitions(Partitioning::kd, stats, {3, 5, 2, 2}, all), Partitioner::random(stats, 7),
        cut_partitions(Partitioning::kd, stats, {1, 2, 2}, all).with_order(RowOrder::sum)}) {
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

TEST(Partitioner, MayOrderBySumsDescending) {
  RowChunk chunk(5, 2);
  // The sums are 0.5, 1, 1.5, 2.5 and -0.5: values beyond the range that is scaled count whole.
  std::ranges::copy(std::array{0.0, 1.0, 0.75, 2.5, -1.0}, chunk.attribute(0).begin());
  std::ranges::copy(std::array{0.5, 0.0, 0.75, 0.0, 0.5}, chunk.attribute(1).begin());
  const Partitioner partitioner =
      Partitioner::random(std::vector<AttributeStats>(2, {0, 1, -2}), 1).with_order(RowOrder::sum);
  std::vector<OrderKey> keys(5);
  partitioner.keys(chunk, 0, 5, keys);
  EXPECT_LT(keys[3], keys[2]);
  EXPECT_LT(keys[2], keys[1]);
  EXPECT_LT(keys[1], keys[0]);
  EXPECT_LT(keys[0], keys[4]);
  std::vector<OrderKey> orders(5);
  orders_of_rows(partitioner, chunk.attribute(0).data(), 5, orders);
  EXPECT_EQ(orders, keys);
  for (std::size_t r = 0; r < 5; ++r)
    EXPECT_EQ(partitioner.order_of([&](std::size_t i) { return chunk(r, i); }), keys[r]);
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
    const Partitioner made = cut_partitions(kind, stats_of(all), {3, 2, 2, 2}, all);
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
  const auto restore = [](Partitioning kind, std::vector<Coordinate> own) {
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

}  // namespace
}  // namespace culmen::test
