#include "index/build/bulk_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "cpu/simd/kernels.h"
#include "culmen/error.h"
#include "index/verify.h"
#include "tests/generators.h"
#include "tests/harness.h"
#include "tests/index/slot_spans.h"
#include "tests/refusals.h"

namespace culmen::test {
namespace {

// Every byte that an engine may read.
std::string bytes_of(const Snapshot& s) {
  std::string bytes;
  const auto add = [&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  const auto add_all = [&add](auto values) { add(values.data(), values.size_bytes()); };
  const SlotArena& arena = *s.arena;
  add_all(all_leaves(arena));
  add_all(all_values(arena));
  add_all(all_ids(arena));
  add_all(all_zone_maps(arena));
  add_all(all_nodes(arena));
  for (std::size_t node = 0; node < s.num_nodes; ++node)
    add(arena.node_zone_map(node), kZoneVectors * arena.shape().zone_vector_bytes());
  for (std::size_t leaf = 0; leaf < s.num_leaves; ++leaf) add_all(arena.labels(leaf));
  return bytes;
}

TEST(BulkLoad, MakesTheSameBytesWithAnyNumberOfThreadsAndAnySimdTarget) {
  for (const ValueClass value_class :
       {ValueClass::uniform_f64, ValueClass::small_integers, ValueClass::mixed}) {
    Random random(1);
    const Table table = random_table(random, value_class, 5000, 11);
    for (const Partitioning partitioning : {Partitioning::kd, Partitioning::angle, Partitioning::random}) {
      BuildOptions options{
          .partitioning = partitioning, .num_partitions = 9, .leaf_rows = 48, .num_threads = 1};
      const std::string expected = bytes_of(*bulk_load(table.view(), options));
      for (const int num_threads : {2, 5}) {
        options.num_threads = num_threads;
        EXPECT_EQ(bytes_of(*bulk_load(table.view(), options)), expected) << num_threads << " threads";
      }
      for (const std::string& target : simd::available_targets()) {
        const ForcedTarget forced(target);
        EXPECT_EQ(bytes_of(*bulk_load(table.view(), options)), expected) << target;
      }
    }
  }
}

TEST(BulkLoad, KeepsEveryRowOnceAsItWasGiven) {
  Random random(2);
  for (const ValueClass value_class : all_value_classes()) {
    const Table table = random_table(random, value_class, 700, 3);
    const TableView view = table.view();
    const std::shared_ptr<Snapshot> s = bulk_load(view, {.num_partitions = 5, .leaf_rows = 32});
    std::map<std::int64_t, std::size_t> row_of;
    for (std::size_t row = 0; row < 700; ++row)
      row_of[view.ids.empty() ? static_cast<std::int64_t>(row) : view.ids[row]] = row;
    std::size_t found = 0;
    for (std::size_t leaf = 0; leaf < s->num_leaves; ++leaf)
      for (std::uint32_t r = 0; r < s->leaf(leaf).num_rows; ++r, ++found) {
        const auto at = row_of.extract(s->leaf_ids(leaf)[r]);
        ASSERT_FALSE(at.empty()) << "an id that was not given, or twice";
        for (std::size_t i = 0; i < 3; ++i) {
          const double inside = s->value(leaf * 32 + r, static_cast<int>(i));
          const double outside = table.attributes[i].preference == Preference::low ? -inside : inside;
          EXPECT_EQ(outside, value_at(view.columns[i], at.mapped()));
          EXPECT_FALSE(inside == 0 && std::signbit(inside)) << "-0 is 0";
        }
      }
    EXPECT_EQ(found, 700u);
  }
}

TEST(BulkLoad, SetsLeavesInOrderOfTheKeyAndThenTheId) {
  Random random(3);
  const Table table = random_table(random, ValueClass::small_integers, 3000, 4);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.num_splits = 2, .leaf_rows = 16});
  EXPECT_EQ(s->partitioner->num_partitions(), 8u);
  OrderKey last_key = 0;
  std::int64_t last_id = std::numeric_limits<std::int64_t>::min();
  for (std::size_t leaf = 0; leaf < s->num_leaves; ++leaf) {
    RowChunk chunk(s->leaf(leaf).num_rows, 4);
    for (std::size_t r = 0; r < chunk.num_rows(); ++r)
      for (int i = 0; i < 4; ++i) chunk(r, static_cast<std::size_t>(i)) = s->value(leaf * 16 + r, i);
    std::vector<OrderKey> keys(chunk.num_rows());
    s->partitioner->keys(chunk, 0, 3000, keys);
    for (std::size_t r = 0; r < keys.size(); ++r) {
      const std::int64_t id = s->leaf_ids(leaf)[r];
      EXPECT_EQ(partition_of(keys[r]), s->leaf(leaf).partition);
      EXPECT_TRUE(last_key < keys[r] || (last_key == keys[r] && last_id < id));
      last_key = keys[r];
      last_id = id;
    }
  }
}

// Smaller ones would be valid, but would make searches read much where rows tie.
TEST(BulkLoad, GivesEachNodeTheSmallestIdBelowIt) {
  Random random(9);
  const Table table = random_table(random, ValueClass::small_integers, 50'000, 3);
  const std::shared_ptr<const Snapshot> s = bulk_load(table.view(), {.leaf_rows = 16});
  ASSERT_GT(s->height, 2);
  for (std::size_t n = 0; n < s->num_nodes; ++n) {
    const NodeRef node = s->node(n);
    const auto* min_ids = node.min_ids();
    EXPECT_EQ(node.header().min_id, *std::min_element(min_ids, min_ids + node.header().num_children));
  }
}

TEST(BulkLoad, KeepsFloat32OnlyIfItLosesNothing) {
  const std::vector<double> exact = {0.5, 0x1p127, 0x1p-149}, inexact = {0.5, 0.1, 1};
  TableView view{
      .num_rows = 3, .attributes = {{"a"}}, .columns = {ColumnView(exact)}, .ids = {}, .labels = {}};
  EXPECT_EQ(bulk_load(view, {})->value_type, ValueType::float32);
  view.columns = {ColumnView(inexact)};
  EXPECT_EQ(bulk_load(view, {})->value_type, ValueType::float64);
  const std::shared_ptr<Snapshot> rounded = bulk_load(view, {.value_type = ValueType::float32});
  EXPECT_EQ(rounded->value_type, ValueType::float32);
  EXPECT_EQ(rounded->rounded_values, 1u);
  const std::vector<std::int64_t> integers = {(1 << 24) + 1, 0, 1};
  view.columns = {ColumnView(integers)};
  EXPECT_EQ(bulk_load(view, {})->value_type, ValueType::float64);
}

class Refusals : public testing::TestWithParam<Refusal> {};

TEST_P(Refusals, SayWhatIsWrong) {
  const auto load = [](const TableView& table, const BuildOptions& options) { bulk_load(table, options); };
  EXPECT_EQ(fault_of(GetParam(), load), "");
}

INSTANTIATE_TEST_SUITE_P(OfTables, Refusals, testing::ValuesIn(refused_tables()),
                         [](const auto& suite) { return suite.param.name; });

TEST(BulkLoad, TakesAsManyAttributesAsItPromises) {
  Random random(5);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, kMaxAttributes);
  const Oracle oracle(table.view(), false);
  const Index index = Index::build(table.view(), {.leaf_rows = 16});
  const Query query{.weights = random_weights(random, kMaxAttributes), .k = 9};
  EXPECT_EQ(difference(index.search(query).hits, oracle.search(query)), "");
}

TEST(BulkLoad, AbandonsTheBuildWhenProgressThrows) {
  Random random(6);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
  double last = 0;
  const BuildOptions watched{.on_progress = [&last](std::string_view, double fraction) {
    EXPECT_GE(fraction, 0);
    EXPECT_LE(fraction, 1);
    last = fraction;
  }};
  bulk_load(table.view(), watched);
  EXPECT_EQ(last, 1);
  const BuildOptions angry{.on_progress = [](std::string_view, double) { throw std::runtime_error("stop"); }};
  EXPECT_THROW(bulk_load(table.view(), angry), std::runtime_error);
}

// The unit of a column of floats whose rows are what f(row, unit random number) gives.
template <typename F>
int unit_exponent(std::size_t num_rows, F&& f) {
  Random random(4);
  std::vector<float> column(num_rows);
  for (std::size_t r = 0; r < num_rows; ++r) column[r] = f(r, static_cast<float>(random.unit()));
  Table table;
  table.num_rows = num_rows;
  table.attributes = {{"a"}};
  table.columns = {ColumnView(column)};
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {});
  EXPECT_TRUE(verify_snapshot(*s, true).empty());
  EXPECT_EQ(s->stats[0].maximum, static_cast<double>(*std::max_element(column.begin(), column.end())));
  EXPECT_EQ(s->partitioner->maximum()[0] < s->stats[0].maximum ||
                s->partitioner->minimum()[0] > s->stats[0].minimum,
            s->units[0].unit < (s->stats[0].maximum - s->stats[0].minimum) / 4);
  return s->units[0].exponent;
}

