// Columns that are changed alone, and one of the rows with the same id: one index and shards against a model.
#include "culmen/update.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"

namespace culmen {
namespace {

constexpr std::array<const char*, 5> kColumns = {"name", "a", "b", "city", "n"};  // behind the id
using Cells = std::array<std::string, 5>;

std::string random_cell(std::size_t column, std::mt19937_64& random) {
  const std::string number = std::to_string(random() % 100);
  if (column == 0) return "row " + number;
  if (column > 1 && random() % 4 == 0) return "";
  if (column == 2) return number + ".25";
  return column == 3 ? "city " + number : number;
}

Table table_of(const std::string& csv) {
  return parse_csv(csv, "t.csv",
                   {.attributes = {{"a", Preference::low}, {"b"}},
                    .id_column = "id",
                    .label_column = "name",
                    .types = {{"city", ColumnType::text}, {"n", ColumnType::integer}}});
}

Cells cells_of(const Row& row) {
  const auto number = [](double value) {
    if (std::isnan(value)) return std::string();
    std::string text = std::to_string(value);
    text.erase(text.find_last_not_of('0') + 1);
    return text.ends_with('.') ? text.substr(0, text.size() - 1) : text;
  };
  const auto* const city = std::get_if<std::string>(&row.fields[0]);
  const auto* const n = std::get_if<std::int64_t>(&row.fields[1]);
  return {row.label, number(row.values[0]), number(row.values[1]), city == nullptr ? "" : *city,
          n == nullptr ? "" : std::to_string(*n)};
}

std::filesystem::path folder() {
  return std::filesystem::temp_directory_path() / ("culmen-update-" + std::to_string(::getpid()));
}

using Model = std::map<std::int64_t, Cells>;

std::string csv_of(const Model& model) {
  std::string csv = "id,name,a,b,city,n\n";
  for (const auto& [id, cells] : model) {
    csv += std::to_string(id);
    for (const std::string& cell : cells) csv += "," + cell;
    csv += '\n';
  }
  return csv;
}

// Changes random columns of random rows, of the model too.
template <typename AnyIndex>
void change(AnyIndex& index, Model& model, std::mt19937_64& random) {
  const Schema schema = index.schema();
  std::vector<std::size_t> columns;
  for (std::size_t column = 0; column < kColumns.size(); ++column)
    if (random() % 2 == 0) columns.push_back(column);
  std::string csv = "id";
  bool has_value = false;
  for (const std::size_t column : columns) {
    csv += std::string(",") + kColumns[column];
    has_value |= column > 0;
  }
  if (!has_value) return;
  csv += '\n';
  for (std::size_t i = 0; i < 1 + random() % 20; ++i) {
    const auto id = static_cast<std::int64_t>(random() % model.size());
    csv += std::to_string(id);
    for (const std::size_t column : columns) {
      model[id][column] = random_cell(column, random);
      csv += "," + model[id][column];
    }
    csv += '\n';
  }
  ReadOptions options = {.schema = schema, .is_partial = true, .unique_ids = false};
  if (columns.front() != 0) options.schema->has_labels = false;
  const Table table = parse_csv(csv, "u.csv", options);
  const WriteResult result = update(index, table.view());
  EXPECT_EQ(result.inserted, 0u);
}

template <typename AnyIndex>
void expect_equal(const AnyIndex& index, const Model& model) {
  for (const auto& [id, cells] : model) {
    const std::optional<Row> row = index.get(id);
    ASSERT_TRUE(row) << id;
    EXPECT_EQ(cells_of(*row), cells) << id;
  }
}

TEST(Update, ChangesTheColumnsThatAreGivenAndNoOthers) {
  std::mt19937_64 random(7);
  Model model;
  for (std::int64_t id = 0; id < 300; ++id)
    for (std::size_t column = 0; column < kColumns.size(); ++column)
      model[id][column] = random_cell(column, random);
  const Table table = table_of(csv_of(model));
  Index index = Index::build(table.view());
  ShardedIndex::build(table.view(), folder(), {.num_shards = 3});
  ShardedIndex shards = ShardedIndex::open(folder(), {.writable = true});
  Model of_shards = model;
  for (int round = 0; round < 40; ++round) {
    change(index, model, random);
    change(shards, of_shards, random);
  }
  expect_equal(index, model);
  expect_equal(shards, of_shards);
  EXPECT_TRUE(index.verify(true).empty());
  shards.close();
  std::filesystem::remove_all(folder());
}

TEST(Update, RefusesRowsAndColumnsThatAreNotThere) {
  Index index = Index::build(table_of("id,name,a,b,city,n\n1,x,1,2,Rome,3\n").view());
  const std::array<double, 2> values = {5, 6};
  const std::array<std::int64_t, 2> ids = {1, 9};
  TableView table = {
      .num_rows = 2, .attributes = {{"b"}}, .columns = {ColumnView(values)}, .ids = ids, .labels = {}};
  try {
    update(index, table);
    FAIL();
  } catch (const RowError& error) {
    EXPECT_EQ(error.row(), 1u);
    EXPECT_EQ(error.problem(), "id 9 is not in the index; upsert inserts rows");
  }
  table.ids = {};
  EXPECT_THROW(update(index, table), InvalidArgument);
  table.ids = ids;
  table.attributes = {{"z"}};
  EXPECT_THROW(update(index, table), InvalidArgument);
  EXPECT_EQ(index.get(1)->values[1], 2);
}

TEST(Duplicates, LeaveOneRowOfEachId) {
  const std::array<std::int64_t, 6> ids = {4, 1, 4, 2, 1, 4};
  const std::array<double, 6> values = {0, 1, 2, 3, 4, 5};
  const TableView table = {
      .num_rows = 6, .attributes = {{"a"}}, .columns = {ColumnView(values)}, .ids = ids, .labels = {}};
  EXPECT_THROW((void)Index::build(table), InputError);
  for (const bool first : {true, false}) {
    const BuildOptions options = {.duplicates = first ? Duplicates::first : Duplicates::last};
    const Index index = Index::build(table, options);
    EXPECT_EQ(index.info().num_rows, 3u);
    ShardedIndex::build(table, folder(), {.num_shards = 2, .build = options});
    const ShardedIndex shards = ShardedIndex::open(folder());
    for (const auto& [id, value] :
         std::map<std::int64_t, double>{{4, first ? 0 : 5}, {1, first ? 1 : 4}, {2, 3}}) {
      EXPECT_EQ(index.get(id)->values[0], value);
      EXPECT_EQ(shards.get(id)->values[0], value);
    }
    std::filesystem::remove_all(folder());
  }
}

// The rows of one insert, some with the ids of others.
struct RepeatedRows {
  std::vector<std::int64_t> ids;
  std::vector<double> values;

