// Readers beside a writer of rows with texts and gaps: each search sees the rows, texts and gaps of one version.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "culmen/index.h"
#include "tests/cases.h"
#include "tests/field_tables.h"

namespace culmen::test {
namespace {

constexpr std::int64_t kEpochRows = 20, kEpochs = 5;  // in the index at any time

Schema epoch_schema() {
  return {.attributes = {{"a"}, {"b"}},
          .fields = {{"epoch", FieldRole::filter, {ColumnType::text}},
                     {"place", FieldRole::filter, {ColumnType::integer}},
                     {"note", FieldRole::stored, {ColumnType::text}}}};
}

std::string epoch_name(std::int64_t epoch) {
  return std::string("epoch ").append(std::to_string(epoch));
}

// Of every epoch one row misses "b", and one its place.
std::vector<culmen::Row> epoch_rows(std::int64_t epoch) {
  std::vector<culmen::Row> rows;
  for (std::int64_t place = 0; place < kEpochRows; ++place) {
    const auto b = place == 3 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(epoch % 7);
    rows.push_back({epoch * kEpochRows + place,
                    {static_cast<double>(place), b},
                    "",
                    {epoch_name(epoch), place == 5 ? FieldValue() : FieldValue(place), std::string("n")}});
  }
  return rows;
}

// What is wrong with the answers of one version; empty: nothing.
std::string fault_of(const Index& version, Random& random) {
  const SearchResult all = version.search({.weights = {1, 0}, .k = 1000});
  if (all.hits.size() != kEpochRows * kEpochs) return std::to_string(all.hits.size()) + " rows";
  const std::string name = std::get<std::string>(all.field(random.below(all.hits.size()), "epoch"));
  const Filter of_epoch = col("epoch") == name;
  const Engine engine = random.pick({Engine::automatic, Engine::bounded, Engine::scan, Engine::gta});
  const auto count = [&](const Filter& where, double weight_of_b) {
    return version.search({.weights = {1, weight_of_b}, .k = 1000, .where = where}, {.engine = engine})
        .hits.size();
  };
  if (count(of_epoch, 0) != kEpochRows) return name + " has other rows";
  if (count(of_epoch, 1) != kEpochRows - 1) return name + " with another gap";
  if (count(of_epoch && col("place").is_null(), 0) != 1) return name + " with another missing place";
  if (count(col("place").is_null(), 0) != kEpochs) return "missing places";
  if (count(col("b").is_null(), 0) != kEpochs) return "gaps";
  if (count(!of_epoch && col("place") < 5, 0) != 5 * (kEpochs - 1))
    return "places of other epochs than " + name;
  if (count(col("epoch").starts_with("epoch "), 0) != kEpochRows * kEpochs) return "the prefix of all epochs";
  return "";
}

TEST(Readers, SeeTheTextsAndGapsOfTheirVersionWhileTheWriterGoesOn) {
  const auto num_batches = static_cast<std::int64_t>(num_cases(kSanitized ? 20'000 : 4000) / 10);
  const Schema schema = epoch_schema();
  Index index = Index::create(schema, {.leaf_rows = 16});
  Random random(1);
  std::vector<culmen::Row> first;
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch)
    for (const culmen::Row& row : epoch_rows(epoch)) first.push_back(row);
  index.insert(RowTable(random, schema, first).view());
  std::atomic<bool> done = false;
  std::atomic<int> num_checks = 0;
  std::vector<std::string> faults(4);
  const auto read = [&](std::size_t reader) {
    Random mine(reader + 2);
    while (!done && faults[reader].empty()) {
      faults[reader] = fault_of(index.snapshot(), mine);
      ++num_checks;
    }
  };
  std::vector<std::thread> readers;
  for (std::size_t reader = 0; reader < faults.size(); ++reader) readers.emplace_back(read, reader);
  for (std::int64_t epoch = kEpochs; epoch < kEpochs + num_batches; ++epoch) {
    const std::vector<culmen::Row> rows = epoch_rows(epoch);
    const RowTable table(random, schema, rows);
    std::vector<std::int64_t> erased;
    for (const culmen::Row& row : epoch_rows(epoch - kEpochs)) erased.push_back(row.id);
    WriteBatch batch;
    batch.insert(table.view());
    if (random.chance(0.5)) {
      batch.erase(erased);
    } else {
      batch.erase_where(col("epoch") == epoch_name(epoch - kEpochs));
    }
    index.write(batch);
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  for (const std::string& fault : faults) EXPECT_EQ(fault, "");
  EXPECT_GT(num_checks, 0);
  EXPECT_EQ(fault_of(index, random), "");
  EXPECT_TRUE(index.verify().empty());
}

}  // namespace
}  // namespace culmen::test
