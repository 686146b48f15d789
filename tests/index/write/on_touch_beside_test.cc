// Readers beside a writer of an index that was opened on touch: both read what is not in memory yet, some readers all.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/field_tables.h"
#include "tests/harness.h"

namespace culmen::test {
namespace {

// Readers search and look ids up, some of them read everything, while the writer changes what is not read yet.
TEST(Readers, SeeOneVersionBesideAWriterThatReadsOnTouch) {
  // Every row of a version has the value `version` in a, and its id in b.
  constexpr std::int64_t kRows = 20'000;
  const auto rows_of = [](std::int64_t first, std::int64_t last, std::int64_t version) {
    std::vector<culmen::Row> rows;
    for (std::int64_t id = first; id < last; ++id)
      rows.push_back({id, {static_cast<double>(version), static_cast<double>(id % 512)}, "", {}});
    return rows;
  };
  const Schema schema = {.attributes = {{"a"}, {"b"}}};
  Random random(1);
  const RowTable table(random, schema, rows_of(0, kRows, 1));
  const TemporaryDirectory folder;
  Index::build(table.view(), {.leaf_rows = 16, .value_type = ValueType::float32})
      .save(folder.path() / "built");
  const std::uint64_t num_turns = num_cases(kSanitized ? 5 : 20);
  for (std::uint64_t turn = 0; turn < num_turns; ++turn) {
    const std::filesystem::path path = folder.path() / std::to_string(turn);
    std::filesystem::copy(folder.path() / "built", path);
    Index index =
        Index::open(path, {.writable = true, .durability = Durability::os, .loading = Loading::on_touch});
    std::atomic<bool> done = false;
    std::vector<std::string> faults(4);
    const auto look = [&](std::size_t reader) -> std::string {
      const Index version = index.snapshot();
      const auto number = static_cast<double>(version.version());
      const std::vector<Hit> hits =
          version.search({.weights = {1, 0}, .k = 30}, {.engine = Engine::bounded}).hits;
      const auto newest =
          std::count_if(hits.begin(), hits.end(), [&](const Hit& hit) { return hit.score == number; });
      if (hits.front().score > number) return "a row of a later version";
      if (number > 1 && newest != 2) return std::to_string(newest) + " rows of the newest version";
      if (reader == 0 && !version.verify().empty()) return version.verify().front();
      const auto id = static_cast<std::int64_t>(reader * 100);
      if (reader > 1 && version.get(id)->values[1] != static_cast<double>(id % 512)) return "another row";
      return "";
    };
    std::vector<std::thread> readers;
    for (std::size_t reader = 0; reader < faults.size(); ++reader)
      readers.emplace_back([&, reader] {
        Random mine(reader + turn * 10);
        if (reader == 0)
          for (int wait = mine.between(0, 2000); wait > 0; --wait) std::this_thread::yield();
        do faults[reader] = look(reader);
        while (!done && faults[reader].empty());
      });
    for (std::int64_t version = 2; version < 30; ++version) {
      const auto first = static_cast<std::int64_t>(random.below(kRows - 1));
      const RowTable changed(random, schema, rows_of(first, first + 2, version));
      WriteBatch batch;
      batch.upsert(changed.view());
      index.write(batch);
    }
    done = true;
    for (std::thread& reader : readers) reader.join();
    for (const std::string& fault : faults) ASSERT_EQ(fault, "") << "turn " << turn;
    ASSERT_EQ(index.verify(), std::vector<std::string>());
  }
}

// What would be refused of the rows of the files, whose scores could overflow, is an empty answer.
TEST(Readers, FindNothingWhereALogHasErasedAllRows) {
  const Schema schema = {.attributes = {{"a"}, {"b"}}};
  std::vector<culmen::Row> rows;
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < 100; ++id) {
    rows.push_back({id, {1e300 * static_cast<double>(id), 1}, "", {}});
    ids.push_back(id);
  }
  Random random(1);
  const RowTable table(random, schema, rows);
  const TemporaryDirectory folder;
  Index::build(table.view()).save(folder.path() / "index");
  Index writer = Index::open(folder.path() / "index", {.writable = true});
  writer.erase(ids);
  const Index reader = Index::open(folder.path() / "index", {.loading = Loading::on_touch});
  for (const Scale scale : {Scale::none, Scale::minmax}) {
    const Query query = {.weights = {1e100, 1}, .k = 3, .scale = scale};
    EXPECT_TRUE(writer.search(query).hits.empty());
    EXPECT_TRUE(reader.search(query).hits.empty());
    EXPECT_EQ(reader.score_bound(query), -kInfinity);
    EXPECT_EQ(reader.count_above(query, -1e300), 0u);
  }
}

}  // namespace
}  // namespace culmen::test
