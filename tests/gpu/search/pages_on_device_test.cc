// Pages of an answer and rows of each group on GPUs: the CPU's ids and score bits, over random tables through a life, by
// every engine that takes them, in batches, and where each GPU holds a part.
//
// CULMEN_TEST_CASES=N    so many tables, divided by 40
// CULMEN_TEST_SEED=N     one table again, as a failure prints it
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "culmen/device.h"
#include "culmen/device_group.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/error_of.h"
#include "tests/field_trial.h"
#include "tests/gpu/device_trial.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/gpu/group/group_devices.h"

namespace culmen::test {
namespace {

// A place of the answer to a query: a row's, or close to one.
Cursor random_place(const Index& index, Query query, Random& random) {
  query.k = random.pick<std::size_t>({1, 30, 2000});
  query.per.reset();
  const std::vector<Hit> hits = index.search(query).hits;
  if (hits.empty()) return {random.uniform(-3, 3), random.between(-5, 5), {}};
  const Hit& at = random.chance(0.5) ? hits.back() : hits[random.below(hits.size())];
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Cursor place = {at.score, at.id, {}};
  if (random.chance(0.2))
    place.score = std::nextafter(place.score, random.chance(0.5) ? kInfinity : -kInfinity);
  if (random.chance(0.2)) place.id += random.between(-1, 1);
  if (random.chance(0.05)) place.score = random.chance(0.5) ? kInfinity : -kInfinity;
  return place;
}

Query random_page(const Index& index, const FieldOracle& oracle, Random& random) {
  Query query = random_field_query(random, oracle, random.chance(0.1), true);
  if (oracle.refuses(query)) return query;
  std::vector<std::string> columns;
  for (const Attribute& attribute : oracle.schema().attributes) columns.push_back(attribute.name);
  for (const Field& field : oracle.schema().fields)
    if (!field.is_text() || field.role == FieldRole::filter) columns.push_back(field.name);
  if (random.chance(0.6)) query.after = random_place(index, query, random);
  if (random.chance(0.4)) query.per = RowsPer{columns[random.below(columns.size())], 1 + random.below(3)};
  return query;
}

class PageChecks {
 public:
  std::string check(const Index& index, const FieldOracle& oracle, Random& random) {
    if (!can_have_copies(index, copy_, parts_)) return "";
    if (!is_copy_of(copy_, index)) {
      copy_ = index.to_device({.memory = random.pick({DeviceMemory::device, DeviceMemory::host}),
                               .resident = random.chance(0.3)});
      parts_ = index.to_devices(devices_of(2), {.layout = DeviceLayout::shard});
    }
    std::vector<Query> queries;
    for (int q = 0; q < 6; ++q) {
      queries.push_back(random_page(index, oracle, random));
      if (oracle.refuses(queries.back())) queries.pop_back();
    }
    const std::vector<SearchResult> batch = copy_->search(queries), of_parts = parts_->search(queries);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::vector<Hit> expected = index.search(queries[q]).hits;
      num_rows_ += expected.size();
      const auto fault = [&](const char* how) { return how + (": " + describe(queries[q])); };
      if (batch[q].hits != expected) return fault("in a batch");
      if (of_parts[q].hits != expected) return fault("in a batch over parts");
      if (copy_->search(queries[q]).hits != expected) return fault("bounded");
      if (copy_->search(queries[q], {.engine = Engine::scan}).hits != expected) return fault("scan");
      if (parts_->search(queries[q]).hits != expected) return fault("over parts");
    }
    return "";
  }

  std::uint64_t num_rows() const { return num_rows_; }

 private:
  std::optional<DeviceIndex> copy_;
  std::optional<DeviceGroup> parts_;
  std::uint64_t num_rows_ = 0;
};

TEST(DevicePages, AreTheCpus) {
  SKIP_WITHOUT_GPU();
  constexpr std::uint64_t kDefaultCases = 2000;
  std::uint64_t num_rows = 0;
  for (std::uint64_t t = 1; t <= num_cases(kDefaultCases) / 40 + 1; ++t) {
    const std::uint64_t seed = only_seed() != 0 ? only_seed() : 77'000'000'000 + t;
    PageChecks checks;
    FieldTrial trial(
        seed,
        [&checks](const Index& index, const FieldOracle& oracle, Random& random) {
          return checks.check(index, oracle, random);
        },
        0);
    ASSERT_EQ(trial.run(seed % 2 == 0), "") << rerun_command(seed, "device_fields_test", "*AreTheCpus");
    num_rows += checks.num_rows();
    if (only_seed() != 0) return;
  }
  if (ran_all_cases(kDefaultCases)) {
    EXPECT_GT(num_rows, 1000U);
  }
}

// Page after page, as a reader goes: joined they are the one long answer, and each reads a part of the table.
TEST(DevicePages, OfALargeTableJoinToTheLongAnswer) {
  SKIP_WITHOUT_GPU();
  Random random(91);
  const Table table = random_table(random, ValueClass::anticorrelated, 1'000'000, 4);
  const Index index = Index::build(table.view());
  const DeviceIndex on_gpu = index.to_device();
  for (const std::size_t k : {16, 700}) {
    Query query = {.weights = {0.3, 0.9, 0.5, 0.1}, .k = 20 * k};
    const std::vector<Hit> whole = index.search(query).hits;
    query.k = k;
    for (std::size_t first = 0; first < whole.size(); first += k) {
      const SearchResult page = on_gpu.search(query);
      const std::vector<Hit> expected(whole.begin() + static_cast<std::ptrdiff_t>(first),
                                      whole.begin() + static_cast<std::ptrdiff_t>(first + k));
      ASSERT_EQ(page.hits, expected) << "k " << k << ", row " << first;
      EXPECT_LT(page.stats.rows_scored, table.num_rows / 2) << "k " << k << ", row " << first;
      query.after = Cursor{page.hits.back().score, page.hits.back().id, {}};
    }
  }
}

TEST(DevicePages, AreRefusedByGta) {
  SKIP_WITHOUT_GPU();
  Random random(92);
  const Index index = Index::build(random_table(random, ValueClass::small_integers, 500, 2).view());
  const DeviceIndex on_gpu = index.to_device();
  for (const Query& query : {Query{.weights = {1, 1}, .after = Cursor{1, 2, {}}},
                             Query{.weights = {1, 1}, .per = RowsPer{"a0", 1}}})
    EXPECT_THROW(static_cast<void>(on_gpu.search(query, {.engine = Engine::gta})), InvalidArgument);
}

}  // namespace
}  // namespace culmen::test
