// Groups whose devices hold parts of an index follow its changes, with fields and missing values too.
//
// CULMEN_TEST_CASES and CULMEN_TEST_SEED as in tests/cpu/engines_test.cc.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/floating_point_scope.h"
#include "cpu/bounded.h"
#include "culmen/device_group.h"
#include "culmen/index.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/field_trial.h"
#include "tests/generators.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/group/group_devices.h"
#include "tests/index/write/written_tree.h"

namespace culmen::test {
namespace {

std::vector<Hit> hits_of(const Snapshot& snapshot, const Query& query) {
  const FloatingPointScope floating_point;
  SearchStats stats;
  return snapshot.num_rows == 0 ? std::vector<Hit>()
                                : cpu::search_bounded(snapshot, resolve(query, snapshot), stats);
}

class ShardsAfter : public testing::TestWithParam<Writes> {};

// Hits include the rows' positions in the snapshot, of which a part knows only its own.
TEST_P(ShardsAfter, AnswerAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  const auto width = static_cast<std::size_t>(GetParam().shape.num_attributes);
  for (const DeviceMemory memory :
       {DeviceMemory::device, DeviceMemory::managed, DeviceMemory::host, DeviceMemory::compressed}) {
    WrittenTree tree(GetParam(), 81);
    const auto published = std::make_shared<Published>(tree.version());
    const DeviceGroup group =
        group_over(published, memory == DeviceMemory::device ? 3 : 2, memory, DeviceLayout::shard);
    for (std::uint64_t b = 0; b < num_cases(1000) / 25 + 2; ++b) {
      const Snapshot& snapshot = *tree.version();
      std::vector<Query> queries;
      for (int q = 0; q < 6; ++q)
        queries.push_back({.weights = random_weights(tree.random(), width),
                           .k = tree.random().pick<std::size_t>({1, 5, 40, 3000})});
      const std::vector<SearchResult> batch = group.search(queries);
      for (std::size_t q = 0; q < queries.size(); ++q) {
        const std::vector<Hit> expected = hits_of(snapshot, queries[q]);
        const auto where = [&] {
          return std::string(device_memory_name(memory)) + ", batch " + std::to_string(b) + ", " +
                 std::to_string(snapshot.num_rows) + " rows, " + describe(queries[q]);
        };
        ASSERT_EQ(batch[q].hits, expected) << where();
        ASSERT_EQ(batch[q].snapshot, tree.version());
        for (const Engine engine : kDeviceEngines) {
          if (!takes(engine, queries[q], snapshot.num_rows)) continue;
          ASSERT_EQ(group.search(queries[q], {.engine = engine}).hits, expected)
              << engine_name(engine) << ", " << where();
        }
      }
      published->set(tree.write());
      if (b % 3 != 0) continue;
      for (const RefreshStats& stats : group.refresh()) {
        ASSERT_EQ(stats.version, tree.version()->version);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, ShardsAfter, testing::ValuesIn(all_writes()),
                         [](const auto& suite) { return suite.param.name; });

TEST(Shards, DivideTheMemoryOfALargeTable) {
  SKIP_WITHOUT_GPU();
  Random random(82);
  const Table table = random_table(random, ValueClass::anticorrelated, 1'000'000, 4);
  const Index index = Index::build(table.view());
  const std::size_t whole = index.to_device({.memory = DeviceMemory::device}).device_bytes();
  const DeviceGroup group =
      index.to_devices(devices_of(3), {.memory = DeviceMemory::device, .layout = DeviceLayout::shard});
  for (const DeviceMember& member : group.members()) {
    EXPECT_LT(member.device_bytes, whole / 2);
    EXPECT_NEAR(member.share, 1.0 / 3, 0.1);
  }
  std::vector<Query> queries;
  for (int q = 0; q < 300; ++q)
    queries.push_back({.weights = random_weights(random, 4), .k = random.pick<std::size_t>({16, 200})});
  const std::vector<SearchResult> results = group.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    ASSERT_EQ(results[q].hits, index.search(queries[q]).hits) << describe(queries[q]);
    ASSERT_EQ(results[q].attribute(0, 2), index.search(queries[q]).attribute(0, 2));
  }
}

// Threads of the members launch, each for all callers.
TEST(Shards, AnswerSingleQueriesOfManyThreads) {
  SKIP_WITHOUT_GPU();
  Random random(84);
  const Table table = random_table(random, ValueClass::correlated, 50'000, 4);
  const Index index = Index::build(table.view());
  std::vector<Query> queries(200);
  std::vector<std::vector<Hit>> expected;
  for (Query& query : queries) {
    for (int i = 0; i < 4; ++i) query.weights.push_back(random.uniform(-1, 1));
    query.k = random.chance(0.5) ? 5 : 300;
    expected.push_back(index.search(query).hits);
  }
  for (const std::size_t count : {2, 3, 8}) {
    const DeviceGroup group = index.to_devices(devices_of(count), {.layout = DeviceLayout::shard});
    std::vector<std::thread> threads;
    std::atomic<int> num_wrong = 0;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (std::size_t q = 0; q < queries.size(); ++q)
          if (group.search(queries[q]).hits != expected[q]) ++num_wrong;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(num_wrong.load(), 0) << count;
  }
}

// Most of these queries are handed over by their walks, and then devices share their k-th score bounds.
TEST(Shards, ShareBoundsOfSlowQueries) {
  SKIP_WITHOUT_GPU();
  constexpr std::size_t kWidth = 8;
  Random random(83);
  for (const ValueClass value_class :
       {ValueClass::correlated, ValueClass::anticorrelated, ValueClass::small_integers}) {
    const Table table = random_table(random, value_class, 300'000, kWidth);
    const Index index = Index::build(table.view());
    std::vector<double> weights;
    for (std::size_t i = 0; i < 400 * kWidth; ++i) weights.push_back(random.uniform(-1, 1));
    for (const std::size_t count : {2, 3}) {
      const DeviceGroup group = index.to_devices(devices_of(count), {.layout = DeviceLayout::shard});
      for (const std::size_t k : {1, 16, 200}) {
        for (const Filter& where : {Filter(), col(0) <= 0.5}) {
          const QueryBatch batch = {.weights = weights, .k = k, .where = where};
          const BatchAnswers expected = index.search_batch(batch);
          for (int repeat = 0; repeat < 2; ++repeat) {
            const BatchAnswers found = group.search_batch(batch);
            ASSERT_EQ(found.counts, expected.counts) << value_class_name(value_class) << ", k=" << k;
            ASSERT_EQ(found.ids, expected.ids) << value_class_name(value_class) << ", k=" << k;
            ASSERT_EQ(found.scores, expected.scores) << value_class_name(value_class) << ", k=" << k;
          }
        }
      }
    }
  }
}

// Compares parts with the oracle. They follow the index as long as that is the same.
class ShardChecks {
 public:
  std::string check(const Index& index, const FieldOracle& oracle, Random& random) {
    if (!can_have_copies(index, group_)) return "";
    if (!is_copy_of(group_, index)) group_ = index.to_devices(devices_of(3), {.layout = DeviceLayout::shard});
    for (int q = 0; q < 6; ++q) {
      const Query query = random_field_query(random, oracle, random.chance(0.1), true);
      if (oracle.refuses(query)) continue;
      const std::vector<Answer> expected = oracle.search(query);
      const std::string in_batch = difference(group_->search(std::vector(2, query))[1].hits, expected);
      if (!in_batch.empty()) return "in a batch: " + in_batch + describe(query);
      for (const Engine engine : kDeviceEngines) {
        if (!takes(engine, query, oracle.rows().size())) continue;
        const std::string fault = difference(group_->search(query, {.engine = engine}).hits, expected);
        if (!fault.empty()) return std::string(engine_name(engine)) + ": " + fault + describe(query);
      }
    }
    return "";
  }

 private:
  std::optional<DeviceGroup> group_;
};

TEST(Shards, AreFilteredAsSqlDoes) {
  SKIP_WITHOUT_GPU();
  for (std::uint64_t t = 1; t <= num_cases(1000) / 40 + 1; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : 8'000'000'000 + t;
    ShardChecks checks;
    FieldTrial trial(seed, [&checks](const Index& index, const FieldOracle& oracle, Random& random) {
      return checks.check(index, oracle, random);
    });
    ASSERT_EQ(trial.run(seed % 2 == 0), "") << rerun_command(seed, "group_shards_test", "Shards.AreF*");
    if (only_seed() != 0) return;
  }
}

}  // namespace
}  // namespace culmen::test
