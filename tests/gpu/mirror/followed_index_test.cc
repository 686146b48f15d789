// The guarantees of DeviceIndex for an index that changes, by public calls alone.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "culmen/device.h"
#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/generators.h"
#include "tests/gpu/gpu_testing.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

constexpr int kAttributes = 4;

// Rows with ids first_id, first_id + 1, ...
struct NewRows {
  std::vector<std::vector<float>> columns;
  std::vector<std::int64_t> ids;

  NewRows(Random& random, std::size_t num_rows, std::int64_t first_id) : columns(kAttributes) {
    for (std::vector<float>& column : columns)
      for (std::size_t r = 0; r < num_rows; ++r) column.push_back(static_cast<float>(random.unit()));
    for (std::size_t r = 0; r < num_rows; ++r) ids.push_back(first_id + static_cast<std::int64_t>(r));
  }

  TableView view() const {
    TableView table;
    table.num_rows = ids.size();
    table.ids = ids;
    for (int i = 0; i < kAttributes; ++i) {
      table.attributes.push_back({std::string(1, static_cast<char>('a' + i))});
      table.columns.emplace_back(columns[static_cast<std::size_t>(i)]);
    }
    return table;
  }
};

class FollowedIndex : public testing::Test {
 protected:
  void SetUp() override { SKIP_WITHOUT_GPU(); }

  std::vector<Query> random_queries(std::size_t count) {
    std::vector<Query> queries;
    while (queries.size() < count)
      queries.push_back({.weights = random_weights(random_, kAttributes), .k = 20});
    return queries;
  }

  // Empty if the GPU answers as the CPU does.
  std::string fault(const DeviceIndex& on_gpu) {
    const std::vector<Query> queries = random_queries(5);
    const std::vector<SearchResult> batch = on_gpu.search(queries);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::vector<Hit> expected = index_.search(queries[q]).hits;
      if (batch[q].hits != expected) return "batch, " + describe(queries[q]);
      for (const Engine engine : {Engine::bounded, Engine::scan, Engine::gta}) {
        const SearchResult result = on_gpu.search(queries[q], {.engine = engine});
        if (result.hits != expected) return std::string(engine_name(engine)) + ", " + describe(queries[q]);
        if (result.version() != index_.version()) return "version " + std::to_string(result.version());
      }
    }
    return "";
  }

  Random random_{51};
  Index index_ = Index::build(NewRows(random_, 20'000, 0).view());
};

TEST_F(FollowedIndex, ShowsEachChangeOnceTheCallHasReturned) {
  const DeviceIndex on_gpu = index_.to_device();
  std::int64_t next_id = 1'000'000;
  for (int b = 0; b < 30; ++b) {
    NewRows rows(random_, 100, next_id);
    for (std::vector<float>& column : rows.columns) column[0] = 2 + static_cast<float>(b);
    index_.insert(rows.view());
    EXPECT_EQ(on_gpu.search({.weights = {1, 1, 1, 1}, .k = 1}).hits.at(0).id, next_id) << "insert " << b;
    index_.upsert(NewRows(random_, 50, random_.below(20'000)).view());
    EXPECT_EQ(fault(on_gpu), "") << "upsert " << b;
    index_.erase(std::vector{next_id, next_id + 1});
    EXPECT_EQ(fault(on_gpu), "") << "erase " << b;
    next_id += 100;
  }
}

TEST_F(FollowedIndex, IsWholeAgainAfterItWasCompactedOrEmptied) {
  const DeviceIndex on_gpu = index_.to_device();
  index_.insert(NewRows(random_, 3000, 100'000).view());
  index_.compact();
  EXPECT_EQ(fault(on_gpu), "");
  std::vector<std::int64_t> all(103'000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  EXPECT_EQ(index_.erase(all), 23'000u);
  EXPECT_TRUE(on_gpu.search({.weights = {1, 1, 1, 1}, .k = 3}).hits.empty());
  EXPECT_EQ(on_gpu.device_bytes(), 0u);
  index_.insert(NewRows(random_, 1000, 0).view());
  EXPECT_EQ(fault(on_gpu), "");
  index_.insert(NewRows(random_, 5000, 5000).view());
  EXPECT_EQ(fault(on_gpu), "");
}

TEST_F(FollowedIndex, StaysAsItIsForASnapshot) {
  const Query query = {.weights = {1, 2, 3, 4}, .k = 50};
  const Index snapshot = index_.snapshot();
  const DeviceIndex on_gpu = snapshot.to_device();
  const std::vector<Hit> before = index_.search(query).hits;
  for (int b = 0; b < 10; ++b) {
    NewRows rows(random_, 500, 100'000 + 500 * b);
    for (std::vector<float>& column : rows.columns) column[0] = 3;
    index_.insert(rows.view());
  }
  EXPECT_EQ(on_gpu.search(query).hits, before);
  EXPECT_EQ(on_gpu.refresh().version, snapshot.version());
  EXPECT_NE(index_.search(query).hits, before);
}

// Each thread sees its own rows as soon as its call has returned.
TEST_F(FollowedIndex, ShowsTheirRowsToManyWriters) {
  const DeviceIndex on_gpu = index_.to_device();
  std::vector<std::string> faults(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < faults.size(); ++t)
      threads.emplace_back([&, t] {
        Random random(60 + t);
        for (int b = 0; b < 20; ++b) {
          const auto first_id = static_cast<std::int64_t>(1'000'000 * (t + 1)) + 100 * b;
          NewRows rows(random, 100, first_id);
          rows.columns[t][0] = static_cast<float>(10 + b);  // more than any other thread's rows have
          index_.insert(rows.view());
          Query query = {.weights = std::vector<double>(kAttributes), .k = 1};
          query.weights[t] = 1;
          if (on_gpu.search(query).hits.at(0).id != first_id) faults[t] = "batch " + std::to_string(b);
        }
      });
  }
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
  EXPECT_EQ(fault(on_gpu), "");
}

}  // namespace
}  // namespace culmen::test