  RepeatedRows(std::int64_t first_id, std::mt19937_64& random) {
    for (std::size_t row = 0; row < 1 + random() % 30; ++row) {
      ids.push_back(first_id + static_cast<std::int64_t>(random() % 20));
      values.push_back(static_cast<double>(random() % 1000));
    }
  }
  TableView view() const {
    return {.num_rows = ids.size(),
            .attributes = {{"a"}},
            .columns = {ColumnView(values)},
            .ids = ids,
            .labels = {}};
  }
};

template <typename AnyIndex>
void insert_repeated_rows(AnyIndex& index) {
  std::mt19937_64 random(11);
  std::map<std::int64_t, double> model = {{-5, 7}};
  for (int round = 0; round < 60; ++round) {
    const RepeatedRows one(40 * round, random), other(40 * round, random);  // a batch of two inserts
    const Duplicates duplicates = round % 2 == 0 ? Duplicates::first : Duplicates::last;
    const std::size_t num_before = model.size();
    for (const RepeatedRows* rows : {&one, &other})
      for (std::size_t row = 0; row < rows->ids.size(); ++row)
        if (duplicates == Duplicates::last || !model.contains(rows->ids[row]))
          model[rows->ids[row]] = rows->values[row];
    const WriteBatch batch = WriteBatch().insert(one.view()).insert(other.view());
    if (one.ids.size() > 20) {
      EXPECT_THROW(index.write(batch), RowError);
    }
    const WriteResult result = index.write(batch, {.duplicates = duplicates});
    EXPECT_EQ(result.inserted, model.size() - num_before);
    EXPECT_EQ(result.replaced, 0u);
    EXPECT_EQ(index.info().num_rows, model.size());
  }
  for (const auto& [id, value] : model) EXPECT_EQ(index.get(id)->values[0], value) << id;
}

TEST(Duplicates, OfOneBatchOfInsertsLeaveOneRowOfEachId) {
  const std::array<std::int64_t, 1> ids = {-5};
  const std::array<double, 1> values = {7};
  const TableView table = {
      .num_rows = 1, .attributes = {{"a"}}, .columns = {ColumnView(values)}, .ids = ids, .labels = {}};
  Index index = Index::build(table, {.value_type = ValueType::float64});
  insert_repeated_rows(index);
  EXPECT_TRUE(index.verify(true).empty());
  ShardedIndex::build(table, folder(), {.num_shards = 3, .build = {.value_type = ValueType::float64}});
  ShardedIndex shards = ShardedIndex::open(folder(), {.writable = true});
  insert_repeated_rows(shards);
  shards.close();
  std::filesystem::remove_all(folder());
}

TEST(Duplicates, OfWhatIsInTheIndexAreErrors) {
  const std::array<std::int64_t, 3> ids = {1, 2, 2};
  const std::array<double, 3> values = {0, 1, 2};
  const TableView table = {
      .num_rows = 3, .attributes = {{"a"}}, .columns = {ColumnView(values)}, .ids = ids, .labels = {}};
  Index index = Index::build(table, {.duplicates = Duplicates::last});
  for (const Duplicates duplicates : {Duplicates::error, Duplicates::first, Duplicates::last}) {
    try {
      index.insert(table, {.duplicates = duplicates});
      FAIL();
    } catch (const RowError& error) {
      EXPECT_EQ(error.row(), 0u);
      EXPECT_EQ(error.problem(), "id 1 is already in the index; upsert replaces rows");
    }
  }
  EXPECT_EQ(index.get(2)->values[0], 2);
}

TEST(Duplicates, ErrorsNameTheRowsThatWereGiven) {
  const std::array<std::int64_t, 4> ids = {1, 1, 2, 3};
  const std::array<double, 4> values = {0, 1, 2, HUGE_VAL};
  const TableView table = {
      .num_rows = 4, .attributes = {{"a"}}, .columns = {ColumnView(values)}, .ids = ids, .labels = {}};
  try {
    static_cast<void>(Index::build(table, {.duplicates = Duplicates::first}));
    FAIL();
  } catch (const RowError& error) {
    EXPECT_EQ(error.row(), 3u);
  }
}

}  // namespace
}  // namespace culmen
