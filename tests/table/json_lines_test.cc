// JSON Lines: what each kind of value becomes, and what is refused, with its line.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/csv_batches.h"
#include "table/csv_reader.h"
#include "table/json_lines.h"
#include "tests/table/reader_testing.h"

namespace culmen::io {
namespace {

using culmen::testing::column_of;
using culmen::testing::error_of;
using culmen::testing::fields_of;
using culmen::testing::names_of;
using Strings = std::vector<std::string>;
using Numbers = std::vector<double>;

Table read_lines(std::string_view text, const ReadOptions& options = {}, const CsvTuning& tuning = {}) {
  return read_json_lines(std::make_unique<MemorySource>(text), "t.jsonl", options, tuning);
}

std::string fault_in(std::string_view text, const ReadOptions& options = {}) {
  return error_of<InputError>([&] { read_lines(text, options); });
}

TEST(JsonLines, NamesAreColumnsAndValuesHaveTheirTypes) {
  const Table table = read_lines(
      R"({"price": 80.5, "stars": 4, "name": "Ritz \"R\"", "open": true, "day": "2025-06-01", "zip": "00501"}
{"stars": 5, "price": 1e2, "name": "a,b\nc", "open": false, "day": "2025-06-02", "zip": "10115", "note": null}

{"price": null, "stars": -7, "name": "", "open": null}
)");
  EXPECT_EQ(names_of(table), (Strings{"price", "stars"}));
  EXPECT_EQ(column_of(table, 1), (Numbers{4, 5, -7}));
  EXPECT_EQ(column_of(table, 0)[1], 100);
  EXPECT_TRUE(std::isnan(column_of(table, 0)[2]));
  EXPECT_EQ(table.attributes[1].format.type, ColumnType::integer);
  ASSERT_EQ(table.fields.size(), 5u);
  EXPECT_EQ(table.fields[1].format.type, ColumnType::boolean);
  EXPECT_EQ(table.fields[2].format.type, ColumnType::date);
  EXPECT_EQ(fields_of(table)[0], "'Ritz \"R\"'|1|20240|'00501'|-");
  EXPECT_EQ(fields_of(table)[1], "'a,b\nc'|0|20241|'10115'|-");
  EXPECT_EQ(fields_of(table)[2], "''|-|-|-|-");
  EXPECT_EQ(table.location_of_row(2), "t.jsonl:4");
}

TEST(JsonLines, DatesAreFoundAsInCsv) {
  const std::string open = "{\"a\":1,\"d\":\"01/02/2024\"}\n";
  EXPECT_EQ(fields_of(read_lines(open + R"({"a":2,"d":"31/12/2024"})")), (Strings{"19754", "20088"}));
  EXPECT_EQ(fields_of(read_lines(open + R"({"a":2,"d":"12/31/2024"})")), (Strings{"19724", "20088"}));
  EXPECT_EQ(fault_in(open),
            "t.jsonl:1:2: no date says whether \"01/02/2024\" begins with the day or the month");
  EXPECT_EQ(fields_of(read_lines(open, {.types = {{"d", ColumnType::text}}})), Strings{"'01/02/2024'"});
  EXPECT_EQ(fields_of(read_lines("{\"a\":1,\"d\":\"01/02/2024\"}\n{\"d\":\"soon\"}\n")),
            (Strings{"'01/02/2024'", "'soon'"}));
}

TEST(JsonLines, StringsAreTextsWhateverTheyHold) {
  const Table table = read_lines("{\"a\":1,\"b\":\"12\",\"c\":\"NA\"}\n{\"a\":2,\"b\":\"13\",\"c\":\"x\"}");
  EXPECT_EQ(names_of(table), (Strings{"a"}));
  EXPECT_EQ(fields_of(table), (Strings{"'12'|'NA'", "'13'|'x'"}));
  EXPECT_EQ(fault_in("{\"a\":1}\n{\"a\":\"2\"}\n", {.attributes = {{"a"}}}),
            "t.jsonl:2:1: expected a number in column \"a\", found \"2\"");
}

TEST(JsonLines, ListsAndObjectsAreTheirText) {
  EXPECT_EQ(fields_of(read_lines("{\"a\":1,\"l\":[1, \"x\"]}\n{\"l\":{\"k\":[]},\"a\":2}\n")),
            (Strings{"'[1, \"x\"]'", "'{\"k\":[]}'"}));
}

// Also where there is one name, whose rows are shorter than a blank line.
TEST(JsonLines, BlankLinesAreNoRowsAndEmptyObjectsAre) {
  for (const std::string& rest : {std::string(), std::string(", \"b\": 1")}) {
    const std::string text =
        "\n{\"a\": 1" + rest + "}\n\n \t\r\n{}\n{\"a\": null}\n{\"a\": 4" + rest + "}\n\n";
    const Table kept = read_lines(text);
    ASSERT_EQ(kept.num_rows, 4u);
    EXPECT_EQ(column_of(kept, 0)[3], 4);
    EXPECT_TRUE(std::isnan(column_of(kept, 0)[1]));
    EXPECT_EQ(kept.location_of_row(3), "t.jsonl:7");
    const Table dropped = read_lines(text, {.nulls = NullPolicy::drop});
    EXPECT_EQ(column_of(dropped, 0), (Numbers{1, 4}));
    EXPECT_EQ(dropped.dropped_rows, (std::vector<std::uint64_t>{1, 2}));
  }
  const Table texts = read_lines("{\"n\": 1, \"t\": \" \"}\n \n{\"n\": 2, \"t\": null}\n");
  EXPECT_EQ(fields_of(texts), (Strings{"' '", "-"}));
}

TEST(JsonLines, AByteOrderMarkIsSkipped) {
  for (const std::size_t bytes : {1u, 1000u}) {
    const Table table =
        read_lines("\xEF\xBB\xBF{\"a\": 1}\n{\"a\": 2}\n", {}, {.window_bytes = bytes, .chunk_bytes = bytes});
    EXPECT_EQ(names_of(table), (Strings{"a"}));
    EXPECT_EQ(column_of(table, 0), (Numbers{1, 2}));
  }
}

TEST(JsonLines, IdsAndLabelsAreColumns) {
  const Table table = read_lines(
      "{\"id\":7,\"n\":\"\xC3\xBC\",\"a\":1}\n{\"a\":2,\"n\":\"\\u00e9\",\"id\":-9007199254740993}\n",
      {.id_column = "id", .label_column = "n"});
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{7, -9007199254740993}));
  EXPECT_EQ(culmen::testing::labels_of(table), (Strings{"\xC3\xBC", "\xC3\xA9"}));
}

