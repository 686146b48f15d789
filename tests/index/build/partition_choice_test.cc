#include "index/build/partition_choice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <string>

#include "base/with_threads.h"
#include "index/build/bulk_load.h"
#include "index/build/partition_cuts.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/index/row_chunks.h"

namespace culmen::test {
namespace {

constexpr PartitionStyle kUsual = {Partitioning::kd, true, RowOrder::largest};

// Attributes that three common factors move, all in the same direction.
RowChunk with_factors(std::size_t num_rows, std::size_t num_attributes) {
  Random random(1);
  const RowChunk factors = random_chunk(random, num_rows, 3),
                 noise = random_chunk(random, num_rows, num_attributes);
  RowChunk rows(num_rows, num_attributes);
  for (std::size_t i = 0; i < num_attributes; ++i) {
    const double loads[] = {random.uniform(0, 2), random.uniform(0, 2), random.uniform(0, 2)};
    for (std::size_t r = 0; r < num_rows; ++r) {
      rows(r, i) = 0.1 * noise(r, i);
      for (std::size_t f = 0; f < 3; ++f) rows(r, i) += loads[f] * factors(r, f);
    }
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
  EXPECT_EQ(choice(with_factors(rows, 8)), (PartitionStyle{Partitioning::kd, true, RowOrder::sum}));
}

TEST(PartitionChoice, IsTheSameForAnyNumberOfThreads) {
  const std::size_t rows = rows_to_compare(test::kSanitized ? 200'000 : 1'000'000, 10, 96);
  for (const RowChunk& sample : {shares(rows, 10), with_factors(rows, 10)})
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
  const RowChunk rows = with_factors(120'000, 8);
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
  const auto usual = built({.partitioning = Partitioning::kd});
  EXPECT_EQ(usual->row_order(), RowOrder::largest);
  EXPECT_TRUE(usual->has_shells());
  EXPECT_EQ(built({.row_order = RowOrder::largest})->row_order(), RowOrder::largest);
  EXPECT_TRUE(built({.row_order = RowOrder::sum})->has_shells());
  const auto flat = built({.shells = Shells::none});
  EXPECT_FALSE(flat->has_shells());
  EXPECT_TRUE(lacks_shells(*flat));
  EXPECT_FALSE(lacks_shells(*usual));
}

}  // namespace
}  // namespace culmen::test
