// tests/data/small_index: an index directory of the present format, as committed. A change of the format that cannot
// read it shows here. It has what the format has: two levels of nodes, partitions, labels, ids with gaps, and a log
// with changes after the snapshot.
//
// CULMEN_WRITE_SMALL_INDEX=1 storage_test --gtest_filter='SmallIndex.*'     writes the directory anew, for a new format
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "culmen/index.h"
#include "tests/harness.h"
#include "tests/oracle.h"
#include "tests/row_columns.h"

namespace culmen::test {
namespace {

namespace fs = std::filesystem;

const fs::path kSmallIndex = CULMEN_TEST_DATA "/small_index";
const std::vector<Attribute> kPriceAndStars = {{"price", Preference::low}, {"stars", Preference::high}};

struct LabelledRow {
  std::vector<double> values;
  std::string label;
};
using LabelledRows = std::map<std::int64_t, LabelledRow>;

LabelledRow make_row(std::int64_t id) {
  return {{static_cast<double>(id * 37 % 1009) / 8, static_cast<double>(id * 53 % 41) / 4},
          "row " + std::to_string(id)};
}

RowColumns as_columns(const LabelledRows& rows) {
  RowColumns columns(kPriceAndStars, true);
  for (const auto& [id, row] : rows) columns.add(id, row.values, row.label);
  return columns;
}

// Rows of the snapshot: 36 leaves of 16, more than a node has children.
LabelledRows built_rows() {
  LabelledRows rows;
  for (std::int64_t i = 0; i < 540; ++i) rows[7 + 3 * i] = make_row(7 + 3 * i);
  return rows;
}

// What the log has: one batch of each kind of change.
const std::vector<std::int64_t> kErasedIds = {10, 700, 1300};
LabelledRows inserted_rows() {
  return {{5000, make_row(5000)}, {5001, {{-3.5, 11}, "the best"}}};
}
LabelledRows replaced_rows() {
  return {{7, {{2.25, 8.5}, "replaced"}}, {400, {{200, -1}, ""}}};
}

LabelledRows present_rows() {
  LabelledRows rows = built_rows();
  for (const std::int64_t id : kErasedIds) rows.erase(id);
  rows.merge(inserted_rows());
  for (const auto& [id, row] : replaced_rows()) rows[id] = row;
  return rows;
}

void write_small_index() {
  fs::remove_all(kSmallIndex);
  const RowColumns built = as_columns(built_rows()), inserted = as_columns(inserted_rows()),
                   replaced = as_columns(replaced_rows());
  const BuildOptions options = {.num_partitions = 3, .leaf_rows = 16, .value_type = ValueType::float32};
  Index::build(built.view(), options).save(kSmallIndex);
  Index index = Index::open(kSmallIndex, {.writable = true});
  index.insert(inserted.view());
  index.upsert(replaced.view());
  index.erase(kErasedIds);
  index.close();
  fs::remove(kSmallIndex / "LOCK");  // not part of the index
}

// Compares every row, its label, and the answers of every engine.
void expect_rows(const Index& index, const LabelledRows& rows) {
  EXPECT_EQ(index.verify(), std::vector<std::string>());
  EXPECT_EQ(index.info().num_rows, rows.size());
  for (const auto& [id, row] : rows) EXPECT_EQ(index.get(id), (Row{id, row.values, row.label})) << id;
  const RowColumns columns = as_columns(rows);
  const Oracle oracle(columns.view(), true);
  for (const std::vector<double>& weights :
       {std::vector<double>{-1, 3}, std::vector<double>{0.1, 0.7}, std::vector<double>{-1, 0}})
    for (const Filter& where : {Filter{}, Filter{{1, 2, 7.5}}})
      for (const Engine engine : kEngines) {
        const Query query = {.weights = weights, .k = 50, .where = where};
        EXPECT_EQ(difference(index.search(query, {.engine = engine}).hits, oracle.search(query)), "")
            << engine_name(engine);
      }
}

class SmallIndex : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (std::getenv("CULMEN_WRITE_SMALL_INDEX") != nullptr) write_small_index();
  }
};

TEST_F(SmallIndex, IsOpenedVerifiedAndSearched) {
  const Index index = Index::open(kSmallIndex);
  EXPECT_EQ(index.recovery().num_batches, 3u);
  EXPECT_EQ(index.recovery().dropped_bytes, 0u);
  expect_rows(index, present_rows());
  EXPECT_EQ(index.search({.weights = {-1, 3}, .k = 1}).label(0), "the best");
}

TEST_F(SmallIndex, IsWrittenAndOpenedAgain) {
  const TemporaryDirectory directory;
  const fs::path copy = directory.path() / "index";
  fs::copy(kSmallIndex, copy);
  LabelledRows rows = present_rows();
  {
    Index index = Index::open(copy, {.writable = true});
    const LabelledRows more = {{9000, make_row(9000)}};
    index.insert(as_columns(more).view());
    rows.insert(more.begin(), more.end());
  }
  expect_rows(Index::open(copy), rows);
  Index::open(copy, {.writable = true}).checkpoint();
  expect_rows(Index::open(copy), rows);
}

}  // namespace
}  // namespace culmen::test
