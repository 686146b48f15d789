// Tables with fields and missing values on a GPU, against the oracle: any filter, every engine, batches and contexts.
// Copies follow an index through its life.
//
// CULMEN_TEST_CASES=N    so many tables, divided by 40
// CULMEN_TEST_SEED=N     one table again, as a failure prints it
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/field_trial.h"
#include "tests/gpu/device_batch.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"

namespace culmen::test {
namespace {

// Compares a copy with the oracle. The copy follows the index as long as that is the same.
class DeviceChecks {
 public:
  std::string check(const Index& index, const FieldOracle& oracle, Random& random) {
    if (!can_have_copies(index, copy_)) return "";
    if (!is_copy_of(copy_, index)) {
      memory_ = random.pick({DeviceMemory::device, DeviceMemory::device, DeviceMemory::host,
                             DeviceMemory::managed, DeviceMemory::compressed});
      copy_ = index.to_device({.memory = memory_});
      context_ = copy_->make_context();
    }
    std::vector<Query> queries;
    std::vector<std::vector<Answer>> expected;
    for (int q = 0; q < kQueries; ++q) {
      const Query query = random_field_query(random, oracle, random.chance(0.1), true);
      if (oracle.refuses(query)) continue;
      queries.push_back(query);
      expected.push_back(oracle.search(query));
    }
    const std::vector<SearchResult> batch = copy_->search(queries);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      if (std::string fault = difference(batch[q].hits, expected[q]); !fault.empty())
        return "in a batch: " + fault + about(queries[q]);
      for (const Engine engine : kDeviceEngines) {
        if (!takes(engine, queries[q], oracle.rows().size())) continue;
        const SearchResult result = copy_->search(queries[q], {.engine = engine});
        if (std::string fault = difference(result.hits, expected[q]); !fault.empty())
          return std::string(engine_name(engine)) + ": " + fault + about(queries[q]);
        num_answers_ += result.hits.size();
      }
    }
    return check_context(oracle, random);
  }

  std::uint64_t num_answers() const { return num_answers_; }

 private:
  static constexpr int kQueries = 6;

  // Weights in device memory, some of which are refused.
  std::string check_context(const FieldOracle& oracle, Random& random) {
    const Query like = random_field_query(random, oracle, random.chance(0.1));
    Batch batch = {.weights = {},
                   .k = random.pick<std::size_t>({1, 5, 33, 200}),
                   .where = like.where,
                   .min_score = like.min_score,
                   .missing = like.missing};
    Expected expected;
    for (int q = 0; q < 20; ++q) {
      Query query = random_field_query(random, oracle, true);
      if (q == 0) query.weights.assign(query.weights.size(), 0.0);
      batch.weights.push_back(query.weights);
      query = batch.query(static_cast<std::size_t>(q));
      if (q == 0 || oracle.refuses(query)) {
        expected.emplace_back(std::nullopt);
        continue;
      }
      std::vector<Hit>& hits = expected.emplace_back(std::vector<Hit>()).value();
      for (const Answer& answer : oracle.search(query)) hits.push_back({answer.id, answer.score});
    }
    const OnDevice on_device(batch);
    on_device.enqueue(*copy_, *context_);
    context_->synchronize();
    const std::string fault = on_device.difference_to(expected);
    return fault.empty() ? "" : "on a context: " + fault + about(batch.query(0));
  }

  std::string about(const Query& query) const {
    return "\n  memory " + std::string(device_memory_name(memory_)) + ": " + describe(query);
  }

  std::optional<DeviceIndex> copy_;
  std::optional<DeviceContext> context_;
  DeviceMemory memory_ = DeviceMemory::device;
  std::uint64_t num_answers_ = 0;
};

class DeviceFields : public testing::TestWithParam<int> {};

TEST_P(DeviceFields, AreFilteredAsSqlDoes) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kDefaultCases = 2000;
  const std::uint64_t num_tables = num_cases(kDefaultCases) / 40 + 1;
  std::uint64_t answers = 0;
  for (std::uint64_t t = 1; t <= num_tables; ++t) {
    const std::uint64_t seed =
        only_seed() != 0 ? only_seed() : (static_cast<std::uint64_t>(GetParam()) + 1) * 6'000'000'000 + t;
    DeviceChecks checks;
    const auto check = [&checks](const Index& index, const FieldOracle& oracle, Random& random) {
      return checks.check(index, oracle, random);
    };
    FieldTrial trial(seed, check, 0);
    ASSERT_EQ(trial.run(seed % 2 == 0), "") << rerun_command(seed, "device_fields_test", "*/0");
    answers += checks.num_answers();
    if (only_seed() != 0) return;
  }
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(answers, num_tables);
}

INSTANTIATE_TEST_SUITE_P(Seeds, DeviceFields, testing::Range(0, 4));

// Larger than a leaf, a node and the shared memory of a batch's query: thousands of conditions.
TEST(DeviceFilters, MayBeLongAndDeep) {
  SKIP_WITHOUT_GPU();
  Random random(61);
  const Table table = random_table(random, ValueClass::small_integers, 20'000, 3);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  std::vector<Literal> many;
  for (std::int64_t id = 0; id < 20'000; id += 3) many.emplace_back(id);
  Filter deep = id_col() < 10'000;
  for (int level = 0; level < 64; ++level) {  // that nest 97 deep, of Filter::kMaxDepth
    const Filter more = level % 3 == 0 ? col(level % 3) != level : id_col() != 7 * level;
    deep = level % 2 == 0 ? !(deep && more) : deep || !more;
  }
  for (const Filter& filter :
       {id_col().in(many), !id_col().in(many), deep, !deep, id_col().in(many) && deep}) {
    for (const std::size_t k : {1, 100, 5000}) {
      const Query query = {.weights = {1, 0.5, 2}, .k = k, .where = filter};
      const std::vector<Hit> expected = index.search(query).hits;
      for (const Engine engine : kDeviceEngines) {
        if (!takes(engine, query, table.num_rows)) continue;
        EXPECT_EQ(on_gpu.search(query, {.engine = engine}).hits, expected)
            << engine_name(engine) << ", k=" << k;
      }
      EXPECT_EQ(on_gpu.search(std::vector(3, query))[2].hits, expected) << "batch, k=" << k;
    }
  }
}

// A batch whose queries have filters of their own, some none.
TEST(DeviceFilters, DifferWithinABatch) {
  SKIP_WITHOUT_GPU();
  Random random(62);
  const Table table = random_table(random, ValueClass::anticorrelated, 30'000, 4);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  std::vector<Query> queries;
  for (int q = 0; q < 300; ++q) {
    const std::vector<Filter> filters = {
        Filter(),      id_col() < 100 * q,       col(0) < 0.3 || col(1) < 0.3,
        col(2) != 0.5, col(3).between(0.1, 0.6), id_col().in({q, q + 1, q + 2}),
        id_col() < 0};
    queries.push_back(
        {.weights = random_weights(random, 4), .k = 16, .where = filters[random.below(filters.size())]});
  }
  const std::vector<SearchResult> batch = on_gpu.search(queries);
  for (std::size_t q = 0; q < queries.size(); ++q)
    EXPECT_EQ(batch[q].hits, index.search(queries[q]).hits) << describe(queries[q]);
}

}  // namespace
}  // namespace culmen::test
