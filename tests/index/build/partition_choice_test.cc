#include "index/build/partition_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "base/with_threads.h"
#include "index/build/bulk_load.h"
#include "index/build/partition_cuts.h"
#include "tests/generators.h"
#include "tests/index/row_chunks.h"

namespace culmen::test {
namespace {

constexpr PartitionStyle kUsual = {Partitioning::kd, true, RowOrder::largest};

// 64 clusters of several widths.
RowChunk clusters(std::size_t num_rows, std::size_t num_attributes) {
  constexpr std::size_t kClusters = 64;
  Random random(1);
  const RowChunk centres = random_chunk(random, kClusters, num_attributes);
  RowChunk rows(num_rows, num_attributes);
  for (std::size_t r = 0; r < num_rows; ++r) {
    const std::size_t cluster = random.below(kClusters);
    const double reach = 0.1 + 0.02 * static_cast<double>(cluster);
    for (std::size_t i = 0; i < num_attributes; ++i)
      rows(r, i) = centres(cluster, i) + random.uniform(-reach, reach) + random.uniform(-reach, reach);
  }
  return rows;
}

// Shares of a whole: all rows have the same sum.
RowChunk shares(std::size_t num_rows, std::size_t num_attributes) {
  Random random(2);
  RowChunk rows(num_rows, num_attributes);
  for (std::size_t r = 0; r < num_rows; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < num_attributes; ++i) sum += rows(r, i) = -std::log(random.uniform(1e-9, 1));
    for (std::size_t i = 0; i < num_attributes; ++i) rows(r, i) /= sum;
  }
  return rows;
}

PartitionStyle choice(const RowChunk& sample, int num_threads = 0) {
  return with_threads(num_threads, [&] {
    return choose_style(BoundLayout(static_cast<int>(sample.num_attributes())), stats_of(sample), 96, 10,
                        kUsual, sample);
  });
}

TEST(PartitionChoice, DependsOnTheTable) {
  const std::size_t rows = rows_to_compare(1'000'000, 8, 96);
  EXPECT_EQ(choice(shares(rows, 8)), kUsual);
  EXPECT_EQ(choice(clusters(rows, 8)), (PartitionStyle{Partitioning::kd, false, RowOrder::sum}));
}

TEST(PartitionChoice, IsTheSameForAnyNumberOfThreads) {
  const std::size_t rows = rows_to_compare(1'000'000, 10, 96);
  for (const RowChunk& sample : {shares(rows, 10), clusters(rows, 10)})
    EXPECT_EQ(choice(sample, 1), choice(sample, 2));
}

TEST(PartitionChoice, IsOfLargeTablesOnly) {
  EXPECT_EQ(rows_to_compare(100'000, 8, 96), 0u);
  EXPECT_GT(rows_to_compare(200'000, 8, 96), 13'000u);
  EXPECT_EQ(rows_to_compare(1'000'000'000, 8, 96), 256u * 96);
  EXPECT_EQ(rows_to_compare(1'000'000'000, 64, 96), 144u * 96);
  EXPECT_EQ(rows_to_compare(1'000'000'000, 65, 96), 0u);
  EXPECT_EQ(rows_to_compare(1'000'000'000, 1, 96), 0u);
  EXPECT_EQ(rows_to_compare(1'000'000'000, 8, 4096), 0u);
}

TEST(PartitionChoice, IsThatOfABuildUnlessTheCallerChooses) {
  const RowChunk rows = clusters(120'000, 4);
  TableView table;
  table.num_rows = rows.num_rows();
  for (std::size_t i = 0; i < rows.num_attributes(); ++i) {
    table.attributes.push_back({"a" + std::to_string(i)});
    table.columns.emplace_back(rows.attribute(i));
  }
  const auto built = [&](const BuildOptions& options) { return bulk_load(table, options)->partitioner; };
  const auto chosen = built({});
  EXPECT_EQ(chosen->kind(), Partitioning::kd);
  EXPECT_EQ(chosen->row_order(), RowOrder::sum);
  EXPECT_TRUE(lacks_shells(*chosen));
  const auto usual = built({.partitioning = Partitioning::kd});
  EXPECT_EQ(usual->row_order(), RowOrder::largest);
  EXPECT_TRUE(usual->has_shells());
  EXPECT_EQ(built({.row_order = RowOrder::largest})->row_order(), RowOrder::largest);
  EXPECT_TRUE(built({.row_order = RowOrder::sum})->has_shells());
  EXPECT_FALSE(built({.shells = Shells::none})->has_shells());
}

}  // namespace
}  // namespace culmen::test