TEST(JsonLines, WhatIsNoObjectIsRefusedWithItsLine) {
  EXPECT_EQ(fault_in(""), "t.jsonl:1: expected an object with names and values, found none");
  EXPECT_EQ(fault_in("\n \n"), "t.jsonl:1: expected an object with names and values, found none");
  EXPECT_EQ(fault_in("{\"a\":1}\n[1]\n"), "t.jsonl:2: expected an object, found \"[1]\"");
  EXPECT_NE(fault_in("{\"a\":1}\n{\"a\":1\n").find("t.jsonl:2: expected an object of JSON: "),
            std::string::npos);
  EXPECT_EQ(fault_in("{\"a\":1}\n{\"a\":nul}\n"), "t.jsonl:2: a word that is none of JSON's");
  for (const char* number : {"01", "-01", "00", "1.", "-", "1e", "1e+", "1.e5", "1-2", "1.2.3", "--1"})
    EXPECT_NE(fault_in("{\"a\":1}\n{\"a\":" + std::string(number) + "}\n").find("t.jsonl:2: "),
              std::string::npos)
        << number;
  for (const char* number : {"0", "-0", "0.5", "10", "1e5", "1E-5", "-1.25e+2", "0e0"})
    EXPECT_EQ(fault_in("{\"a\":1}\n{\"a\":" + std::string(number) + "}\n"), "no exception") << number;
  EXPECT_EQ(fault_in("{}\n{}"), "t.jsonl:1: expected an object with names and values, found none");
  EXPECT_NE(fault_in("{\"a\":1}\n\n{\"a\" 1}\n").find("t.jsonl:3: "), std::string::npos);
  EXPECT_NE(fault_in("{\"a\":tru}\n").find("t.jsonl:1: "), std::string::npos);
  EXPECT_NE(fault_in("{\"a\":\"\xFF\"}\n").find("t.jsonl:1: "), std::string::npos);
  EXPECT_NE(fault_in("{\"a\":1 2}\n").find("t.jsonl:1: expected an object of JSON: "), std::string::npos);
  EXPECT_EQ(fault_in("{\"a\":1} {\"a\":2}\n"), "t.jsonl:1: text after the object");
  EXPECT_EQ(fault_in("{\"a\":1,\"a\":2}\n"), "t.jsonl:1: the name \"a\" appears twice");
}

TEST(JsonLines, NamesThatComeLateAreRefused) {
  std::string text;
  while (text.size() <= kSampleBytes) text += "{\"a\":1}\n";
  EXPECT_NE(fault_in(text + "{\"b\":1}\n").find("the name \"b\" does not occur in the first megabyte"),
            std::string::npos);
  EXPECT_EQ(names_of(read_lines("{\"a\":1}\n{\"b\":1}\n")), (Strings{"a", "b"}));
}

TEST(JsonLines, NamesThatComeLateAreLeftOutIfNobodyKeepsThem) {
  std::string text = "{\"a\":1,\"k\":\"x\"}\n";
  while (text.size() <= kSampleBytes) text += "{\"a\":1}\n";
  text += "{\"b\":{\"a\":[1,2]},\"a\":2,\"c\":null}\n";
  const Table table = read_lines(text, {.attributes = {{"a"}}, .columns = Strings{"k"}});
  EXPECT_EQ(names_of(table), (Strings{"a"}));
  EXPECT_EQ(fields_of(table)[0], "'x'");
  EXPECT_EQ(column_of(table, 0).back(), 2);
}

