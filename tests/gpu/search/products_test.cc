// Batches over tables of many attributes, which take products in half precision, against the CPU: many leaves, rows
// whose values are far outside of the build's range, ties, and weights that half precision cannot hold.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

enum class Kind { gaussian, latent, uniform, few_values, sizes, tiny };

struct WideTable {
  std::vector<Attribute> attributes;
  std::vector<std::vector<float>> columns;

  TableView view() const {
    TableView view;
    view.attributes = attributes;
    for (const std::vector<float>& column : columns) view.columns.emplace_back(std::span(column));
    view.num_rows = columns.front().size();
    return view;
  }
};

WideTable wide_table(Random& random, Kind kind, std::size_t num_rows, int num_attributes) {
  WideTable table;
  for (int a = 0; a < num_attributes; ++a) {
    table.attributes.push_back({"a" + std::to_string(a), a % 5 == 3 ? Preference::low : Preference::high});
    table.columns.emplace_back(num_rows);
  }
  for (std::size_t r = 0; r < num_rows; ++r) {
    const double length = kind == Kind::latent ? std::exp(random.uniform(-2, 2)) : 1;
    for (int a = 0; a < num_attributes; ++a) {
      double value = random.uniform(-1, 1) + random.uniform(-1, 1) + random.uniform(-1, 1);
      if (kind == Kind::uniform) value = random.uniform(0, 1);
      if (kind == Kind::few_values) value = static_cast<double>(random.below(2));
      if (kind == Kind::latent) value *= length / (a + 1);
      if (kind == Kind::tiny)
        value *= 0x1p-130;  // far rows then overflow binary32, too, in units of the build
      if (kind == Kind::sizes) value *= std::ldexp(1.0, a % 7 * 30 - 90);
      table.columns[static_cast<std::size_t>(a)][r] = static_cast<float>(value);
    }
  }
  return table;
}

std::vector<double> wide_weights(Random& random, int num_attributes) {
  const int kind = random.between(0, 5);
  std::vector<double> weights;
  for (int a = 0; a < num_attributes; ++a) {
    double weight = random.uniform(-1, 1);
    if (kind == 0) weight = std::fabs(weight);
    if (kind == 1 && random.chance(0.95)) weight = 0;
    if (kind == 2) weight *= std::ldexp(1.0, random.between(-300, 300));
    if (kind == 3) weight = std::round(weight);
    weights.push_back(weight);
  }
  weights[random.below(static_cast<std::uint64_t>(num_attributes))] = 1;
  return weights;
}

TEST(Products, AnswerAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  const std::uint64_t num_tables = num_cases(2000) / 40 + 1;
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : 6'500'000'000 + t;
    Random random(seed);
    const auto kind =
        random.pick({Kind::gaussian, Kind::latent, Kind::uniform, Kind::few_values, Kind::sizes, Kind::tiny});
    const int num_attributes =
        random.pick({random.between(33, 64), random.between(65, random.pick({70, 130, 400, 1024}))});
    const std::size_t num_rows =
        1 + random.below(random.chance(0.4) ? 200 : 3'000'000 / static_cast<std::uint64_t>(num_attributes));
    const WideTable table = wide_table(random, kind, num_rows, num_attributes);
    Index index = Index::build(table.view(), {.leaf_rows = random.pick({16, 48, 96, 96, 112, 256})});
    DeviceIndex on_gpu = index.to_device({.memory = random.pick({DeviceMemory::device, DeviceMemory::host})});
    for (int round = 0; round < 2; ++round) {
      Batch batch = {.weights = {}, .k = random.pick<std::size_t>({1, 10, 100, 1024})};
      for (std::uint64_t q = 1 + random.below(random.pick({5, 300, 1500})); q > 0; --q)
        batch.weights.push_back(wide_weights(random, num_attributes));
      if (random.chance(0.5)) batch.where = {{.attribute = 0, .minimum = -0.1, .maximum = 0.4}};
      if (random.chance(0.2)) batch.min_score = random.uniform(-1, 10);
      EXPECT_EQ(fault(index, on_gpu, batch), "")
          << num_rows << " x " << num_attributes << ", k = " << batch.k << ", round " << round << "\n"
          << rerun_command(seed, "sweep_test", "Products.*");
      if (testing::Test::HasFailure()) return;
      // Rows that half precision, in units of the build's range, cannot hold.
      WideTable rows = wide_table(random, kind, 300, num_attributes);
      for (std::size_t r = random.pick<std::size_t>({1, 20}); r-- > 0;)
        rows.columns[random.below(static_cast<std::uint64_t>(num_attributes))][r] =
            random.pick({1e30F, -1e30F, 3e9F, 1e5F});
      TableView view = rows.view();
      std::vector<std::int64_t> ids(view.num_rows);
      for (std::size_t r = 0; r < ids.size(); ++r) ids[r] = static_cast<std::int64_t>(r * 3);
      view.ids = ids;
      index.upsert(view);
      on_gpu.refresh();
    }
    if (only_seed() != 0) return;
  }
}

// Few rows, all of which are wanted, in leaves whose lengths overflow: whatever is written beyond the queries meets them.
TEST(Products, CountNoQueriesBeyondTheBatch) {
  SKIP_WITHOUT_GPU();
  for (const std::size_t num_queries : {1, 2, 3, 40, 127, 128, 129, 300}) {
    Random random(num_queries);
    const int num_attributes = random.pick({66, 129, 1000});
    Index index = Index::build(wide_table(random, Kind::tiny, 60, num_attributes).view());
    const DeviceIndex on_gpu = index.to_device();
    WideTable rows = wide_table(random, Kind::gaussian, 4, num_attributes);
    TableView far = rows.view();
    const std::vector<std::int64_t> ids = {1, 20, 40, 99};
    far.ids = ids;
    index.upsert(far);
    std::vector<Query> queries(num_queries);
    for (Query& query : queries) query = {.weights = wide_weights(random, num_attributes), .k = 128};
    const std::vector<SearchResult> found = on_gpu.search(queries), expected = index.search(queries);
    for (std::size_t q = 0; q < num_queries; ++q) {
      ASSERT_EQ(found[q].hits.size(), expected[q].hits.size()) << "query " << q << " of " << num_queries;
      for (std::size_t i = 0; i < found[q].hits.size(); ++i) {
        EXPECT_EQ(found[q].hits[i].id, expected[q].hits[i].id) << "query " << q << " of " << num_queries;
        EXPECT_EQ(found[q].hits[i].score, expected[q].hits[i].score)
            << "query " << q << " of " << num_queries;
      }
    }
  }
}

}  // namespace
}  // namespace culmen::test
