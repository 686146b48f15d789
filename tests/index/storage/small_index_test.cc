// tests/data/small_index: an index directory of the present format, as committed. A change of the format that cannot
// read it shows here. It has what the format has: two levels of nodes, partitions, labels, missing
// values, texts and dates to filter by, stored texts, and a log with changes after the snapshot.
//
// CULMEN_WRITE_SMALL_INDEX=1 storage_test --gtest_filter='SmallIndex.*'     writes the directory anew, for a new format
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/index.h"
#include "tests/harness.h"
#include "tests/oracle.h"

namespace culmen::test {
namespace {

namespace fs = std::filesystem;

const fs::path kSmallIndex = CULMEN_TEST_DATA "/small_index";
const std::vector<Attribute> kPriceAndStars = {{"price", Preference::low}, {"stars", Preference::high}};
const std::vector<Field> kFields = {{"brand", FieldRole::filter, {ColumnType::text}},
                                    {"day", FieldRole::filter, {ColumnType::date}},
                                    {"note", FieldRole::stored, {ColumnType::text}}};
constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kFirstDay = 20'000;

struct SmallRow {
  std::vector<double> values;  // NaN: missing
  std::string label;
  std::optional<std::string> brand;
  std::optional<std::int64_t> day;
  std::optional<std::string> note;
};
using SmallRows = std::map<std::int64_t, SmallRow>;

SmallRow make_row(std::int64_t id) {
  SmallRow row = {{static_cast<double>(id * 37 % 1009) / 8, static_cast<double>(id * 53 % 41) / 4},
                  "row " + std::to_string(id),
                  "brand " + std::to_string(id * 29 % 17),
                  kFirstDay + id % 100,
                  "note " + std::to_string(id)};
  if (id % 11 == 0) row.values[1] = kMissing;
  if (id % 13 == 0) row.brand.reset();
  if (id % 17 == 0) row.day.reset();
  if (id % 3 == 0) row.note.reset();
  return row;
}

// Rows as a table.
class SmallTable {
 public:
  explicit SmallTable(const SmallRows& rows) {
    labels_.offsets = {0};
    for (const auto& [id, row] : rows) {
      ids_.push_back(id);
      for (std::size_t i = 0; i < columns_.size(); ++i) columns_[i].push_back(row.values[i]);
      add(labels_, row.label);
      brands_.add(row.brand);
      notes_.add(row.note);
      days_.push_back(row.day.value_or(0));
      set_bit(have_days_, days_.size() - 1, row.day.has_value());
    }
  }

  TableView view() const {
    TableView view = {ids_.size(), kPriceAndStars, {columns_[0], columns_[1]}, ids_, labels_.view()};
    ColumnView days(days_);
    days.validity = {have_days_.data()};
    view.fields = kFields;
    view.field_views = {brands_.view(), days, notes_.view()};
    view.id_name = "nr";
    view.label_name = "name";
    return view;
  }

 private:
  struct TextColumn {
    Texts texts;

    TextColumn() { texts.texts.offsets = {0}; }
    void add(const std::optional<std::string>& text) {
      SmallTable::add(texts.texts, text.value_or(""));
      set_bit(texts.validity, texts.texts.offsets.size() - 2, text.has_value());
    }
    TextView view() const { return texts.view(); }
  };
  static void add(Labels& labels, const std::string& text) {
    labels.bytes.insert(labels.bytes.end(), text.begin(), text.end());
    labels.offsets.push_back(labels.bytes.size());
  }
  static void set_bit(Array<std::uint8_t>& bits, std::size_t row, bool is_set) {
    bits.resize(row / 8 + 1);
    if (is_set) bits[row / 8] |= static_cast<std::uint8_t>(1U << row % 8);
  }

