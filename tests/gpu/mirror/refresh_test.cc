// Searches on a GPU while the index changes: every answer is that of one version, the one it names, and no older than
// the version published when the search began.
//
// CULMEN_TEST_CASES as in tests/cpu/engines_test.cc: batches that are written, of all tests.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "api/device_index.h"
#include "base/floating_point_scope.h"
#include "cpu/bounded.h"
#include "culmen/device.h"
#include "culmen/error.h"
#include "gpu/cuda/allocation_fault.h"
#include "query/resolve.h"
#include "tests/cases.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"
#include "tests/index/write/written_tree.h"

namespace culmen::test {
namespace {

constexpr std::array kDeviceEngines = {Engine::bounded, Engine::scan, Engine::gta};

std::uint64_t num_batches() {
  return num_cases(1000) / 20 + 2;
}

// The CPU's answer over this version; nothing where it refuses the query.
std::optional<std::vector<Hit>> hits_of_cpu(const Snapshot& snapshot, const Query& query) {
  const FloatingPointScope floating_point;
  try {
    const ResolvedQuery resolved = resolve(query, snapshot);
    SearchStats stats;
    return snapshot.num_rows == 0 ? std::vector<Hit>() : cpu::search_bounded(snapshot, resolved, stats);
  } catch (const InvalidArgument&) {
    return std::nullopt;
  }
}

// The rows of a tree as a table, for the oracle.
Oracle oracle_of(const std::map<std::int64_t, ModelRow>& rows, int num_attributes) {
  std::vector<std::vector<double>> columns(static_cast<std::size_t>(num_attributes));
  std::vector<std::int64_t> ids;
  for (const auto& [id, row] : rows) {
    ids.push_back(id);
    for (std::size_t i = 0; i < row.size(); ++i) columns[i].push_back(row[i]);
  }
  TableView table;
  table.num_rows = rows.size();
  table.ids = ids;
  for (const std::vector<double>& column : columns) table.columns.emplace_back(column);
  return Oracle(table, false);
}

Batch as_batch(const std::vector<Query>& queries, std::size_t k) {
  Batch batch;
  batch.k = k;
  for (const Query& query : queries) batch.weights.push_back(query.weights);
  return batch;
}

// Empty if all engines, a batch and one on a context give the oracle's answers, of this version.
std::string fault_in(const DeviceIndex& on_gpu, DeviceContext& context, const WrittenTree& tree,
                     const std::vector<Query>& queries, const Oracle& oracle) {
  const std::vector<SearchResult> batch = on_gpu.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q) {
    const std::vector<Answer> expected = oracle.search(queries[q]);
    const auto fault_of = [&](const std::string& name, const SearchResult& result) {
      if (result.snapshot != tree.version()) return name + ": version " + std::to_string(result.version());
      const std::string wrong = difference(result.hits, expected);
      return wrong.empty() ? "" : name + ": " + wrong + "\n  " + describe(queries[q]);
    };
    if (std::string fault = fault_of("batch", batch[q]); !fault.empty()) return fault;
    for (const Engine engine : kDeviceEngines) {
      if (engine == Engine::gta &&
          std::min(queries[q].k.value_or(oracle.num_rows()), oracle.num_rows()) > kMaxDeviceK)
        continue;
      std::string fault =
          fault_of(std::string(engine_name(engine)), on_gpu.search(queries[q], {.engine = engine}));
      if (!fault.empty()) return fault;
    }
  }
  const Batch same_k = as_batch(queries, 20);
  Expected expected;
  for (std::size_t q = 0; q < queries.size(); ++q)
    expected.push_back(hits_of_cpu(*tree.version(), same_k.query(q)));
  const OnDevice on_device(same_k);
  on_device.enqueue(on_gpu, context);
  context.synchronize();
  return on_device.difference_to(expected);
}

class RefreshAfter : public testing::TestWithParam<Writes> {};

TEST_P(RefreshAfter, AnswersAreTheOracles) {
  SKIP_WITHOUT_GPU();
  for (const DeviceMemory memory :
       {DeviceMemory::device, DeviceMemory::managed, DeviceMemory::host, DeviceMemory::compressed}) {
    WrittenTree tree(GetParam(), 31);
    const auto published = std::make_shared<Published>(tree.version());
    const DeviceIndex on_gpu = make_device_index(published, {.memory = memory});
    DeviceContext context = on_gpu.make_context();
    for (std::uint64_t b = 0; b < num_batches(); ++b) {
      const Oracle oracle = oracle_of(tree.rows(), GetParam().shape.num_attributes);
      std::vector<Query> queries;
      while (queries.size() < 4) {
        const Query query = random_query(tree.random(), oracle);
        if (!oracle.refuses(query)) queries.push_back(query);
      }
      ASSERT_EQ(fault_in(on_gpu, context, tree, queries, oracle), "")
          << device_memory_name(memory) << ", batch " << b << ", " << tree.rows().size() << " rows";
      do published->set(tree.write());
      while (tree.random().chance(0.3));
      if (tree.random().chance(0.3)) {
        EXPECT_EQ(on_gpu.refresh().version, tree.version()->version);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RefreshAfter, testing::ValuesIn(all_writes()),
                         [](const auto& suite) { return suite.param.name; });

// Collects the errors of a test's threads.
class Faults {
 public:
  void add(const std::string& fault) {
    const std::lock_guard lock(mutex_);
    if (all_.size() < 10) all_.push_back(fault);
  }
  std::string all() const {
    std::string text;
    for (const std::string& fault : all_) text += fault + "\n";
    return text;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

// Searches until stopped, and compares each answer with the CPU's over the version it names.
class Searchers {
 public:
  Searchers(const DeviceIndex& on_gpu, const Published& published, int num_attributes)
      : on_gpu_(on_gpu), published_(published), num_attributes_(static_cast<std::size_t>(num_attributes)) {}

  void search_one_by_one(std::uint64_t seed, const std::stop_token& stop) {
    for (Random random(seed); !stop.stop_requested();) {
      const Query query = make_query(random);
      const std::uint64_t known = published_.get()->version;
      check(query, on_gpu_.search(query, {.engine = kDeviceEngines[random.below(kDeviceEngines.size())]}),
            known);
    }
  }

  void search_batches(std::uint64_t seed, const std::stop_token& stop) {
    for (Random random(seed); !stop.stop_requested();) {
      std::vector<Query> queries;
      for (int q = 0; q < 50; ++q) queries.push_back(make_query(random));
      const std::uint64_t known = published_.get()->version;
      const std::vector<SearchResult> results = on_gpu_.search(queries);
      for (std::size_t q = 0; q < queries.size(); ++q) {
        if (results[q].snapshot != results[0].snapshot) faults_.add("two versions in a batch");
        check(queries[q], results[q], known);
      }
    }
  }

  // Several calls without a wait in between. Only the context holds their versions meanwhile.
  void enqueue_batches(std::uint64_t seed, const std::stop_token& stop) {
    DeviceContext context = on_gpu_.make_context();
    for (Random random(seed); !stop.stop_requested();) {
      constexpr std::size_t kCalls = 6;
      std::vector<OnDevice> calls;
      std::vector<std::optional<Expected>> expected(kCalls);
      std::vector<Batch> batches;
      for (std::size_t c = 0; c < kCalls; ++c) {
        std::vector<Query> queries;
        for (int q = 0; q < 40; ++q) queries.push_back(make_query(random));
        batches.push_back(as_batch(queries, 10));
        calls.emplace_back(batches.back());
      }
      for (std::size_t c = 0; c < kCalls; ++c) {
        const std::shared_ptr<const Snapshot> before = published_.get();
        calls[c].enqueue(on_gpu_, context);
        if (published_.get() != before) continue;  // either version may have been searched
        expected[c].emplace();
        for (std::size_t q = 0; q < batches[c].weights.size(); ++q)
          expected[c]->push_back(hits_of_cpu(*before, batches[c].query(q)));
      }
      cuda::check(cudaStreamSynchronize(context.stream()));
      for (std::size_t c = 0; c < kCalls; ++c) {
        if (!expected[c]) continue;
        const std::string wrong = calls[c].difference_to(*expected[c]);
        if (!wrong.empty()) faults_.add("on a context: " + wrong);
        ++num_checked_;
      }
    }
  }

  std::string faults() const { return faults_.all(); }
  int num_checked() const { return num_checked_; }

 private:
  Query make_query(Random& random) const {
    return {.weights = random_weights(random, num_attributes_),
            .k = random.pick<std::size_t>({1, 5, 10, 100})};
  }

  void check(const Query& query, const SearchResult& result, std::uint64_t known) {
    ++num_checked_;
    if (result.version() < known)
      faults_.add("version " + std::to_string(result.version()) + " when " + std::to_string(known) +
                  " was published");
    if (result.hits != hits_of_cpu(*result.snapshot, query))
      faults_.add(std::string(engine_name(result.stats.engine)) + ", version " +
                  std::to_string(result.version()) + ": " + describe(query));
  }

  const DeviceIndex& on_gpu_;
  const Published& published_;
  std::size_t num_attributes_;
  Faults faults_;
  std::atomic<int> num_checked_ = 0;
};

TEST_P(RefreshAfter, EightThreadsSearchBesideAWriter) {
  SKIP_WITHOUT_GPU();
  for (const DeviceMemory memory : {DeviceMemory::device, DeviceMemory::host}) {
    WrittenTree tree(GetParam(), 32);
    const auto published = std::make_shared<Published>(tree.version());
    const DeviceIndex on_gpu = make_device_index(published, {.memory = memory});
    Searchers searchers(on_gpu, *published, GetParam().shape.num_attributes);
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t t = 0; t < 4; ++t)
        threads.emplace_back([&, t](const std::stop_token& stop) { searchers.search_one_by_one(t, stop); });
      for (std::uint64_t t = 4; t < 6; ++t)
        threads.emplace_back([&, t](const std::stop_token& stop) { searchers.search_batches(t, stop); });
      for (std::uint64_t t = 6; t < 8; ++t)
        threads.emplace_back([&, t](const std::stop_token& stop) { searchers.enqueue_batches(t, stop); });
      for (std::uint64_t b = 0; b < 2 * num_batches(); ++b) {
        published->set(tree.write());
        if (b % 2 == 0) on_gpu.refresh();
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    }
    EXPECT_EQ(searchers.faults(), "") << device_memory_name(memory);
    EXPECT_GT(searchers.num_checked(), 0);
  }
}

// A search that finds no memory fails, the next one tries again, and all answers are right.
TEST(Refresh, ThatFailsIsTriedAgainByTheNextSearch) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "growing", .first_rows = 500, .most_rows = 300, .inserts = 0.9}, 33);
  const auto published = std::make_shared<Published>(tree.version());
  const DeviceIndex on_gpu = make_device_index(published, {.memory = DeviceMemory::device});
  const Query query = {.weights = {0.3, 0.9, 0.2}, .k = 10};
  static_cast<void>(on_gpu.search(query));
  int num_failed = 0;
  for (int b = 0; b < 40; ++b) {
    published->set(tree.write());
    const std::optional<std::vector<Hit>> expected = hits_of_cpu(*tree.version(), query);
    // A failed call may leave the next one fewer allocations to make.
    for (int nth = 1; nth < 20; ++nth) {
      try {
        const cuda::AllocationFault fault(1 + nth % 3);
        EXPECT_EQ(on_gpu.search(query).hits, expected);
        break;
      } catch (const OutOfDeviceMemory&) {
        ++num_failed;
      }
    }
    EXPECT_EQ(on_gpu.search(query).hits, expected);
    EXPECT_EQ(on_gpu.search(query).snapshot, tree.version());
  }
  EXPECT_GT(num_failed, 2);
}

// Results keep the version that they are of, whatever happens to its slots later.
TEST(Refresh, LeavesOlderResultsAsTheyAre) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "results"}, 34);
  const auto published = std::make_shared<Published>(tree.version());
  const DeviceIndex on_gpu = make_device_index(published, {});
  const Query query = {.weights = {1, 1, 1}, .k = 50};
  std::vector<SearchResult> results;
  std::vector<std::vector<double>> values;
  for (int b = 0; b < 30; ++b) {
    results.push_back(on_gpu.search(query));
    values.emplace_back();
    for (std::size_t rank = 0; rank < results.back().hits.size(); ++rank)
      values.back().push_back(tree.rows().at(results.back().hits[rank].id)[1]);
    published->set(tree.write());
  }
  for (std::size_t r = 0; r < results.size(); ++r)
    for (std::size_t rank = 0; rank < results[r].hits.size(); ++rank)
      ASSERT_EQ(results[r].attribute(rank, 1), values[r][rank]) << "result " << r;
}

// A refresh grows one array after the other: device_bytes() shows no state in between.
TEST(Refreshes, TellTheDeviceMemoryOfAWholeVersion) {
  SKIP_WITHOUT_GPU();
  WrittenTree tree({.name = "memory", .first_rows = 300, .most_rows = 60'000, .inserts = 0.95}, 46);
  const auto published = std::make_shared<Published>(tree.version());
  const DeviceIndex index = make_device_index(published, {});
  std::set<std::size_t> told = {index.device_bytes()}, seen;
  {
    std::jthread reader([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) seen.insert(index.device_bytes());
    });
    for (std::uint64_t b = 0; b < num_batches(); ++b) {
      published->set(tree.write());
      index.refresh();
      told.insert(index.device_bytes());
    }
  }
  EXPECT_GT(told.size(), 2u);
  for (const std::size_t bytes : seen) EXPECT_TRUE(told.contains(bytes)) << bytes;
}

}  // namespace
}  // namespace culmen::test
