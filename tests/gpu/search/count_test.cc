// Ranks and counts on a GPU and on groups of parts: those of the CPU, on random tables and through the life of an index.
//
// CULMEN_TEST_CASES and CULMEN_TEST_SEED as in tests/cpu/engines_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/device_group.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "culmen/statistics.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/field_trial.h"
#include "tests/generators.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/group/group_devices.h"
#include "tests/sku_rows.h"

namespace culmen::test {
namespace {

constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();

DeviceGroup parts_of(const Index& index, std::size_t num_parts, DeviceMemory memory = DeviceMemory::device) {
  return index.to_devices(devices_of(num_parts), {.memory = memory, .layout = DeviceLayout::shard});
}

// Of rows of the order, around them, and beyond them all.
std::vector<double> scores_to_ask(const std::vector<Hit>& order, Random& random) {
  std::vector<double> scores = {random.uniform(-3, 3), 0.0, -0.0};
  for (int i = 0; i < 3 && !order.empty(); ++i) scores.push_back(order[random.below(order.size())].score);
  if (!order.empty()) {
    scores.push_back(order.front().score);
    scores.push_back(order.back().score);
  }
  std::vector<double> all = {kInfinity, -kInfinity};
  for (const double score : scores)
    all.insert(all.end(), {score, std::nextafter(score, kInfinity), std::nextafter(score, -kInfinity)});
  return all;
}

// Empty: none. `order`: all hits of the query.
std::string difference_at_places(const Index& index, const auto& on_gpu, const Query& query,
                                 const std::vector<Hit>& order, Random& random) {
  for (const double score : scores_to_ask(order, random)) {
    const std::uint64_t expected = index.count_above(query, score);
    const std::uint64_t found = on_gpu.count_above(query, score);
    if (found != expected)
      return "above " + std::to_string(score) + " are " + std::to_string(found) + ", expected " +
             std::to_string(expected);
  }
  const std::int64_t other = order.empty() ? 7 : order[random.below(order.size())].id / 2 + 1;
  if (on_gpu.rank_of(query, other) != index.rank_of(query, other))
    return "the rank of " + std::to_string(other);
  for (int i = 0; i < 4 && !order.empty(); ++i) {
    const std::size_t at = i == 0 ? 0 : i == 1 ? order.size() - 1 : random.below(order.size());
    const std::optional<RowRank> rank = on_gpu.rank_of(query, order[at].id);
    if (rank != RowRank{at + 1, order[at].score, index.version()})
      return "the rank of " + std::to_string(order[at].id) + " is " +
             (rank ? std::to_string(rank->rank) : "none") + ", expected " + std::to_string(at + 1);
  }
  return "";
}

// Its k, min_score and page do not matter.
Query with_some_page(Query query, Random& random) {
  if (random.chance(0.3)) query.after = Cursor{0, 3};
  if (random.chance(0.3)) query.min_score = 1;
  query.k = 3;
  return query;
}

std::string difference_at_places(const Index& index, const auto& on_gpu, const Query& query, Random& random) {
  Query whole = query;
  whole.k = kAllRows;
  whole.min_score.reset();
  const std::string fault =
      difference_at_places(index, on_gpu, with_some_page(query, random), index.search(whole).hits, random);
  return fault.empty() ? "" : fault + "\n  " + describe(query);
}

class DeviceCounts : public testing::TestWithParam<ValueClass> {};

TEST_P(DeviceCounts, AreThoseOfTheCpu) {
  SKIP_WITHOUT_GPU();
  const std::uint64_t num_tables = num_cases(2000) / (8 * kNumValueClasses) + 1;
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 7'000'000'000 + t;
    const Trial trial(seed, GetParam());
    const Index index = Index::build(trial.table.view(), trial.options);
    const DeviceIndex on_gpu = index.to_device({.memory = trial.memory, .resident = trial.resident});
    const DeviceGroup parts = parts_of(index, 3, trial.memory);
    Random random(seed);
    for (const Query& query : trial.queries) {
      ASSERT_EQ(difference_at_places(index, on_gpu, query, random), "")
          << rerun_command(seed, "device_test", "*/" + std::string(value_class_name(GetParam())));
      ASSERT_EQ(difference_at_places(index, parts, query, random), "")
          << rerun_command(seed, "device_test", "*/" + std::string(value_class_name(GetParam())));
    }
    if (only_seed() != 0) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, DeviceCounts, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

// Filters, gaps, terms and scales; copies and parts follow the index.
TEST(DeviceRanks, AreThoseOfTheCpuThroughALife) {
  SKIP_WITHOUT_GPU();
  for (std::uint64_t t = 1; t <= num_cases(2000) / 40 + 1; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : 8'000'000'000 + t;
    std::optional<DeviceIndex> copy;
    std::optional<DeviceGroup> parts;
    FieldTrial trial(
        seed,
        [&](const Index& index, const FieldOracle& oracle, Random& random) -> std::string {
          if (!can_have_copies(index, copy, parts)) return "";
          if (!is_copy_of(copy, index)) {
            copy = index.to_device();
            parts = parts_of(index, 2);
          }
          for (int q = 0; q < 4; ++q) {
            const Query query = random_field_query(random, oracle, random.chance(0.1), true);
            if (oracle.refuses(query)) continue;
            if (std::string fault = difference_at_places(index, *copy, query, random); !fault.empty())
              return fault;
            if (std::string fault = difference_at_places(index, *parts, query, random); !fault.empty())
              return "of parts: " + fault;
          }
          return "";
        },
        0);
    ASSERT_EQ(trial.run(seed % 2 == 0), "") << rerun_command(seed, "device_test", "DeviceRanks.*");
    if (only_seed() != 0) return;
  }
}

// Many rounds of nodes for each block, and leaves of all three kinds.
TEST(DeviceRanks, OfALargeTableAreThoseOfTheCpu) {
  SKIP_WITHOUT_GPU();
  Random random(21);
  for (const ValueClass value_class : {ValueClass::uniform_f32, ValueClass::small_integers}) {
    const Table table = random_table(random, value_class, 4'000'000, 6);
    const Index index = Index::build(table.view());
    const DeviceIndex on_gpu = index.to_device();
    for (int q = 0; q < 10; ++q) {
      Query query = {.weights = random_weights(random, table.columns.size()), .k = 2'000'000};
      if (q % 3 == 2) query.where = col(0) >= random.unit();
      const std::vector<Hit> hits = index.search(query).hits;
      for (std::size_t at = 1; at <= hits.size(); at *= 10) {
        const Hit& hit = hits[at - 1];
        EXPECT_EQ(on_gpu.count_above(query, hit.score), index.count_above(query, hit.score))
            << describe(query);
        EXPECT_EQ(on_gpu.rank_of(query, hit.id), (RowRank{at, hit.score, index.version()}))
            << describe(query);
      }
    }
  }
}

TEST(DeviceRanks, BreakTiesById) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kRows = 300'000;
  std::vector<float> thirds(kRows);
  std::vector<std::int64_t> ids(kRows);
  for (std::size_t row = 0; row < kRows; ++row) {
    thirds[row] = static_cast<float>(row % 3);
    ids[row] = static_cast<std::int64_t>((row * 2'654'435'761u + 7) % (1ull << 32)) - (1ll << 31);
  }
  ids[0] = std::numeric_limits<std::int64_t>::min();
  ids[1] = std::numeric_limits<std::int64_t>::max() - 1;
  TableView table;
  table.num_rows = kRows;
  table.attributes = {{"thirds"}};
  table.columns = {ColumnView(thirds)};
  table.ids = ids;
  const Index index = Index::build(table);
  const DeviceIndex on_gpu = index.to_device();
  Random random(22);
  for (const double weight : {1.0, -0.3}) {
    const Query query = {.weights = {weight}};
    ASSERT_EQ(difference_at_places(index, on_gpu, query, random), "");
    for (const std::size_t row : {0, 1, 2, 3, 1000, 299'999})
      EXPECT_EQ(on_gpu.rank_of(query, ids[row]), index.rank_of(query, ids[row])) << "row " << row;
  }
}

TEST(DeviceRanks, TakeIdsThatAreTexts) {
  SKIP_WITHOUT_GPU();
  Random random(23);
  const Skus rows = random_skus(random, 3000);
  const Index index = Index::build(SkuTable(rows, random).view());
  const DeviceIndex on_gpu = index.to_device();
  const DeviceGroup parts = parts_of(index, 3);
  const Query query = {.weights = {1, -1}};
  std::size_t row = 0;
  for (const auto& [text, values] : rows) {
    if (row++ % 97 != 0) continue;
    const std::optional<RowRank> expected = index.rank_of(query, text);
    ASSERT_TRUE(expected);
    EXPECT_EQ(on_gpu.rank_of(query, text), expected) << text;
    EXPECT_EQ(parts.rank_of(query, text), expected) << text;
    EXPECT_EQ(parts.count_above(query, expected->score), index.count_above(query, expected->score));
  }
  EXPECT_FALSE(on_gpu.rank_of(query, "no such text"));
}

TEST(DeviceRanks, OfAnEmptyIndexAreZero) {
  SKIP_WITHOUT_GPU();
  TableView table;
  table.attributes = {{"a"}};
  table.columns = {ColumnView(std::span<const float>())};
  const Index index = Index::build(table);
  const DeviceIndex on_gpu = index.to_device();
  const DeviceGroup parts = parts_of(index, 2);
  EXPECT_EQ(on_gpu.count_above({.weights = {1}}, -kInfinity), 0U);
  EXPECT_EQ(parts.count_above({.weights = {1}}, -kInfinity), 0U);
  EXPECT_FALSE(on_gpu.rank_of({.weights = {1}}, 0));
  EXPECT_FALSE(parts.rank_of({.weights = {1}}, 0));
}

TEST(DeviceRanks, RefuseWhatTheCpuRefuses) {
  SKIP_WITHOUT_GPU();
  Random random(24);
  const Index index = Index::build(random_table(random, ValueClass::uniform_f32, 500, 2).view());
  const DeviceIndex on_gpu = index.to_device();
  const DeviceGroup group = index.to_devices(devices_of(2));
  const auto count = [&](const auto& there, const Query& query, double score,
                         const SearchOptions& options = {}) {
    static_cast<void>(there.count_above(query, score, options));
  };
  for (const Query& query : {Query{.weights = {0, 0}}, Query{.weights = {1}}, Query{.weights = {1, NAN}}}) {
    const std::string refusal = error_of<InvalidArgument>([&] { count(index, query, 1); });
    EXPECT_EQ(error_of<InvalidArgument>([&] { count(on_gpu, query, 1); }), refusal);
    EXPECT_EQ(error_of<InvalidArgument>([&] { count(group, query, 1); }), refusal);
    EXPECT_EQ(error_of<InvalidArgument>([&] { static_cast<void>(on_gpu.rank_of(query, 1)); }), refusal);
  }
  EXPECT_THROW(count(on_gpu, {.weights = {1, 1}}, NAN), InvalidArgument);
  EXPECT_THROW(count(group, {.weights = {1, 1}}, NAN), InvalidArgument);
  EXPECT_THROW(static_cast<void>(on_gpu.rank_of({.weights = {1, 1}}, "a text")), InvalidArgument);
  const TableStatistics statistics = index.statistics();
  EXPECT_THROW(count(on_gpu, {.weights = {1, 1}}, 1, {.statistics = &statistics}), InvalidArgument);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(count(on_gpu, {.weights = {1, 1}}, 1, {.stop = stop.get_token()}), Stopped);
  EXPECT_THROW(count(group, {.weights = {1, 1}}, 1, {.stop = stop.get_token()}), Stopped);
}

}  // namespace
}  // namespace culmen::test