  std::array<std::vector<double>, 2> columns_;
  std::vector<std::int64_t> ids_, days_;
  Array<std::uint8_t> have_days_;
  Labels labels_;
  TextColumn brands_, notes_;
};

// Rows of the snapshot: 36 leaves of 16, more than a node has children.
SmallRows built_rows() {
  SmallRows rows;
  for (std::int64_t i = 0; i < 540; ++i) rows[7 + 3 * i] = make_row(7 + 3 * i);
  return rows;
}

// What the log has: one batch of each kind of change.
const std::vector<std::int64_t> kErasedIds = {10, 700, 1300};
SmallRows inserted_rows() {
  return {{5000, make_row(5000)}, {5001, {{-3.5, 11}, "the best", "a new brand", kFirstDay - 40'000, ""}}};
}
SmallRows replaced_rows() {
  return {{7, {{2.25, 8.5}, "replaced", "brand 3", kFirstDay, "new"}},
          {400, {{kMissing, -1}, "", {}, {}, {}}}};
}

SmallRows present_rows() {
  SmallRows rows = built_rows();
  for (const std::int64_t id : kErasedIds) rows.erase(id);
  rows.merge(inserted_rows());
  for (const auto& [id, row] : replaced_rows()) rows[id] = row;
  return rows;
}

void write_small_index() {
  fs::remove_all(kSmallIndex);
  const SmallTable built(built_rows()), inserted(inserted_rows()), replaced(replaced_rows());
  const BuildOptions options = {.num_partitions = 3, .leaf_rows = 16, .value_type = ValueType::float32};
  Index::build(built.view(), options).save(kSmallIndex);
  Index index = Index::open(kSmallIndex, {.writable = true});
  index.insert(inserted.view());
  index.upsert(replaced.view());
  index.erase(kErasedIds);
  index.close();
  fs::remove(kSmallIndex / "LOCK");  // not part of the index
}

FieldValue as_value(const std::optional<std::string>& text) {
  return text ? FieldValue(*text) : FieldValue();
}

void expect_row(const std::optional<Row>& found, const SmallRow& row) {
  ASSERT_TRUE(found);
  for (std::size_t i = 0; i < row.values.size(); ++i)
    EXPECT_TRUE(found->values.at(i) == row.values[i] ||
                (std::isnan(found->values[i]) && std::isnan(row.values[i])));
  EXPECT_EQ(found->label, row.label);
  const FieldValue day = row.day ? FieldValue(*row.day) : FieldValue();
  EXPECT_EQ(found->fields, (std::vector<FieldValue>{as_value(row.brand), day, as_value(row.note)}));
}

// The worst price and stars of the rows that were built.
std::array<double, 2> worst_values() {
  std::array<double, 2> worst = {-HUGE_VAL, HUGE_VAL};
  for (const auto& [id, row] : built_rows()) {
    worst[0] = std::fmax(worst[0], row.values[0]);  // of a NaN and a number the number
    worst[1] = std::fmin(worst[1], row.values[1]);
  }
  return worst;
}

double filled(double value, std::size_t attribute) {
  static const std::array<double, 2> worst = worst_values();
  return std::isnan(value) ? worst[attribute] : value;
}

// Filters, and what they say of a row.
struct SmallFilter {
  Filter filter;
  std::function<bool(const SmallRow&)> passes;
};
std::vector<SmallFilter> small_filters() {
  return {
      {{}, [](const SmallRow&) { return true; }},
      {Filter{{1, 2, 7.5}}, [](const SmallRow& row) { return row.values[1] >= 2 && row.values[1] <= 7.5; }},
      {col("brand") == "brand 3", [](const SmallRow& row) { return row.brand == "brand 3"; }},
      {col("brand").starts_with("a "), [](const SmallRow& row) { return row.brand == "a new brand"; }},
      {col("day") < "2024-11-01" || col("brand").is_null(),
       [](const SmallRow& row) { return (row.day && *row.day < 20'028) || !row.brand; }},
      {col("stars").is_null() && col("day").is_not_null(),
       [](const SmallRow& row) { return std::isnan(row.values[1]) && row.day; }},
  };
}

// Compares every row, its label and fields, and the answers of every engine.
void expect_rows(const Index& index, const SmallRows& rows) {
  EXPECT_EQ(index.verify(), std::vector<std::string>());
  EXPECT_EQ(index.info().num_rows, rows.size());
  for (const auto& [id, row] : rows) {
    SCOPED_TRACE(id);
    expect_row(index.get(id), row);
  }
  for (const std::vector<double>& weights :
       {std::vector<double>{-1, 3}, std::vector<double>{0.1, 0.7}, std::vector<double>{-1, 0}})
    for (const SmallFilter& where : small_filters())
      for (const Missing missing : {Missing::skip, Missing::fill}) {
        SmallRows ranked;
        for (const auto& [id, row] : rows) {
          bool is_skipped = !where.passes(row);
          SmallRow& copy = ranked[id] = row;
          for (std::size_t i = 0; i < weights.size(); ++i) {
            is_skipped |= missing == Missing::skip && weights[i] != 0 && std::isnan(row.values[i]);
            copy.values[i] = filled(row.values[i], i);
          }
          if (is_skipped) ranked.erase(id);
        }
        const SmallTable table(ranked);
        const Query plain = {.weights = weights, .k = 50};
        Query query = plain;
        query.where = where.filter;
        query.missing = missing;
        const std::vector<Answer> expected = Oracle(table.view(), true).search(plain);
        for (const Engine engine : kEngines)
          EXPECT_EQ(difference(index.search(query, {.engine = engine}).hits, expected), "")
              << engine_name(engine) << ", " << where.filter.text();
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
  EXPECT_EQ(index.schema().fields, kFields);
  EXPECT_EQ(index.schema().id_name, "nr");
  expect_rows(Index::open(kSmallIndex, {.loading = Loading::on_touch}), present_rows());
}

// Quantiles are fixed at the build.
TEST(IndexBuiltWithoutRows, IsNotRankedByQuantiles) {
  Index index = Index::build(SmallTable({}).view());
  index.insert(SmallTable(built_rows()).view());
  Query query{.weights = {-1, 3}, .k = 1, .scale = Scale::zscore};
  EXPECT_EQ(index.search(query).hits.size(), 1u);
  query.scale = Scale::rank;
  try {
    static_cast<void>(index.search(query));
    FAIL();
  } catch (const InvalidArgument& error) {
    EXPECT_NE(std::string(error.what()).find("build it again"), std::string::npos) << error.what();
  }
  EXPECT_THROW(static_cast<void>(index.info(Scale::rank)), InvalidArgument);
}

TEST_F(SmallIndex, IsWrittenAndOpenedAgain) {
  const TemporaryDirectory directory;
  const fs::path copy = directory.path() / "index";
  fs::copy(kSmallIndex, copy);
  SmallRows rows = present_rows();
  {
    Index index = Index::open(copy, {.writable = true});
    const SmallRows more = {{9000, make_row(9000)}};
    index.insert(SmallTable(more).view());
    rows.insert(more.begin(), more.end());
  }
  expect_rows(Index::open(copy), rows);
  Index::open(copy, {.writable = true}).checkpoint();
  expect_rows(Index::open(copy), rows);
  // Each part of it on an index of which nothing is in memory.
  const Index index = Index::open(copy, {.loading = Loading::on_touch});
  EXPECT_EQ(index.search({.weights = {-1, 3}, .k = 1}).label(0), "the best");
  expect_row(index.get(9000), rows.at(9000));
  expect_rows(index, rows);
  Index writer = Index::open(copy, {.writable = true, .loading = Loading::on_touch});
  EXPECT_EQ(writer.erase(std::vector<std::int64_t>{9000, 9001}), 1u);
  rows.erase(9000);
  expect_rows(writer, rows);
  writer.checkpoint();
  writer.close();
  expect_rows(Index::open(copy, {.loading = Loading::on_touch}), rows);
}

}  // namespace
}  // namespace culmen::test