TEST(BulkLoad, MeasuresAttributesByTheirUsualRange) {
  constexpr std::size_t kRows = 50'000;
  const auto plain = [](std::size_t, float u) { return u; };
  EXPECT_EQ(unit_exponent(kRows, plain), 0);
  for (const float outlier : {-999999.0F, 1e9F, 1e30F, -1e30F})
    for (const std::size_t at : {std::size_t{0}, std::size_t{777}, kRows - 1})
      EXPECT_LE(unit_exponent(kRows, [&](std::size_t r, float u) { return r == at ? outlier : u; }), 1)
          << outlier << " at " << at;
  // Real tails and frequent values keep their range.
  EXPECT_GE(unit_exponent(kRows, [](std::size_t, float u) { return 1 / (u + 1e-5F); }), 14);
  EXPECT_GE(unit_exponent(kRows, [](std::size_t, float u) { return std::log(u + 1e-6F); }), 3);
  EXPECT_EQ(unit_exponent(kRows, [](std::size_t r, float u) { return r % 100 == 0 ? -999 : u; }), 10);
  EXPECT_EQ(unit_exponent(kRows, [](std::size_t r, float) { return r % 20 == 0 ? 1.0F : 0.0F; }), 0);
}

}  // namespace
}  // namespace culmen::test
