// Rows that are refused: all of them in one error, or listed and left out.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/csv_batches.h"
#include "table/csv_reader.h"
#include "table/json_lines.h"
#include "tests/cases.h"
#include "tests/table/reader_testing.h"

namespace culmen::io {
namespace {

using culmen::testing::column_of;
using culmen::testing::error_of;
using culmen::testing::fields_of;
using Strings = std::vector<std::string>;
using Numbers = std::vector<double>;

struct Listed {
  Strings problems;  // "line:column: problem"
  Strings rows;

  ReadOptions options(ReadOptions options = {}) {
    options.on_rejected_row = [this](const RejectedRow& row) {
      problems.push_back(std::to_string(row.line) + ":" + std::to_string(row.column) + ": " + row.problem);
      rows.push_back(row.text);
    };
    return options;
  }
};

Table read_text(std::string_view text, const ReadOptions& options, const CsvTuning& tuning = {}) {
  MemorySource source(text);
  return read_csv(source, "t.csv", options, ',', tuning);
}

TEST(Rejects, OneErrorNamesAllProblems) {
  const ReadOptions options = {.attributes = {{"a"}}};
  std::string text = "a,b\n1,1\nx,2\n3\n4,\"y\"z\n";
  EXPECT_EQ(error_of<InputError>([&] { read_text(text, options); }),
            "t.csv:3:1: expected a number in column \"a\", found \"x\"\n"
            "t.csv:4:2: expected 2 fields as in the header, found 1\n"
            "t.csv:5:2: text after the closing quote of a field");
  for (int i = 0; i < 9; ++i) text += "w,1\n";
  text += "1,2,3\n";
  const std::string all = error_of<InputError>([&] { read_text(text, options); });
  EXPECT_NE(all.find("\nt.csv:12:1: expected a number in column \"a\", found \"w\"\nand 3 more: 2 times "
                     "expected a number in column \"a\"; 1 time expected 2 fields as in the header"),
            std::string::npos)
      << all;
  for (int i = 0; i < 5'000; ++i) text += "w,1\n";
  const std::string many = error_of<InputError>([&] { read_text(text, options); });
  EXPECT_NE(many.find("\nand 990 more up to line 1002, where reading ended: 989 times "), std::string::npos)
      << many;
}

TEST(Rejects, ListedRowsAreLeftOutAndTheOthersKeepTheirNumbers) {
  Listed listed;
  const Table table =
      read_text("a,b\n1,x\nq,\"two\nlines\"\r\n2,\"y\"\n3\n4,z", listed.options({.attributes = {{"a"}}}));
  EXPECT_EQ(column_of(table, 0), (Numbers{1, 2, 4}));
  EXPECT_EQ(table.dropped_rows, (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(table.num_dropped_rows, 2u);
  EXPECT_EQ(table.num_rejected_rows, 2u);
  EXPECT_EQ(table.location_of_row(2), "t.csv:7");
  EXPECT_EQ(listed.problems, (Strings{"3:1: expected a number in column \"a\", found \"q\"",
                                      "6:2: expected 2 fields as in the header, found 1"}));
  EXPECT_EQ(listed.rows, (Strings{"q,\"two\nlines\"", "3"}));
}

TEST(Rejects, CellsOfRefusedRowsDoNotDecideTypes) {
  Listed listed;
  // The first pass takes b for numbers, and c for dates; a text in a refused row is none of b's values.
  std::string text = "a,b,c\n";
  for (int i = 0; i < 2'000; ++i) text += "1,2,2024-01-01\n";
  const Table table = read_text(text + "1,word\n1,NA,2024-01-02\n", listed.options());
  EXPECT_EQ(table.attributes.size(), 2u);
  EXPECT_EQ(table.num_rows, 2'001u);
  Listed again;
  const Table typed = read_text(text + "x,word,word\n1,3,2024-01-02\n",
                                again.options({.types = {{"a", ColumnType::floating}}}));
  EXPECT_EQ(typed.attributes.size(), 2u);
  EXPECT_EQ(typed.fields[0].format.type, ColumnType::date);
  EXPECT_EQ(again.rows, Strings{"x,word,word"});
  Listed first;
  const Table small =
      read_text("a,b\nx,word\n1,2\n", first.options({.types = {{"a", ColumnType::floating}}}));
  EXPECT_EQ(small.attributes.size(), 2u) << "among the first rows, too";
  EXPECT_EQ(first.rows, Strings{"x,word"});
}

// A column whose type is given, in CSV and as JSON Lines: whatever its other cells are, the good ones are read as without them.
void expect_good_cells_are_read(const GivenType& type, const Strings& good, const Strings& bad) {
  std::mt19937_64 random(43);
  for (int round = 0; round < 30; ++round) {
    std::string all = "v,t\n", rest = all, lines;
    std::size_t num_bad = 0;
    const auto add = [&](const std::string& cell, bool is_good) {
      all += "1," + cell + '\n';
      if (is_good) rest += "1," + cell + '\n';
      lines += R"({"v":1,"t":")" + cell + "\"}\n";
      num_bad += is_good ? 0 : 1;
    };
    const std::uint64_t num_rows = random() % 20;
    const std::uint64_t place = random() % (num_rows + 1);  // of a cell that tells what the others are
    for (std::uint64_t row = 0; row <= num_rows; ++row) {
      const bool is_good = row == place || random() % 2 == 0;
      add(row == place ? good[0] : (is_good ? good : bad)[random() % (is_good ? good : bad).size()], is_good);
    }
    const Table expected = read_text(rest, {.types = {type}});
    Listed listed, listed_lines;
    const Table table = read_text(all, listed.options({.types = {type}}));
    const Table of_lines = read_json_lines(std::make_unique<MemorySource>(lines), "t.jsonl",
                                           listed_lines.options({.types = {type}}), {});
    ASSERT_EQ(fields_of(table), fields_of(expected)) << all;
    EXPECT_EQ(table.fields[0].format, expected.fields[0].format) << all;
    EXPECT_EQ(listed.rows.size(), num_bad) << all;
    ASSERT_EQ(fields_of(of_lines), fields_of(expected)) << lines;
    EXPECT_EQ(of_lines.fields[0].format, expected.fields[0].format) << lines;
    EXPECT_EQ(listed_lines.rows.size(), num_bad) << lines;
  }
}

TEST(Rejects, CellsOfNoDateDoNotHideHowTheOthersAreWritten) {
  const Strings odd = {"soon", "2024-02-30", "1", "true", "31.02.2024", "32/12/2024"};
  const GivenType timestamp = {"t", ColumnType::timestamp}, date = {"t", ColumnType::date};
  expect_good_cells_are_read(timestamp, {"2025-11-28T09:00:00Z", "2024-01-01 00:00:00.25Z"}, odd);
  expect_good_cells_are_read(timestamp, {"2025-11-28T09:00:00+02:00"}, odd);
  expect_good_cells_are_read(timestamp, {"2025-11-28 09:00", "2025-11-28"}, odd);
  expect_good_cells_are_read(timestamp, {"31/12/2024 14:30", "01/02/2024 9:05"}, odd);
  expect_good_cells_are_read(date, {"31/12/2024", "01/02/2024", "2024-02-01"}, odd);
  expect_good_cells_are_read(date, {"12/31/2024", "01/02/2024"}, odd);
  expect_good_cells_are_read(date, {"31.12.2024"}, odd);
}

TEST(Rejects, TheFirstTimestampSaysWhetherThereAreZonesAndMostDatesWhatTheyBeginWith) {
  Listed zones, dates;
  const Table times =
      read_text("v,t\n1,2025-01-01 10:00Z\n2,2025-01-01 10:00\n3,2025-01-01\n4,2025-01-01 11:00Z\n",
                zones.options({.types = {{"t", ColumnType::timestamp}}}));
  EXPECT_EQ(times.fields[0].format.time_zone, "UTC");
  EXPECT_EQ(zones.rows, (Strings{"2,2025-01-01 10:00", "3,2025-01-01"}));
  const Table days = read_text("v,d\n1,12/31/2024\n2,30/12/2024\n3,29/12/2024\n4,01/02/2024\n",
                               dates.options({.types = {{"d", ColumnType::date}}}));
  EXPECT_EQ(days.dialect.dates, DateOrder::day_first);
  EXPECT_EQ(dates.rows, Strings{"1,12/31/2024"});
  EXPECT_EQ(error_of<InputError>([&] {
              read_text("v,d\n1,12/31/2024\n2,30/12/2024\n", {.types = {{"d", ColumnType::date}}});
            }).substr(0, 10),
            "t.csv:2:2:")
      << "as many of both";
}

// A row that cannot be split does not end the search for what the others tell.
TEST(Rejects, ARowWithAStrayQuoteDoesNotHideHowTheOthersAreWritten) {
  Listed listed;
  const Table table = read_text("a;d\n1;\"x\"y\n2,5;31/12/2024\n", listed.options());
  EXPECT_EQ(column_of(table, 0), Numbers{2.5});
  EXPECT_EQ(table.fields[0].format.type, ColumnType::date);
  EXPECT_EQ(listed.rows, Strings{"1;\"x\"y"});
}

TEST(Rejects, CellsOfRefusedRowsDoNotDecideUnits) {
  const std::string text = "a,b\n1,\"p\"q\n6,\"open\n7\xE2\x82\xAC,x\n";
  for (const std::size_t bytes : {1u, 8u, 1000u}) {
    Listed listed;
    const Table table = read_text(text, listed.options({.attributes = {{"a"}}}),
                                  {.window_bytes = bytes, .chunk_bytes = bytes});
    EXPECT_EQ(listed.rows, (Strings{"1,\"p\"q", "6,\"open"})) << bytes;
    EXPECT_EQ(column_of(table, 0), Numbers{7});
  }
}

// No rows are left, and their refused cells say that an attribute has texts.
TEST(Rejects, AnAttributeWhoseCellsAreAllRefusedIsNotOfTexts) {
  Listed listed;
  const Table table =
      read_text("a,b\n1225-06-01 12:30:00.123456789,2\nx,3\n", listed.options({.attributes = {{"a"}}}));
  EXPECT_EQ(listed.rows.size(), 2u);
  EXPECT_EQ(table.attributes[0].format.type, ColumnType::timestamp);
}

// What is read of a text, as a whole or in batches: types, and cells without the numbers of their rows.
struct Read {
  std::string types, cells, error;
};

std::string text_of(const std::string& name, const ColumnFormat& format) {
  return name + ' ' + std::to_string(static_cast<int>(format.type)) + ' ' +
         std::to_string(static_cast<int>(format.unit)) + format.time_zone + '\n';
}

void add_rows(Read& read, const TableView& rows) {
  read.types.clear();
  for (const Attribute& attribute : rows.attributes)
    read.types += text_of("a " + attribute.name, attribute.format);
  for (const Field& field : rows.fields) read.types += text_of("f " + field.name, field.format);
  read.types += std::to_string(static_cast<int>(rows.id_type));
  const auto add_value = [&](const ColumnView& column, std::size_t row) {
    const double value = testing::value_of(column, row);
    read.cells += column.validity.is_missing(row) || std::isnan(value) ? "-" : std::to_string(value);
  };
  for (std::size_t row = 0; row < rows.num_rows; ++row) {
    if (!rows.ids.empty()) read.cells += std::to_string(rows.ids[row]);
    if (!rows.labels.empty()) read.cells.append(rows.labels[row]);
    for (const ColumnView& column : rows.columns) add_value(column, row);
    for (const FieldView& field : rows.field_views) {
      read.cells += ',';
      if (const auto* const column = std::get_if<ColumnView>(&field)) {
        add_value(*column, row);
      } else {
        const auto& texts = std::get<TextView>(field);
        read.cells.append(texts.validity.is_missing(row) ? "-" : texts.texts[row]);
      }
    }
    read.cells += '\n';
  }
}

Read read_rows(std::string_view text, const ReadOptions& options, bool in_batches) {
  Read read;
  try {
    if (!in_batches) {
      add_rows(read, read_text(text, options).view());
      return read;
    }
    MemorySource source(text);
    read_csv_in_batches(source, "t.csv", options, ',', {.batch_rows = 3},
                        [&](const TableBatch& batch) { add_rows(read, batch.rows); });
  } catch (const Error& error) {
    read.error = error.what();
  }
  return read;
}

// A text without the rows that are listed.
std::string without(std::string text, const Strings& rows) {
  for (const std::string& row : rows) text.erase(text.find("\n" + row + "\n"), row.size() + 1);
  return text;
}

// Reads a text as without the rows that are listed. Returns these.
Strings expect_read_without_refused(const std::string& text, const ReadOptions& options, bool in_batches) {
  Listed listed, rest;
  const Read all = read_rows(text, listed.options(options), in_batches);
  const Read other = read_rows(without(text, listed.rows), rest.options(options), in_batches);
  const std::string what =
      text + "\nwithout:\n" + without(text, listed.rows) + (in_batches ? "in batches" : "as a whole");
  EXPECT_EQ(all.error.empty(), other.error.empty()) << all.error << '\n' << other.error << '\n' << what;
  if (!other.cells.empty()) {  // else there may be no batch
    EXPECT_EQ(all.types, other.types) << what;
  }
  EXPECT_EQ(all.cells, other.cells) << what;
  EXPECT_EQ(rest.rows, Strings{}) << what;
  return listed.rows;
}

TEST(Rejects, NothingInARefusedRowDecidesHowTheOthersAreRead) {
  struct Case {
    const char* what;
    std::string text;
    ReadOptions options;
    Strings refused;
  };
  const ReadOptions with_ids = {.attributes = {{"a"}}, .id_column = "id"};
  ReadOptions numbered = with_ids, dates = with_ids, reject = with_ids;
  numbered.id_type = IdType::int64;
  dates.types = {{"d", ColumnType::date}};
  reject.nulls = NullPolicy::reject;
  const Case cases[] = {
      {"a unit", "id,a\nx,12 %\n1,5\n2,6\n", with_ids, {"x,12 %"}},
      {"another unit", "a,b\n5 $,1\n12 %,word\n6 $,2\n", {.attributes = {{"a"}}}, {"12 %,word"}},
      {"the decimal mark", "id;a\nx;1,5\n1;2.5\n", numbered, {"x;1,5"}},
      {"the decimal mark of another column", "a;b\nx;1,5\n1;2.5\n", {.attributes = {{"a"}}}, {"x;1,5"}},
      {"thousands", "id;a\nx;1 234 567\n1;12 000\n2;5\n", with_ids, {"x;1 234 567", "1;12 000"}},
      {"dates", "id,a,d\nx,1,31/12/2024\n1,2,12/30/2024\n2,3,01/02/2024\n", dates, {"x,1,31/12/2024"}},
      {"the type of ids", "id,a\nabc,x\ndef,x\n7,1\n", with_ids, {"abc,x", "def,x"}},
      {"a type", "a,b\n1,2\n2024-01-01,word\n2,3\n", {.attributes = {{"a"}}}, {"2024-01-01,word"}},
      {"a type, by a value",
       "v,t,c\n1,soon,word\n2,true,3\n",
       {.types = {{"t", ColumnType::boolean}}},
       {"1,soon,word"}},
      {"whether there are numbers",
       "t,c\nsoon,word\ntrue,3\n",
       {.types = {{"t", ColumnType::boolean}}},
       {"soon,word"}},
      {"a type, by what is missing", "id,a,b\n1,,word\n2,1,3\n", reject, {"1,,word"}},
      {"missing values", "id,a,b\nx,1,NA\n1,2,\n", with_ids, {"x,1,NA"}},
  };
  for (const Case& c : cases)
    for (const bool in_batches : {false, true}) {
      SCOPED_TRACE(std::string(c.what) + (in_batches ? " in batches" : " as a whole"));
      EXPECT_EQ(expect_read_without_refused(c.text, c.options, in_batches), c.refused);
    }
}

// The same of tables of any cells, in batches: types are those of the first rows.
TEST(Rejects, ATextIsReadAsWithoutItsRefusedRows) {
  const Strings cells = {"1",
                         "2.5",
                         "12 %",
                         "5 $",
                         "x",
                         "word",
                         "",
                         "NA",
                         "007",
                         "true",
                         "-inf",
                         "2024-01-01",
                         "31/12/2024",
                         "01/02/2024",
                         "1e3",
                         "9007199254740993",
                         "1'000",
                         "2024-01-01 10:00Z",
                         "2024-01-01 10:00",
                         "\xC3"};
  std::mt19937_64 random(53);
  const ReadOptions choices[] = {
      {.attributes = {{"a"}}},
      {.attributes = {{"a"}, {"b"}}, .id_column = "id"},
      {.id_column = "id", .label_column = "c", .types = {{"b", ColumnType::integer}}},
      {.attributes = {{"a"}}, .id_column = "id", .types = {{"b", ColumnType::timestamp}}},
      {.types = {{"a", ColumnType::boolean}}, .nulls = NullPolicy::reject}};
  for (int round = 0; round < (test::kSanitized ? 300 : 3'000); ++round) {
    ReadOptions options = choices[random() % std::size(choices)];
    options.dialect = {.delimiter = ',', .has_header = true};
    std::string text = "id,a,b,c\n";
    for (std::uint64_t row = 0, rows = random() % 12; row < rows; ++row) {
      text += random() % 4 == 0 ? "y" : std::to_string(row);
      for (int i = 0; i < 3; ++i) text += "," + cells[random() % (random() % 2 == 0 ? 3 : cells.size())];
      text += '\n';
    }
    expect_read_without_refused(text, options, true);
    if (HasFailure()) return;
  }
}

TEST(Rejects, AreTheSameHoweverTheTextIsCut) {
  constexpr std::string_view kRows[] = {"1,x,2\n",
                                        "2,\"a,b\",3\n",
                                        "3,\"c\nd\",4\n",
                                        "x,y,5\n",
                                        "6\n",
                                        "7,p\"q,8\n",
                                        "8,\"r\"s,9\n",
                                        "\n",
                                        "9,a,b,c\n",
                                        "9,\"\",\n",
                                        "10,\"z\nw\",v\n",
                                        "11,\"open,2\n",
                                        "12,\"q\"\"q\",1\n"};
  std::mt19937_64 random(41);
  for (int round = 0; round < (test::kSanitized ? 100 : 500); ++round) {
    std::string text = "a,b,c\n1,first,1\n";
    for (std::uint64_t i = 0, rows = random() % 40; i < rows; ++i) text += kRows[random() % std::size(kRows)];
    const ReadOptions chosen = {.attributes = {{"a"}, {"c"}}};
    Listed whole;
    const Table table = read_text(text, whole.options(chosen));
    EXPECT_EQ(table.num_rejected_rows, whole.rows.size());
    for (const std::size_t bytes : {1, 7, 40}) {
      Listed cut;
      const Table same =
          read_text(text, cut.options(chosen), {.window_bytes = 3 * bytes, .chunk_bytes = bytes});
      EXPECT_EQ(cut.problems, whole.problems) << text;
      EXPECT_EQ(cut.rows, whole.rows) << text;
      EXPECT_EQ(same.dropped_rows, table.dropped_rows) << text;
      ASSERT_EQ(same.num_rows, table.num_rows) << text;
      for (std::size_t row = 0; row < table.num_rows; ++row)
        EXPECT_EQ(same.location_of_row(row), table.location_of_row(row)) << text;
    }
    // The rows that are left are those of the file without the others.
    const std::string rest = without(text, whole.rows);
    EXPECT_EQ(column_of(read_text(rest, chosen), 0), column_of(table, 0)) << text << "\nwithout:\n" << rest;
  }
}

TEST(Rejects, OfJsonLinesAreLines) {
  const std::string text = "{\"a\":1}\n{\"a\":\"x\"}\n[1]\n{\"a\":2\n\n{\"a\":3}\n{\"z\":\"\\\"\"}\n";
  Listed listed;
  const Table table = read_json_lines(std::make_unique<MemorySource>(text), "t.jsonl",
                                      listed.options({.attributes = {{"a"}}, .columns = Strings{}}), {});
  EXPECT_EQ(column_of(table, 0)[1], 3);
  EXPECT_EQ(table.num_rows, 3u);
  ASSERT_EQ(listed.rows.size(), 3u);
  EXPECT_EQ(listed.rows, (Strings{"{\"a\":\"x\"}", "[1]", "{\"a\":2"}));
  EXPECT_EQ(listed.problems[1], "3:0: expected an object, found \"[1]\"");
  EXPECT_EQ(table.location_of_row(1), "t.jsonl:6");
}

// Names are those of the lines that are read.
TEST(Rejects, OfJsonLinesMayBeTheFirstOnes) {
  for (const std::string first :
       {"oops", "[1]", "{\"z\":1,\"y\"", "{\"z\":01}", "{\"z\":1}}", "{\"z\":1} {\"a\":2}"}) {
    const std::string text = first + "\n\n" + first + "\n{\"a\":1}\n{\"a\":2,\"b\":\"x\"}\n";
    Listed listed;
    const Table table =
        read_json_lines(std::make_unique<MemorySource>(text), "t.jsonl", listed.options(), {});
    EXPECT_EQ(column_of(table, 0), (Numbers{1, 2})) << first;
    EXPECT_EQ(table.attributes.size(), 1u) << first;
    EXPECT_EQ(listed.rows, (Strings{first, first}));
    EXPECT_EQ(table.location_of_row(0), "t.jsonl:4");
    EXPECT_TRUE(error_of<InputError>([&] {
                  read_json_lines(std::make_unique<MemorySource>(text), "t.jsonl", {}, {});
                }).starts_with("t.jsonl:1: "));
  }
  Listed listed;
  EXPECT_EQ(error_of<InputError>([&] {
              read_json_lines(std::make_unique<MemorySource>("\noops\n[1]\n"), "t.jsonl", listed.options(),
                              {});
            }),
            error_of<InputError>(
                [&] { read_json_lines(std::make_unique<MemorySource>("\noops\n"), "t.jsonl", {}, {}); }));
}

// What no cell says is left out: null, and a name that the object lacks. Lists are texts in any case.
TEST(Rejects, OfJsonLinesAreObjectsThatCanBeMended) {
  const std::string text = R"({"a":1,"b":"","c":"t","d":true,"e":1.50,"f":null}
{"e":-2e3,"c":"q\"\u00e9\n","a":"x","b":[1, "2"]}
{"d":false,"a":"\u0001,"}
)";
  Listed listed;
  read_json_lines(std::make_unique<MemorySource>(text), "t.jsonl", listed.options({.attributes = {{"a"}}}),
                  {});
  EXPECT_EQ(listed.rows,
            (Strings{R"({"a":"x","b":"[1, \"2\"]","c":"q\"é\n","e":-2e3})", R"({"a":"\u0001,","d":false})"}));
}

TEST(Rejects, OfBatchesCountAsRowsToSkip) {
  const std::string text = "a,b\n1,1\nx,2\n3,3\n\"q\"q,4\n5,5\n6,6\n";
  for (std::uint64_t skip = 0; skip <= 6; ++skip) {
    Listed listed;
    MemorySource source(text);
    Numbers values, numbers;
    const BatchTotals totals = read_csv_in_batches(
        source, "t.csv", listed.options({.attributes = {{"a"}}}), ',', {.batch_rows = 2, .skip_rows = skip},
        [&](const TableBatch& batch) {
          for (std::size_t row = 0; row < batch.rows.num_rows; ++row) {
            numbers.push_back(
                static_cast<double>(batch.first_row + row_number(row, batch.rows.dropped_rows)));
            values.push_back(numbers.back() + 1);
          }
        });
    EXPECT_EQ(totals.num_rejected_rows, listed.rows.size());
    Numbers expected;
    for (const double number : {0, 2, 4, 5})
      if (number >= static_cast<double>(skip)) expected.push_back(number);
    EXPECT_EQ(numbers, expected) << skip;
    EXPECT_EQ(listed.rows.size(), (skip <= 1 ? 1u : 0u) + (skip <= 3 ? 1u : 0u)) << skip;
  }
}

// A run that ends early, and one that goes on behind its last batch, list what one run does.
TEST(Rejects, OfBatchesAreListedWithTheRowsAroundThem) {
  std::mt19937_64 random(47);
  for (int round = 0; round < 300; ++round) {
    std::string text = "id,a\n";
    for (std::uint64_t i = 0, rows = random() % 30; i < rows; ++i)
      text += random() % 3 == 0 ? "x,1\n" : std::to_string(i) + ",1\n";
    const std::size_t bytes = 1 + random() % 40;
    const std::uint64_t batch_rows = 1 + random() % 5, last_batch = random() % 5;
    const auto read = [&](Listed& listed, std::uint64_t skip, std::uint64_t num_batches) {
      MemorySource source(text);
      std::uint64_t num_input_rows = skip, count = 0;
      try {
        read_csv_in_batches(source, "t.csv", listed.options({.attributes = {{"a"}}, .id_column = "id"}), ',',
                            {.batch_rows = batch_rows, .skip_rows = skip},
                            [&](const TableBatch& batch) {
                              if (count++ == num_batches) throw IoError("full");
                              num_input_rows = batch.first_row + batch.num_input_rows;
                            },
                            {.window_bytes = bytes, .chunk_bytes = bytes});
      } catch (const IoError&) {
      }
      return num_input_rows;
    };
    Listed whole, parts;
    read(whole, 0, 1'000);
    read(parts, read(parts, 0, last_batch), 1'000);
    ASSERT_EQ(parts.problems, whole.problems) << text << last_batch << " batches of " << batch_rows;
  }
}

TEST(Rejects, DroppingNullsIsAdvisedIfItHelpsWithAllOfThem) {
  const auto remedy = [](std::string_view text) {
    try {
      read_text(text, {.id_column = "id", .nulls = NullPolicy::reject});
    } catch (const InputError& error) {
      return error.remedy();
    }
    return InputError::Remedy::none;
  };
  EXPECT_EQ(remedy("id,a\n,1\n,2\n3,3\n"), InputError::Remedy::drop_nulls);
  EXPECT_EQ(remedy("id,a\n,1\n4.3,2\n3,3\n"), InputError::Remedy::list_rejected);
}

}  // namespace
}  // namespace culmen::io
