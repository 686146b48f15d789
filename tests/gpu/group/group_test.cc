// Groups of devices against the oracle. A machine with one GPU has logical devices: the group names the GPU several
// times.
//
// CULMEN_TEST_CASES and CULMEN_TEST_SEED as in tests/cpu/engines_test.cc.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "api/device_group.h"
#include "base/floating_point_scope.h"
#include "cpu/bounded.h"
#include "culmen/device_group.h"
#include "culmen/error.h"
#include "gpu/cuda/allocation.h"
#include "gpu/cuda/allocation_fault.h"
#include "gpu/group/load_balance.h"
#include "query/resolve.h"
#include "tests/answer_arrays.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/group/group_devices.h"
#include "tests/index/write/written_tree.h"
#include "tests/stops.h"

namespace culmen::test {
namespace {

constexpr std::array<std::size_t, 4> kSizes = {1, 2, 3, 8};
constexpr std::array kLayouts = {DeviceLayout::replicate, DeviceLayout::shard};

// As many copies of the queries as it takes for every device of a group to get a share.
std::vector<Query> enough_for(std::size_t count, const std::vector<Query>& queries) {
  std::vector<Query> many;
  while (many.size() < (count + 1) * gpu::LoadBalance::kLeastShare)
    many.insert(many.end(), queries.begin(), queries.end());
  return many;
}

std::vector<Hit> hits_of_cpu(const Snapshot& snapshot, const Query& query) {
  const FloatingPointScope floating_point;
  SearchStats stats;
  return snapshot.num_rows == 0 ? std::vector<Hit>()
                                : cpu::search_bounded(snapshot, resolve(query, snapshot), stats);
}

std::string fault_in(const Trial& trial, const DeviceGroup& group) {
  if (trial.queries.empty()) return "";
  const std::vector<Query> many = enough_for(group.devices().size(), trial.queries);
  const std::vector<SearchResult> batch = group.search(many);
  for (std::size_t q = 0; q < many.size(); ++q) {
    const std::size_t i = q % trial.queries.size();
    if (const std::string wrong = difference(batch[q].hits, trial.expected[i]); !wrong.empty())
      return trial.complaint("in a batch", i, wrong);
    if (batch[q].snapshot != batch[0].snapshot) return "two versions in a batch";
  }
  for (std::size_t q = 0; q < trial.queries.size(); ++q)
    for (const Engine engine : kDeviceEngines) {
      if (!takes(engine, trial.queries[q], trial.table.num_rows)) continue;
      const SearchResult result = group.search(trial.queries[q], {.engine = engine});
      const std::string wrong = difference(result.hits, trial.expected[q]);
      if (!wrong.empty()) return trial.complaint(std::string(engine_name(engine)), q, wrong);
    }
  return "";
}

class Groups : public testing::TestWithParam<ValueClass> {};

TEST_P(Groups, ReturnTheOraclesRowsAndScoreBits) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kDefaultCases = 500;
  const std::uint64_t num_tables = num_cases(kDefaultCases) / (8 * kNumValueClasses) + 1;
  const auto value_class = static_cast<std::uint64_t>(GetParam());
  for (std::uint64_t t = 0; t < num_tables; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : (value_class + 1) * 3'000'000'000 + t;
    const Trial trial(seed, GetParam());
    const Index index = Index::build(trial.table.view(), trial.options);
    for (const std::size_t count : kSizes)
      for (const DeviceLayout layout : kLayouts)
        ASSERT_EQ(
            fault_in(trial, index.to_devices(devices_of(count), {.memory = trial.memory, .layout = layout})),
            "")
            << count << " devices, " << device_layout_name(layout) << "; "
            << rerun_command(seed, "group_test", "*/" + std::string(value_class_name(GetParam())));
    if (only_seed() != 0) return;
  }
}

INSTANTIATE_TEST_SUITE_P(AllValueClasses, Groups, testing::ValuesIn(all_value_classes()),
                         [](const auto& suite) { return std::string(value_class_name(suite.param)); });

TEST(Group, AnswersABatchInFlatArraysAsTheCpuDoes) {
  SKIP_WITHOUT_GPU();
  Random random(21);
  const Table table = random_table(random, ValueClass::small_integers, 5000, 3);
  const Index index = Index::build(table.view());
  std::vector<double> weights;
  for (int q = 0; q < 1500; ++q)
    for (const double weight : random_weights(random, 3)) weights.push_back(weight);
  for (const auto& [count, layout] :
       std::vector<std::pair<std::size_t, DeviceLayout>>{{1, DeviceLayout::replicate},
                                                         {2, DeviceLayout::replicate},
                                                         {3, DeviceLayout::replicate},
                                                         {2, DeviceLayout::shard},
                                                         {8, DeviceLayout::shard}}) {
    const DeviceGroup group = index.to_devices(devices_of(count), {.layout = layout});
    for (const std::size_t k : {1, 100, 6000}) {
      const std::size_t num_weights = k == 6000 ? 900 : weights.size();
      const QueryBatch batch = {
          .weights = std::span(weights).first(num_weights), .k = k, .where = {{0, 1, 9}}, .min_score = 0};
      const BatchAnswers expected = index.search_batch(batch), found = group.search_batch(batch);
      EXPECT_EQ(found.k, expected.k);
      EXPECT_EQ(found.ids, expected.ids);
      EXPECT_EQ(found.scores, expected.scores);
      EXPECT_EQ(found.counts, expected.counts);
      EXPECT_EQ(found.version, expected.version);
      expect_in_arrays(group, batch, expected);
      expect_arrays_are_checked(group, batch, expected.num_queries);
    }
    EXPECT_EQ(group.search_batch({.weights = {}, .k = 5}).num_queries, 0u);
    EXPECT_TRUE(group.search(std::vector<Query>()).empty());
  }
}

TEST(Group, DividesALargeBatchOnly) {
  SKIP_WITHOUT_GPU();
  Random random(22);
  const Table table = random_table(random, ValueClass::uniform_f32, 20'000, 3);
  const Index index = Index::build(table.view());
  const DeviceGroup group = index.to_devices(devices_of(3));
  const std::vector<Query> queries(6000, {.weights = {1, 2, 3}, .k = 10});
  for (int batch = 0; batch < 5; ++batch)
    for (const SearchResult& result : group.search(queries))
      ASSERT_EQ(result.hits, index.search(queries[0]).hits);
  double sum = 0;
  for (const DeviceMember& member : group.members()) {
    EXPECT_TRUE(member.is_usable);
    EXPECT_GT(member.share, 0);
    EXPECT_GT(member.device_bytes, 0u);
    EXPECT_EQ(member.memory, DeviceMemory::device);
    sum += member.share;
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(group.devices(), devices_of(3));
}

TEST(Group, AnswersAnEmptyIndex) {
  SKIP_WITHOUT_GPU();
  TableView table;
  table.attributes = {{"a"}};
  table.columns = {ColumnView(std::span<const float>())};
  for (const DeviceLayout layout : kLayouts) {
    const DeviceGroup group = Index::build(table).to_devices(devices_of(2), {.layout = layout});
    EXPECT_TRUE(group.search({.weights = {1}, .k = 3}).hits.empty());
    EXPECT_EQ(group.search(std::vector<Query>(600, {.weights = {1}, .k = 3})).size(), 600u);
  }
}

TEST(Group, RefusesWhatADeviceDoesAndGoesOn) {
  SKIP_WITHOUT_GPU();
  Random random(23);
  const Table table = random_table(random, ValueClass::uniform_f32, 5000, 2);
  const Index index = Index::build(table.view());
  const DeviceGroup group = index.to_devices(devices_of(2));
  std::vector<Query> queries(600, {.weights = {1, 1}, .k = 3});
  queries[500].weights = {0, 0};
  EXPECT_THROW(static_cast<void>(group.search(queries)), InvalidArgument);
  EXPECT_THROW(static_cast<void>(group.search(queries[500])), InvalidArgument);
  EXPECT_THROW(static_cast<void>(group.search(queries[0], {.engine = Engine::ta})), InvalidArgument);
  const std::vector<double> weights(601, 1.0);
  EXPECT_THROW(static_cast<void>(group.search_batch({.weights = weights})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(group.search_batch({.weights = {}, .k = 0})), InvalidArgument);
  for (const DeviceMember& member : group.members()) EXPECT_TRUE(member.is_usable);
  EXPECT_EQ(group.search(queries[0]).hits.size(), 3u);
}

TEST(Group, EndsSearchesThatAreStopped) {
  SKIP_WITHOUT_GPU();
  Random random(8);
  const Index index = uniform_index(random, 20'000);
  for (const DeviceLayout layout : {DeviceLayout::replicate, DeviceLayout::shard})
    expect_stops(index.to_devices(devices_of(3), {.layout = layout}),
                 {Engine::automatic, Engine::scan, Engine::bounded});
}

// Runs everywhere.
TEST(Group, SaysWhichGpusThereAreNot) {
  Random random(24);
  const Table table = random_table(random, ValueClass::uniform_f32, 100, 2);
  const Index index = Index::build(table.view());
  EXPECT_THROW(static_cast<void>(index.to_devices({})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(index.to_devices({10'000})), CudaError);
  EXPECT_THROW(static_cast<void>(index.to_devices({0, -1})), CudaError);
}

// Whichever device finds no memory: the call says so, the others go on, and refresh() brings the device back.
TEST(Group, SetsAsideADeviceWithoutRoom) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "growing", .first_rows = 500, .most_rows = 300, .inserts = 0.9}, 53);
  const auto published = std::make_shared<Published>(tree.version());
  for (const std::size_t count : {2, 3}) {
    const DeviceGroup group = group_over(published, count, DeviceMemory::device);
    const auto num_usable = [&] {
      return std::ranges::count_if(group.members(), [](const DeviceMember& m) { return m.is_usable; });
    };
    const std::vector<Query> queries = enough_for(count, {{.weights = {0.3, 0.9, 0.2}, .k = 10}});
    int num_failed = 0;
    for (int nth = 1; nth < 12; ++nth) {
      published->set(tree.write());
      const std::vector<Hit> expected = hits_of_cpu(*tree.version(), queries[0]);
      try {
        const cuda::AllocationFault fault(nth);
        EXPECT_EQ(group.search(queries)[0].hits, expected);
      } catch (const OutOfDeviceMemory& error) {
        ++num_failed;
        EXPECT_TRUE(std::string(error.what()).starts_with("GPU " + std::to_string(error.device()) + ": "))
            << error.what();
        EXPECT_GE(error.device(), 0);
        EXPECT_EQ(num_usable(), static_cast<std::ptrdiff_t>(count) - 1);
      }
      for (const SearchResult& result : group.search(queries)) ASSERT_EQ(result.hits, expected);
      EXPECT_EQ(group.search(queries[0]).hits, expected);
      for (const RefreshStats& stats : group.refresh()) EXPECT_EQ(stats.version, tree.version()->version);
      EXPECT_EQ(num_usable(), static_cast<std::ptrdiff_t>(count));
    }
    EXPECT_GE(num_failed, 1);
  }
}

TEST(Group, TriesAgainWhenAllDevicesHaveFailed) {
  SKIP_WITHOUT_GPU();
  Random random(25);
  const Table table = random_table(random, ValueClass::uniform_f32, 5000, 2);
  const Index index = Index::build(table.view());
  const DeviceGroup group = index.to_devices(devices_of(1));
  const Query query = {.weights = {1, 1}, .k = 3};
  {
    const cuda::AllocationFault fault(1);
    EXPECT_THROW(static_cast<void>(group.search(query)), OutOfDeviceMemory);
  }
  EXPECT_EQ(group.search(query).hits, index.search(query).hits);
}

// All parts are needed: a call fails, whichever device has no room, and the next succeeds.
TEST(Group, OfShardsFailsWithoutOneOfThem) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "shards", .first_rows = 500, .most_rows = 300, .inserts = 0.9}, 55);
  const auto published = std::make_shared<Published>(tree.version());
  const std::vector<Query> queries(20, {.weights = {0.3, 0.9, 0.2}, .k = 10});
  int num_failed = 0;
  for (int nth = 1; nth < 30; ++nth) {
    // A new one: a group keeps the memory of its searches, and makes room for a version by giving up the one before.
    const DeviceGroup group = group_over(published, 3, DeviceMemory::device, DeviceLayout::shard);
    published->set(tree.write());
    try {
      const cuda::AllocationFault fault(nth);
      static_cast<void>(group.search(queries));
    } catch (const OutOfDeviceMemory& error) {
      EXPECT_GE(error.device(), 0);
      ++num_failed;
    }
    const std::vector<Hit> expected = hits_of_cpu(*tree.version(), queries[0]);
    for (const SearchResult& result : group.search(queries)) ASSERT_EQ(result.hits, expected);
    EXPECT_EQ(group.search(queries[0]).hits, expected);
  }
  EXPECT_GE(num_failed, 1);
}

// A copy that cannot be made leaves nothing behind.
TEST(Group, IsNotMadeIfOneDeviceHasNoRoom) {
  SKIP_WITHOUT_GPU();
  Random random(26);
  const Table table = random_table(random, ValueClass::uniform_f32, 5000, 2);
  const Index index = Index::build(table.view());
  const Query query = {.weights = {1, 1}, .k = 3};
  for (const DeviceMemory memory :
       {DeviceMemory::device, DeviceMemory::host, DeviceMemory::managed, DeviceMemory::compressed}) {
    int num_failed = 0;
    for (int nth = 1; nth < 100; ++nth) {
      const int before = cuda::num_allocations();
      try {
        const cuda::AllocationFault fault(nth);
        EXPECT_EQ(index.to_devices(devices_of(3), {.memory = memory}).devices(), devices_of(3));
        break;
      } catch (const OutOfDeviceMemory& error) {
        EXPECT_GE(error.device(), 0);
        EXPECT_EQ(cuda::num_allocations(), before);
        ++num_failed;
      }
    }
    EXPECT_GT(num_failed, 10);
  }
}

// Batches are of one version, no older than the one that was published when they began, while a writer changes the
// index.
class BesideAWriter : public testing::TestWithParam<DeviceLayout> {};

TEST_P(BesideAWriter, GroupsAnswerOfOneVersion) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "beside", .first_rows = 2000, .most_rows = 300, .inserts = 0.6}, 54);
  const auto published = std::make_shared<Published>(tree.version());
  const DeviceGroup group = group_over(published, 3, DeviceMemory::device, GetParam());
  std::atomic<int> num_wrong = 0, num_batches = 0;
  const auto search = [&](std::uint64_t seed, const std::stop_token& stop) {
    Random random(seed);
    do {
      std::vector<Query> queries;
      for (std::size_t q = 0; q < 4 * gpu::LoadBalance::kLeastShare; ++q)
        queries.push_back({.weights = random_weights(random, 3), .k = random.pick<std::size_t>({1, 5, 100})});
      const std::uint64_t known = published->get()->version;
      const std::vector<SearchResult> results = group.search(queries);
      for (std::size_t q = 0; q < queries.size(); q += 20) {
        if (results[q].snapshot != results[0].snapshot || results[q].version() < known) ++num_wrong;
        if (results[q].hits != hits_of_cpu(*results[q].snapshot, queries[q])) ++num_wrong;
      }
      const SearchResult one = group.search(queries[0]);
      if (one.version() < known || one.hits != hits_of_cpu(*one.snapshot, queries[0])) ++num_wrong;
      ++num_batches;
    } while (!stop.stop_requested());
  };
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t)
      threads.emplace_back([&, t](const std::stop_token& stop) { search(t, stop); });
    for (std::uint64_t b = 0; b < num_cases(1000) / 10 + 2; ++b) {
      published->set(tree.write());
      if (b % 3 == 0) group.refresh();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  EXPECT_EQ(num_wrong, 0);
  EXPECT_GT(num_batches, 0);
}

INSTANTIATE_TEST_SUITE_P(Layouts, BesideAWriter, testing::ValuesIn(kLayouts),
                         [](const auto& suite) { return std::string(device_layout_name(suite.param)); });

}  // namespace
}  // namespace culmen::test
