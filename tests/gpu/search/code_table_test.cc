// Codes of all rows on a GPU beside those in memory, and readers that ask them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cpu/code_table.h"
#include "culmen/device.h"
#include "culmen/index.h"
#include "gpu/search/device_code_table.h"
#include "index/build/bulk_load.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/field_tables.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

class DeviceCodes : public testing::TestWithParam<ValueClass> {
 protected:
  void SetUp() override {
    if (num_devices() == 0) GTEST_SKIP() << "no GPU";
  }
};

std::map<std::uint32_t, double> bounds_of(const cpu::CodeTable& codes, const ResolvedQuery& query,
                                          double score) {
  std::map<std::uint32_t, double> bounds;
  for (const cpu::BoundedLeaf& leaf : codes.leaves_reaching(query, score)) bounds[leaf.leaf] = leaf.bound;
  return bounds;
}

// The sum of the bases is rounded in another order.
bool is_close(double a, double b, double magnitude) {
  return a == b || (std::isinf(a) && std::isinf(b)) || std::fabs(a - b) <= magnitude * 1e-3;
}

TEST_P(DeviceCodes, BoundLeavesAsThoseInMemoryDo) {
  std::uint64_t num_left_out = 0;
  for (std::uint64_t trial = 0; trial < num_cases(40); ++trial) {
    Random random(1000 * static_cast<std::uint64_t>(GetParam()) + trial);
    SCOPED_TRACE(trial);
    const Table table =
        random_table(random, GetParam(), 1 + random.below(3000), random.pick({1, 3, 8, 20, 70}));
    BuildOptions options{.leaf_rows = random.pick({16, 64, 256, 1008}), .num_threads = 1};
    options.value_type = random_value_type(random, table.view());
    const std::shared_ptr<Snapshot> s = bulk_load(table.view(), options);
    const Oracle oracle(table.view(), s->value_type == ValueType::float32);
    const std::unique_ptr<cpu::CodeTable> in_memory = cpu::make_code_table(*s);
    const std::unique_ptr<cpu::CodeTable> on_device = gpu::make_code_table(*s, 0);
    EXPECT_TRUE(on_device->is_of(*s));
    for (int q = 0; q < 12; ++q) {
      const Query query = random_query(random, oracle);
      if (oracle.refuses(query)) continue;
      const ResolvedQuery resolved = resolve(query, *s);
      if (!cpu::CodeTable::suits(resolved)) continue;
      const std::map<std::uint32_t, double> expected = bounds_of(*in_memory, resolved, -kInfinity);
      const std::map<std::uint32_t, double> found = bounds_of(*on_device, resolved, -kInfinity);
      ASSERT_EQ(found.size(), expected.size()) << describe(query);
      if (expected.empty()) continue;
      double magnitude = std::fabs(resolved.offset), middle = 0;
      for (const auto& [leaf, bound] : expected) magnitude = std::max(magnitude, std::fabs(bound));
      for (const auto& [leaf, bound] : expected)
        ASSERT_TRUE(is_close(found.at(leaf), bound, magnitude))
            << found.at(leaf) << " and " << bound << describe(query);
      middle = std::next(found.begin(), static_cast<std::ptrdiff_t>(found.size() / 2))->second;
      const std::map<std::uint32_t, double> reaching = bounds_of(*on_device, resolved, middle);
      for (const auto& [leaf, bound] : found) EXPECT_EQ(reaching.contains(leaf), bound >= middle);
      num_left_out += found.size() - reaching.size();
    }
  }
  if (GetParam() == ValueClass::uniform_f32) {
    EXPECT_GT(num_left_out, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, DeviceCodes, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

// A life of a directory: readers with codes on the GPU follow its writer through logs and checkpoints.
TEST(ReadersWithDeviceCodes, AnswerAsTheWriterDoes) {
  if (num_devices() == 0) GTEST_SKIP() << "no GPU";
  for (std::uint64_t seed = 1; seed <= num_cases(4); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const auto d = random.pick<std::size_t>({2, 8, 24});
    Schema schema;
    for (std::size_t a = 0; a < d; ++a)
      schema.attributes.push_back({std::string("a").append(std::to_string(a)),
                                   random.chance(0.3) ? Preference::low : Preference::high});
    const double share_of_gaps = random.pick({0.0, 0.02});
    const auto row = [&](std::int64_t id) {
      culmen::Row drawn = {id, {}, "", {}};
      for (std::size_t a = 0; a < d; ++a)
        drawn.values.push_back(random.chance(share_of_gaps) ? std::nan("") : random.uniform(-1, 1));
      return drawn;
    };
    std::vector<culmen::Row> rows;
    for (std::int64_t id = 0; id < 30'000; ++id) rows.push_back(row(id));
    const TemporaryDirectory folder;
    Index::build(RowTable(random, schema, rows).view(), {.leaf_rows = 32}).save(folder.path() / "index");
    Index writer = Index::open(folder.path() / "index", {.writable = true, .durability = Durability::os});
    Index reader =
        Index::open(folder.path() / "index", {.loading = Loading::on_touch,
                                              .max_memory = random.pick<std::uint64_t>({1, 500'000}),
                                              .codes = CodesIn::device});
    std::uint64_t by_codes = 0;
    for (int step = 0; step < 6; ++step) {
      std::vector<Query> queries;
      for (int q = 0; q < 12; ++q) {
        queries.push_back(
            {.weights = random_weights(random, d), .k = random.pick<std::size_t>({1, 10, 400})});
        queries.back().scale = random.pick({Scale::none, Scale::minmax, Scale::zscore});
        if (random.chance(0.3)) queries.back().where = col("a0") > random.uniform(-1, 1);
        if (random.chance(0.2)) queries.back().missing = Missing::fill;
      }
      const std::vector<SearchResult> expected = writer.search(queries), together = reader.search(queries);
      for (std::size_t q = 0; q < queries.size(); ++q) {
        const SearchResult found = reader.search(queries[q]);
        const auto is_same = [](const Hit& a, const Hit& b) { return a.id == b.id && a.score == b.score; };
        ASSERT_TRUE(std::ranges::equal(found.hits, expected[q].hits, is_same)) << "step " << step;
        ASSERT_TRUE(std::ranges::equal(together[q].hits, expected[q].hits, is_same)) << "step " << step;
        by_codes += found.stats.rows_by_codes >= 20'000 ? 1 : 0;
      }
      std::vector<culmen::Row> changed;
      for (int i = 0; i < 50; ++i) changed.push_back(row(31'000 + 50 * step + i));
      writer.write(WriteBatch()
                       .upsert(RowTable(random, schema, changed).view())
                       .erase(std::vector<std::int64_t>{step, 100 + step}));
      if (random.chance(0.5)) writer.checkpoint();
      ASSERT_NE(reader.refresh(), Refreshed::unchanged);
    }
    EXPECT_GT(by_codes, d == 24 ? 10u : 0u);
  }
}

}  // namespace
}  // namespace culmen::test
