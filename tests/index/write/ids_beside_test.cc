// Readers that look rows up by their ids beside a writer: each search finds the rows of one version, by the writer's map
// of ids or without.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/row_columns.h"

namespace culmen::test {
namespace {

constexpr std::int64_t kNumLookedUp = 400;

// Every row of a version has the value `version`, plus its id / 1024. Every second id is there in every second version.
RowColumns rows_of(std::int64_t version) {
  RowColumns rows({{"a"}});
  for (std::int64_t id = 0; id < kNumLookedUp; ++id) {
    if (id % 2 != 0 && version % 2 != 0) continue;
    const double value = static_cast<double>(version) + static_cast<double>(id) / 1024;
    rows.add(id, std::span(&value, 1));
  }
  return rows;
}

std::string fault_of_look_up(const Index& index, Random& random, std::atomic<int>& num_by_map) {
  const std::int64_t first = 2 * static_cast<std::int64_t>(random.below(kNumLookedUp / 2 - 4));
  const SearchResult result =
      index.search({.weights = {1}, .k = 8, .where = id_col().between(first, first + 5)});
  num_by_map += result.stats.by_id_map ? 1 : 0;
  if (result.hits.empty()) return "no row";
  const auto version = static_cast<std::int64_t>(result.hits.front().score);
  const std::int64_t step = version % 2 == 0 ? 1 : 2;
  if (result.hits.size() != static_cast<std::size_t>(6 / step))
    return std::to_string(result.hits.size()) + " rows of version " + std::to_string(version);
  std::int64_t id = first + 6;
  for (const Hit& hit : result.hits) {
    id -= step;
    if (hit.id != id || hit.score != static_cast<double>(version) + static_cast<double>(id) / 1024)
      return "id " + std::to_string(hit.id) + " scores " + std::to_string(hit.score) + " in version " +
             std::to_string(version);
  }
  return "";
}

TEST(LookUps, FindTheRowsOfOneVersionWhileTheWriterGoesOn) {
  constexpr std::uint64_t kDefaultCases = kSanitized ? 20'000 : 4000;
  const auto num_batches = static_cast<std::int64_t>(num_cases(kDefaultCases) / 10);
  Index index = Index::build(rows_of(0).view(), {.leaf_rows = 16});
  std::vector<std::int64_t> odd;
  for (std::int64_t id = 1; id < kNumLookedUp; id += 2) odd.push_back(id);
  std::atomic<bool> done = false;
  std::atomic<int> num_by_map = 0;
  std::array<std::string, 3> faults;
  std::vector<std::thread> readers;
  for (std::size_t reader = 0; reader < faults.size(); ++reader)
    readers.emplace_back([&, reader] {
      Random mine(reader + 2);
      while (!done && faults[reader].empty()) faults[reader] = fault_of_look_up(index, mine, num_by_map);
    });
  for (std::int64_t version = 1; version <= num_batches; ++version) {
    const RowColumns rows = rows_of(version);
    WriteBatch batch;
    batch.upsert(rows.view());
    if (version % 2 != 0) batch.erase(odd);
    index.write(batch);
    if (version % 50 == 25) index.compact();  // not at the end: it leaves no map
  }
  // On a busy machine the readers may not have met the writer's map yet: it is theirs while the writer rests.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (num_by_map == 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  done = true;
  for (std::thread& reader : readers) reader.join();
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
  if (!ran_all_cases(kDefaultCases)) return;
  EXPECT_GT(num_by_map, 0);
}

}  // namespace
}  // namespace culmen::test
