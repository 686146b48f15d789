#include "index/bulk_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "cpu/simd/kernels.h"
#include "culmen/error.h"
#include "tests/generators.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

// Every byte that an engine may read.
std::string bytes_of(const Snapshot& s) {
  std::string bytes;
  const auto add = [&bytes](const void* data, std::size_t size) {
    bytes.append(static_cast<const char*>(data), size);
  };
  const auto add_all = [&add](auto values) { add(values.data(), values.size_bytes()); };
  const Blocks& blocks = *s.blocks;
  add_all(blocks.all_leaves());
  add_all(blocks.all_values());
  add_all(blocks.all_ids());
  add_all(blocks.all_corners());
  add_all(blocks.all_nodes());
  for (std::size_t leaf = 0; leaf < s.num_leaves; ++leaf) add_all(blocks.labels(leaf));
  return bytes;
}

TEST(BulkLoad, MakesTheSameBytesWithAnyNumberOfThreadsAndAnySimdTarget) {
  for (const ValueClass value_class :
       {ValueClass::uniform_f64, ValueClass::small_integers, ValueClass::mixed}) {
    Random random(1);
    const Table table = random_table(random, value_class, 5000, 11);
    for (const Partitioning partitioning : {Partitioning::angle, Partitioning::random}) {
      BuildOptions options{
          .partitioning = partitioning, .num_partitions = 9, .block_rows = 48, .num_threads = 1};
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

TEST(BulkLoad, KeepsEveryTupleOnceAsItWasGiven) {
  Random random(2);
  for (const ValueClass value_class : all_value_classes()) {
    const Table table = random_table(random, value_class, 700, 3);
    const TableView view = table.view();
    const std::shared_ptr<Snapshot> s = bulk_load(view, {.num_partitions = 5, .block_rows = 32});
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
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.num_splits = 2, .block_rows = 16});
  EXPECT_EQ(s->partitioner.num_partitions(), 8u);
  OrderKey last_key = 0;
  std::int64_t last_id = std::numeric_limits<std::int64_t>::min();
  for (std::size_t leaf = 0; leaf < s->num_leaves; ++leaf) {
    const auto num_rows = static_cast<Eigen::Index>(s->leaf(leaf).num_rows);
    TupleChunk tuples(num_rows, 4);
    for (Eigen::Index r = 0; r < num_rows; ++r)
      for (int i = 0; i < 4; ++i) tuples(r, i) = s->value(leaf * 16 + static_cast<std::uint64_t>(r), i);
    std::vector<OrderKey> keys(static_cast<std::size_t>(num_rows));
    s->partitioner.keys(tuples, 0, 3000, keys);
    for (std::size_t r = 0; r < keys.size(); ++r) {
      const std::int64_t id = s->leaf_ids(leaf)[r];
      EXPECT_EQ(partition_of(keys[r]), s->leaf(leaf).partition);
      EXPECT_TRUE(last_key < keys[r] || (last_key == keys[r] && last_id < id));
      last_key = keys[r];
      last_id = id;
    }
  }
}

TEST(BulkLoad, WritesThresholdsOverAllLaterLeavesOfThePartition) {
  Random random(4);
  const Table table = random_table(random, ValueClass::uniform_f64, 2000, 3);
  const std::shared_ptr<Snapshot> s = bulk_load(table.view(), {.num_partitions = 4, .block_rows = 16});
  for (std::size_t leaf = 0; leaf < s->num_leaves; ++leaf) {
    std::vector<double> highest(3, -std::numeric_limits<double>::infinity()),
        lowest(3, std::numeric_limits<double>::infinity());
    std::int64_t min_id = kNoId;
    for (std::size_t later = leaf + 1; later < s->num_leaves; ++later) {
      if (s->leaf(later).partition != s->leaf(leaf).partition) continue;
      for (std::uint32_t r = 0; r < s->leaf(later).num_rows; ++r) {
        min_id = std::min(min_id, s->leaf_ids(later)[r]);
        for (int i = 0; i < 3; ++i) {
          const auto a = static_cast<std::size_t>(i);
          highest[a] = std::max(highest[a], s->value(later * 16 + r, i));
          lowest[a] = std::min(lowest[a], s->value(later * 16 + r, i));
        }
      }
    }
    EXPECT_EQ(s->leaf(leaf).later_min_id, min_id);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(s->corner<double>(leaf, Corner::later_maximum)[i], highest[i]);
      EXPECT_EQ(s->corner<double>(leaf, Corner::later_minimum)[i], lowest[i]);
    }
  }
}

// Loose ones would be allowed, and would let searches read much where rows tie.
TEST(BulkLoad, GivesEachNodeTheSmallestIdBelowIt) {
  Random random(9);
  const Table table = random_table(random, ValueClass::small_integers, 50'000, 3);
  const std::shared_ptr<const Snapshot> s = bulk_load(table.view(), {.block_rows = 16});
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
      .num_rows = 3, .attributes = {{"a"}}, .columns = {ColumnView(exact.data())}, .ids = {}, .labels = {}};
  EXPECT_EQ(bulk_load(view, {})->value_type, ValueType::float32);
  view.columns = {ColumnView(inexact.data())};
  EXPECT_EQ(bulk_load(view, {})->value_type, ValueType::float64);
  const std::shared_ptr<Snapshot> rounded = bulk_load(view, {.value_type = ValueType::float32});
  EXPECT_EQ(rounded->value_type, ValueType::float32);
  EXPECT_EQ(rounded->rounded_values, 1u);
  const std::vector<std::int64_t> integers = {(1 << 24) + 1, 0, 1};
  view.columns = {ColumnView(integers.data())};
  EXPECT_EQ(bulk_load(view, {})->value_type, ValueType::float64);
}

// A refusal names what is wrong and where.
struct Refusal {
  std::string name;
  std::function<void(TableView&, BuildOptions&)> spoil;
  std::vector<std::string> words;  // all of them stand in the text

  friend void PrintTo(const Refusal& refusal, std::ostream* out) { *out << refusal.name; }
};

class Refusals : public testing::TestWithParam<Refusal> {};

TEST_P(Refusals, SayWhatIsWrong) {
  const std::vector<float> good = {1, 2, 3};
  TableView view{.num_rows = 3,
                 .attributes = {{"price"}, {"stars"}},
                 .columns = {ColumnView(good.data()), ColumnView(good.data())},
                 .ids = {},
                 .labels = {}};
  BuildOptions options;
  ASSERT_NO_THROW(bulk_load(view, options));
  GetParam().spoil(view, options);
  try {
    bulk_load(view, options);
    FAIL() << "taken";
  } catch (const Error& error) {
    for (const std::string& word : GetParam().words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << error.what() << " does not say " << word;
  }
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
const std::vector<float> kWithNan = {1, kNan, 3};
const std::vector<float> kWithInfinity = {1, 2, -kInf};
const std::vector<double> kBeyondFloat = {1e39, 2, 3};
const std::vector<std::int64_t> kBeyondExact = {1, (std::int64_t{1} << 53) + 1, 3};
const std::vector<std::int64_t> kTwice = {4, 9, 4};
const std::vector<std::uint64_t> kTwoOffsets = {0, 0};

std::vector<Refusal> refused_tables() {
  return {
      Refusal{"nan",
              [](TableView& t, BuildOptions&) { t.columns[1] = ColumnView(kWithNan.data()); },
              {"row 1", "stars", "NaN"}},
      Refusal{"infinity",
              [](TableView& t, BuildOptions&) { t.columns[0] = ColumnView(kWithInfinity.data()); },
              {"row 2", "price", "infinity"}},
      Refusal{"large_integer",
              [](TableView& t, BuildOptions&) { t.columns[0] = ColumnView(kBeyondExact.data()); },
              {"row 1", "price", "2^53", "9007199254740993"}},
      Refusal{"beyond_float32",
              [](TableView& t, BuildOptions& o) {
                t.columns[0] = ColumnView(kBeyondFloat.data());
                o.value_type = ValueType::float32;
              },
              {"row 0", "price", "float32"}},
      Refusal{"id_twice", [](TableView& t, BuildOptions&) { t.ids = kTwice; }, {"id 4", "rows 0 and 2"}},
      Refusal{"too_few_ids",
              [](TableView& t, BuildOptions&) { t.ids = std::span(kTwice).first(2); },
              {"3 rows", "2 ids"}},
      Refusal{"too_few_labels",
              [](TableView& t, BuildOptions&) { t.labels.offsets = kTwoOffsets; },
              {"3 rows", "1 labels"}},
      Refusal{"no_attributes",
              [](TableView& t, BuildOptions&) {
                t.attributes.clear();
                t.columns.clear();
              },
              {"no attribute"}},
      Refusal{"too_few_columns",
              [](TableView& t, BuildOptions&) { t.columns.pop_back(); },
              {"2 attributes", "1 columns"}},
      Refusal{"names_twice",
              [](TableView& t, BuildOptions&) { t.attributes[1].name = "price"; },
              {"two attributes", "price"}},
      Refusal{"empty_name", [](TableView& t, BuildOptions&) { t.attributes[1].name = ""; }, {"empty name"}},
      Refusal{"too_many_attributes",
              [](TableView& t, BuildOptions&) {
                t.attributes.clear();
                for (int i = 0; i <= kMaxAttributes; ++i)
                  t.attributes.push_back({std::string(static_cast<std::size_t>(i) + 1, 'a')});
                t.columns.assign(t.attributes.size(), t.columns[0]);
              },
              {"65 attributes", "at most 64"}},
      Refusal{
          "block_of_15", [](TableView&, BuildOptions& o) { o.block_rows = 15; }, {"15", "multiple of 16"}},
      Refusal{
          "block_of_24", [](TableView&, BuildOptions& o) { o.block_rows = 24; }, {"24", "multiple of 16"}},
      Refusal{"negative_block", [](TableView&, BuildOptions& o) { o.block_rows = -16; }, {"-16"}},
      Refusal{"large_block", [](TableView&, BuildOptions& o) { o.block_rows = 4112; }, {"4112", "4096"}},
      Refusal{"negative_splits", [](TableView&, BuildOptions& o) { o.num_splits = -1; }, {"num_splits"}},
      Refusal{"splits_of_random",
              [](TableView&, BuildOptions& o) {
                o.num_splits = 2;
                o.partitioning = Partitioning::random;
              },
              {"num_splits"}},
      Refusal{"too_many_partitions",
              [](TableView&, BuildOptions& o) { o.num_partitions = (1 << 20) + 1; },
              {"partitions"}},
      Refusal{
          "too_many_splits", [](TableView&, BuildOptions& o) { o.num_splits = (1 << 20) + 1; }, {"splits"}},
      Refusal{"negative_threads", [](TableView&, BuildOptions& o) { o.num_threads = -1; }, {"num_threads"}}};
}

INSTANTIATE_TEST_SUITE_P(OfTables, Refusals, testing::ValuesIn(refused_tables()),
                         [](const auto& suite) { return suite.param.name; });

TEST(BulkLoad, TakesAsManyAttributesAsItPromises) {
  Random random(5);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, kMaxAttributes);
  const Oracle oracle(table.view(), false);
  const Index index = Index::build(table.view(), {.block_rows = 16});
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

}  // namespace
}  // namespace culmen::test