// A name is one of the index whichever lines have it, and may be of no line.
TEST(JsonLines, NamesOfAnIndexMayComeLate) {
  ReadOptions options;
  options.schema = Schema{.attributes = {{"a"}},
                          .fields = {{"x", FieldRole::filter, {ColumnType::integer}},
                                     {"y", FieldRole::filter, {ColumnType::text}}}};
  std::string text = "{\"a\":7}\n";
  while (text.size() <= kSampleBytes) text += "{\"a\":8}\n";
  text += "{\"y\":\"z\",\"a\":1}\n";
  const Table table = read_lines(text, options);
  EXPECT_EQ(column_of(table, 0).back(), 1);
  EXPECT_EQ(fields_of(table).front(), "-|-");
  EXPECT_EQ(fields_of(table).back(), "-|'z'");
  EXPECT_NE(
      fault_in(text + "{\"a\":1,\"c\":2}\n", options).find("the index has no column \"c\"; name the columns"),
      std::string::npos);
  // Attributes of none are no gaps of all: an upsert would lose their values.
  EXPECT_EQ(error_of<InvalidArgument>([&] { read_lines("{\"y\":\"z\"}\n", options); }),
            "t.jsonl: no column \"a\"; the columns are \"y\", \"x\"");
  // As the column without a name is called.
  options.schema =
      Schema{.attributes = {{"a"}}, .fields = {{"column1", FieldRole::filter, {ColumnType::integer}}}};
  EXPECT_EQ(fields_of(read_lines("{\"a\":1,\"\":2}\n", options)), (Strings{"2"}));
  options.schema = Schema{.attributes = {{"a"}, {"b"}}};
  options.is_partial = true;  // a column that is not there keeps its values
  EXPECT_EQ(names_of(read_lines("{\"b\":2}\n", options)), (Strings{"b"}));
}

// Names that only rows after some have.
TEST(JsonLines, EmptyObjectsBeforeTheFirstNameAreRows) {
  const Table table = read_lines("{}\n{\"a\":1}\n");
  EXPECT_EQ(table.num_rows, 2u);
  EXPECT_TRUE(std::isnan(column_of(table, 0)[0]));
}

TEST(JsonLines, BatchesOfAFileHaveTheNamesOfItsFirstMegabyte) {
  std::string text;
  while (text.size() <= kSampleBytes / 2) text += "{\"a\":1}\n";
  Numbers last;
  read_json_lines_in_batches(std::make_unique<MemorySource>(text + "{\"a\":2,\"b\":3}"), "t.jsonl", {},
                             {.batch_rows = 1'000'000}, [&](const TableBatch& batch) {
                               for (const ColumnView& column : batch.rows.columns)
                                 last.push_back(culmen::testing::element_at<double>(
                                     column.data + (batch.rows.num_rows - 1) * sizeof(double)));
                             });
  EXPECT_EQ(last, (Numbers{2, 3}));
}

TEST(JsonLines, IsTheSameHoweverTheFileIsCut) {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "{\"a\": " + std::to_string(i) + ", \"t\": \"line\\n" + std::to_string(i % 3) + "\"}\n" +
            (i % 50 == 0 ? "\n" : "");
  const Table whole = read_lines(text);
  for (const std::size_t bytes : {1u, 7u, 100u}) {
    const Table cut = read_lines(text, {}, {.window_bytes = bytes, .chunk_bytes = bytes});
    EXPECT_EQ(column_of(cut, 0), column_of(whole, 0));
    EXPECT_EQ(fields_of(cut), fields_of(whole));
    EXPECT_EQ(cut.location_of_row(299), "t.jsonl:306");
  }
  Numbers values;
  read_json_lines_in_batches(
      std::make_unique<MemorySource>(text), "t.jsonl", {}, {.batch_rows = 70}, [&](const TableBatch& batch) {
        for (std::size_t row = 0; row < batch.rows.num_rows; ++row)
          values.push_back(
              culmen::testing::element_at<double>(batch.rows.columns[0].data + row * sizeof(double)));
      });
  EXPECT_EQ(values, column_of(whole, 0));
}

TEST(JsonLines, FilesAreReadByTheirNames) {
  const culmen::testing::ScratchFolder folder;
  EXPECT_EQ(column_of(read_table(folder.write("t.jsonl", "{\"a\":1}\n{\"a\":2}\n")), 0), (Numbers{1, 2}));
  EXPECT_EQ(column_of(read_table(folder.write("t.NDJSON", "{\"a\":3}")), 0), (Numbers{3}));
}

}  // namespace
}  // namespace culmen::io
