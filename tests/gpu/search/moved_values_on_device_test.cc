// The engines of a GPU on an index whose values move far away from those that it was built of. Several threads search
// while a writer moves them. Each answer is compared with the oracle of the version that it names.
//
// CULMEN_TEST_CASES=100000 device_test --gtest_filter='MovedValues*'    so many answers
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "tests/cases.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"
#include "tests/moving_table.h"

namespace culmen::test {
namespace {

constexpr int kThreads = 4, kBatches = 12;
constexpr std::uint64_t kAnswersEach = 300;  // per thread

// The oracle of each version, added before the version is published.
class Oracles {
 public:
  void add(std::uint64_t version, const MovingTable& table) {
    const TableOf view(table.rows(), table.attributes());
    auto oracle = std::make_shared<const Oracle>(view.view(), false);
    const std::lock_guard lock(mutex_);
    oracles_[version] = std::move(oracle);
  }
  std::shared_ptr<const Oracle> of(std::uint64_t version) const {
    const std::lock_guard lock(mutex_);
    return oracles_.at(version);
  }
  // Whether a score could overflow in a version from `first` on.
  bool some_refuse(const Query& query, std::uint64_t first) const {
    const std::lock_guard lock(mutex_);
    return std::any_of(oracles_.lower_bound(first), oracles_.end(),
                       [&](const auto& entry) { return entry.second->refuses(query); });
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<const Oracle>> oracles_;
};

class Trial {
 public:
  explicit Trial(std::uint64_t seed)
      : seed_(seed),
        random_(seed),
        float32_(random_.chance(0.5)),
        table_(random_, random_.between(1, 12), float32_) {
    table_.insert(20 + random_.below(400));
    oracles_.add(1, table_);
    index_ =
        Index::build(TableOf(table_.rows(), table_.attributes()).view(),
                     {.leaf_rows = 16, .value_type = float32_ ? ValueType::float32 : ValueType::float64});
  }

  // The first disagreement; empty: none.
  std::string run() {
    const DeviceIndex on_gpu = index_.to_device();
    std::vector<std::string> wrong(kThreads);
    {
      std::vector<std::jthread> threads;
      for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          wrong[static_cast<std::size_t>(t)] = ask(on_gpu, seed_ * 100 + static_cast<std::uint64_t>(t));
        });
      for (int b = 0; b < kBatches; ++b) {
        write_batch();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    }
    for (const std::string& fault : wrong)
      if (!fault.empty()) return fault;
    return "";
  }

 private:
  void write_batch() {
    const std::vector<std::int64_t> gone = table_.erase(random_.chance(0.3));
    table_.move();
    const Rows added = table_.insert(1 + random_.below(60));  // a batch without rows might not make a version
    oracles_.add(index_.version() + 1, table_);
    const TableOf rows(added, table_.attributes());
    index_.write(WriteBatch().erase(gone).insert(rows.view()));
  }

  std::string ask(const DeviceIndex& on_gpu, std::uint64_t seed) const {
    Random random(seed);
    std::string wrong;
    for (std::uint64_t q = 0; wrong.empty() && q < kAnswersEach; ++q) {
      const std::uint64_t version = index_.version();
      const std::shared_ptr<const Oracle> oracle = oracles_.of(version);
      const Query query = random_query(random, *oracle,
                                       random.chance(0.5) ? balancing_weights(random, *oracle)
                                                          : random_weights(random, oracle->num_attributes()));
      const Engine engine = random.pick({Engine::bounded, Engine::scan, Engine::gta});
      try {
        const bool is_batch = random.chance(0.2);
        wrong = compare(is_batch ? on_gpu.search(std::vector<Query>{query, query}).back()
                                 : on_gpu.search(query, {.engine = engine}),
                        query);
        if (!wrong.empty()) wrong = std::string(is_batch ? "batch" : engine_name(engine)) + ": " + wrong;
      } catch (const InvalidArgument& error) {
        if (!oracles_.some_refuse(query, version))
          wrong = std::string(error.what()) + "\n  " + describe(query);
      }
    }
    return wrong;
  }

  std::string compare(const SearchResult& found, const Query& query) const {
    const std::shared_ptr<const Oracle> oracle = oracles_.of(found.version());
    if (oracle->refuses(query)) return "a score could overflow, but the query was taken";
    const std::string wrong = difference(found.hits, oracle->search(query));
    return wrong.empty() ? ""
                         : wrong + ", version " + std::to_string(found.version()) + "\n  " + describe(query);
  }

  std::uint64_t seed_;
  Random random_;
  bool float32_;
  MovingTable table_;
  Oracles oracles_;
  Index index_ = Index::build(TableOf({{0, {0}}}, {{"a"}}).view());
};

TEST(MovedValuesOnADevice, AreTheOraclesBesideAWriter) {
  SKIP_WITHOUT_GPU();
  const std::uint64_t num_trials = num_cases(6'000) / (kThreads * kAnswersEach) + 1;
  for (std::uint64_t t = 1; t <= num_trials; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : t;
    ASSERT_EQ(Trial(seed).run(), "") << "seed " << seed;
    if (only_seed() != 0) return;
  }
}

}  // namespace
}  // namespace culmen::test
