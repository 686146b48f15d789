// What the columns of a CSV file are found to be.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/csv_batches.h"
#include "table/csv_reader.h"
#include "tests/table/reader_testing.h"

namespace culmen::io {
namespace {

using culmen::testing::column_of;
using culmen::testing::error_of;
using culmen::testing::fields_of;
using culmen::testing::names_of;
using Strings = std::vector<std::string>;

constexpr CsvTuning kTiny = {.window_bytes = 8, .chunk_bytes = 4};

Table parse(std::string_view text, const ReadOptions& options = {}, const CsvTuning& tuning = {}) {
  MemorySource source(text);
  return read_csv(source, "t.csv", options, ',', tuning);
}

std::string refusal_of(std::string_view text, const ReadOptions& options, const CsvTuning& tuning = {}) {
  return error_of<InputError>([&] { parse(text, options, tuning); });
}

// The column x of a table whose attribute is n.
std::string column_text(const Strings& cells) {
  std::string text = "n,x\n";
  for (const std::string& cell : cells) text += "1," + cell + "\n";
  return text;
}

struct TypeCase {
  Strings cells;
  ColumnFormat format;
  Strings values;  // as fields_of writes them
};

const ColumnFormat kInteger = {ColumnType::integer};
const ColumnFormat kFloating = {ColumnType::floating};
const ColumnFormat kBoolean = {ColumnType::boolean};
const ColumnFormat kDate = {ColumnType::date};
const ColumnFormat kText = {ColumnType::text};

ColumnFormat timestamp(TimeUnit unit, const std::string& zone = "") {
  return {ColumnType::timestamp, unit, zone};
}

const TypeCase kTypeCases[] = {
    {{"1", "-7", "007"}, kInteger, {"1", "-7", "7"}},
    {{"9007199254740993", "-9223372036854775808"}, kInteger, {"9007199254740993", "-9223372036854775808"}},
    {{"3", "", "9223372036854775807"}, kInteger, {"3", "-", "9223372036854775807"}},
    {{"1", "1.5"}, kFloating, {"1.000000", "1.500000"}},
    {{"1.0", "2"}, kFloating, {"1.000000", "2.000000"}},
    {{"+1", "2"}, kFloating, {"1.000000", "2.000000"}},
    {{"1e3", "2"}, kFloating, {"1000.000000", "2.000000"}},
    {{"\"4\"", " 5 "}, kInteger, {"4", "5"}},
    {{"1", "", "NA", "N/A", "NULL", "null", "nan", "NaN", "\"\"", " "},
     kInteger,
     {"1", "-", "-", "-", "-", "-", "-", "-", "-", "-"}},
    {{"0.5", "", "NAN"}, kFloating, {"0.500000", "-", "-"}},
    {{"true", "FALSE", "", "True", "NA"}, kBoolean, {"1", "0", "-", "1", "-"}},
    {{"true", "1"}, kText, {"'true'", "'1'"}},
    {{"t", "f"}, kText, {"'t'", "'f'"}},
    {{"2025-06-01", "", "1969-12-31"}, kDate, {"20240", "-", "-1"}},
    {{"2025-06-01", "2025-02-30"}, kText, {"'2025-06-01'", "'2025-02-30'"}},
    {{"2025-06-01", "7"}, kText, {"'2025-06-01'", "'7'"}},
    {{"1970-01-01 00:01", "1970-01-01T00:00:02"}, timestamp(TimeUnit::second), {"60", "2"}},
    {{"1970-01-01 00:01", "1970-01-02", ""}, timestamp(TimeUnit::second), {"60", "86400", "-"}},
    {{"1970-01-01 00:00:01", "1970-01-01 00:00:00.5"}, timestamp(TimeUnit::millisecond), {"1000", "500"}},
    {{"1970-01-01 00:00:01.000001", "1970-01-01 00:00:02"},
     timestamp(TimeUnit::microsecond),
     {"1000001", "2000000"}},
    {{"1970-01-01 00:00:00", "1970-01-01 00:00:00.000000001"}, timestamp(TimeUnit::nanosecond), {"0", "1"}},
    {{"1970-01-01 00:00:00Z", "1970-01-01 02:00+02:00"}, timestamp(TimeUnit::second, "UTC"), {"0", "0"}},
    {{"1970-01-01 02:00+02:00", "1970-01-01 03:00+02:00"},
     timestamp(TimeUnit::second, "+02:00"),
     {"0", "3600"}},
    {{"1970-01-01 00:00:00Z", "1970-01-01 00:00:00"},
     kText,
     {"'1970-01-01 00:00:00Z'", "'1970-01-01 00:00:00'"}},
    {{"1970-01-01 00:00:00Z", "1970-01-01"}, kText, {"'1970-01-01 00:00:00Z'", "'1970-01-01'"}},
    {{"1500-01-01 00:00:00", "1970-01-01 00:00:00.000000001"},
     kText,
     {"'1500-01-01 00:00:00'", "'1970-01-01 00:00:00.000000001'"}},
    {{"x", "", "\"\"", "NA", "nan", "7", " y "}, kText, {"'x'", "-", "''", "'NA'", "'nan'", "'7'", "' y '"}},
    {{"1", "x", "1.50"}, kText, {"'1'", "'x'", "'1.50'"}},
    {{"inf", "x"}, kText, {"'inf'", "'x'"}},
    {{"12345678901234567890", "1"}, kText, {"'12345678901234567890'", "'1'"}},
    {{"", "", ""}, kText, {"-", "-", "-"}},
    {{"", "NA", ""}, kText, {"-", "'NA'", "-"}},
    {{"", "\"\""}, kText, {"-", "''"}},
};

TEST(ColumnTypes, AreThoseOfAllCells) {
  ReadOptions options;
  options.attributes = {{"n"}};
  for (const TypeCase& expected : kTypeCases) {
    const std::string text = column_text(expected.cells);
    for (const CsvTuning& tuning : {CsvTuning{}, kTiny}) {
      const Table table = parse(text, options, tuning);
      ASSERT_EQ(table.fields, (std::vector<Field>{{"x", FieldRole::filter, expected.format}})) << text;
      EXPECT_EQ(fields_of(table), expected.values) << text;
    }
  }
}

TEST(ColumnTypes, DependOnTheLastCell) {
  std::string text = "n,x,y,z\n";
  Strings expected;
  for (int row = 0; row < 5'000; ++row) {
    text += "1," + std::to_string(row) + ",2025-06-01,\n";
    expected.push_back("'" + std::to_string(row) + "'|'2025-06-01'|-");
  }
  text += "1,x,1,1.5\n";
  expected.push_back("'x'|'1'|1.500000");
  ReadOptions options;
  options.attributes = {{"n"}};
  const Table table = parse(text, options, {.window_bytes = 10'000, .chunk_bytes = 1'000});
  EXPECT_EQ(table.fields[0].format, kText);
  EXPECT_EQ(table.fields[1].format, kText);
  EXPECT_EQ(table.fields[2].format, kFloating);
  EXPECT_EQ(fields_of(table), expected);
}

TEST(ColumnTypes, MakeAttributesOfAllNumbersByDefault) {
  const std::string text =
      "name,price,stars,opened,open,hash\nRitz,900.5,5,2001-05-03,true,9007199254740993\n,,4,,false,1\n";
  for (const CsvTuning& tuning : {CsvTuning{}, kTiny}) {
    const Table table = parse(text, {}, tuning);
    EXPECT_EQ(names_of(table), (Strings{"price", "stars"}));
    EXPECT_EQ(table.attributes[0].format, kFloating);
    EXPECT_EQ(table.attributes[1].format, kInteger);
    EXPECT_TRUE(std::isnan(column_of(table, 0)[1]));
    EXPECT_EQ(table.fields, (std::vector<Field>{{"name", FieldRole::filter, kText},
                                                {"opened", FieldRole::filter, kDate},
                                                {"open", FieldRole::filter, kBoolean},
                                                {"hash", FieldRole::filter, kInteger}}));
    EXPECT_EQ(fields_of(table), (Strings{"'Ritz'|11445|1|9007199254740993", "-|-|0|1"}));
  }
}

TEST(ColumnTypes, OfAttributesMayBeDatesAndTimes) {
  ReadOptions options;
  options.attributes = {{"day"}, {"open"}, {"time"}};
  const Table table = parse("day,open,time\n1970-01-02,true,\n,false,1970-01-01 00:00:01.5\n", options);
  EXPECT_EQ(table.attributes[0].format, kDate);
  EXPECT_EQ(table.attributes[1].format, kBoolean);
  EXPECT_EQ(table.attributes[2].format, timestamp(TimeUnit::millisecond));
  EXPECT_EQ(column_of(table, 0)[0], 1);
  EXPECT_TRUE(table.columns[0].validity.is_missing(1));
  EXPECT_FALSE(table.columns[1].validity.is_missing(1));
  EXPECT_EQ(column_of(table, 2)[1], 1500);
}

TEST(ColumnTypes, OfATableWithoutRowsAreNumbers) {
  const Table table = parse("a,b\n");
  EXPECT_EQ(names_of(table), (Strings{"a", "b"}));
  EXPECT_TRUE(table.fields.empty());
}

TEST(ColumnTypes, RefuseInfinitiesWithTheirPlace) {
  for (const CsvTuning& tuning : {CsvTuning{}, kTiny}) {
    EXPECT_EQ(refusal_of("a,b\n1,2\n3,inf\n5,6\n", {}, tuning),
              "t.csv:3:2: expected a number in column \"b\", found \"inf\"");
    ReadOptions options;
    options.attributes = {{"a"}};
    EXPECT_EQ(refusal_of("a,b\n1,2\n3,1e999\n5,6\n", options, tuning),
              "t.csv:3:2: expected a number in column \"b\", found \"1e999\", beyond the range of float64");
    EXPECT_EQ(refusal_of("a,b\n1,2\n3,9007199254740993\n5,6.5\n", options, tuning),
              "t.csv:3:2: expected a number in column \"b\", found \"9007199254740993\", an integer beyond "
              "2^53 that "
              "float64 cannot hold exactly");
  }
}

TEST(ColumnTypes, RefuseAnAttributeThatIsNoNumberWhereverItsTextIs) {
  ReadOptions options;
  options.attributes = {{"b"}};
  for (const CsvTuning& tuning : {CsvTuning{}, kTiny}) {
    EXPECT_EQ(refusal_of("a,b\n1,2\n3,4\n5,x\n", options, tuning),
              "t.csv:4:2: expected a number in column \"b\", found \"x\"");
    EXPECT_EQ(refusal_of("a,b\n1,\n3,x\n5,6\n", options, tuning),
              "t.csv:3:2: expected a number in column \"b\", found \"x\"");
    EXPECT_EQ(refusal_of("a,b\n1,2025-06-01\n3,x\n", options, tuning),
              "t.csv:3:2: expected a date as in 2025-06-01 in column \"b\", found \"x\"");
  }
}

TEST(ColumnTypes, KeepOnlyChosenColumns) {
  ReadOptions options;
  options.columns = {"b", "d"};
  Table table = parse("a,b,c,d\n1,2,x,y\n", options);
  EXPECT_EQ(names_of(table), Strings{"b"});
  EXPECT_EQ(fields_of(table), Strings{"'y'"});
  options.attributes = {{"a"}};
  table = parse("a,b,c,d\n1,2,x,y\n", options);
  EXPECT_EQ(names_of(table), Strings{"a"});
  EXPECT_EQ(fields_of(table), Strings{"2|'y'"});
  options.columns = {"bb"};
  EXPECT_EQ(error_of<InvalidArgument>([&] { parse("a,b2,c,d\n1,2,x,y\n", options); }),
            "t.csv: no column \"bb\" (did you mean \"b2\"?); the columns are \"a\", \"b2\", \"c\", \"d\"");
}

TEST(ColumnTypes, StoreWhatIsNamedOrNearlyUnique) {
  std::string text = "n,x,y,z\n";
  for (int row = 0; row < 2'000; ++row)
    text +=
        "1,t" + std::to_string(row) + ",t" + std::to_string(row % 1000) + "," + std::to_string(row) + "\n";
  ReadOptions options;
  options.attributes = {{"n"}};
  options.stored = {"z"};
  const Table table = parse(text, options);
  EXPECT_EQ(table.fields[0].role, FieldRole::stored);
  EXPECT_EQ(table.fields[1].role, FieldRole::filter);
  EXPECT_EQ(table.fields[2].role, FieldRole::stored);
  EXPECT_EQ(table.fields[2].format, kInteger);
  const Table small = parse("n,x\n1,a\n1,b\n", options = {.attributes = {{"n"}}});
  EXPECT_EQ(small.fields[0].role, FieldRole::filter);
  options.stored = {"n"};
  EXPECT_NE(error_of<InvalidArgument>([&] { parse("n,x\n1,a\n", options); }).find("cannot be stored"),
            std::string::npos);
}

TEST(ColumnTypes, SayHowToChooseIfThereAreTooMany) {
  std::string header = "a0", line = "1";
  for (int column = 1; column < 65; ++column) {
    header += ",a" + std::to_string(column);
    line += ",1";
  }
  EXPECT_EQ(refusal_of(header + "\n" + line + "\n", {}),
            "t.csv: 65 columns of numbers, and at most 64 can be ranked: choose them, the others become "
            "filter columns");
  ReadOptions options;
  options.attributes = {{"a3"}};
  EXPECT_EQ(parse(header + "\n" + line + "\n", options).fields.size(), 64u);
}

// ---- With the schema of an index ----

Schema hotel_schema() {
  Schema schema;
  schema.attributes = {{"price"}, {"stars", Preference::high, StandIn::worst, 0, kInteger}};
  schema.has_labels = true;
  schema.fields = {{"city", FieldRole::filter, kText},
                   {"opened", FieldRole::filter, kDate},
                   {"rooms", FieldRole::filter, kInteger},
                   {"seen", FieldRole::stored, timestamp(TimeUnit::millisecond, "UTC")}};
  schema.id_name = "key";
  schema.label_name = "name";
  return schema;
}

TEST(ColumnTypes, AreThoseOfTheSchema) {
  ReadOptions options;
  options.schema = hotel_schema();
  const Table table = parse(
      "city,name,seen,rooms,opened,price,stars,key\n"
      "7,Ritz,1970-01-01 00:00:01Z,9007199254740993,1970-01-02,900,5,17\n"
      ",NA,NA,7.0,,,4,18\n",
      options);
  EXPECT_EQ(names_of(table), (Strings{"price", "stars"}));
  EXPECT_EQ(table.fields, options.schema->fields);
  EXPECT_EQ(fields_of(table), (Strings{"'7'|1|9007199254740993|1000", "-|-|7|-"}));
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{17, 18}));
  EXPECT_EQ(culmen::testing::labels_of(table), (Strings{"Ritz", "NA"}));
  EXPECT_TRUE(std::isnan(column_of(table, 0)[1]));
}

TEST(ColumnTypes, OfTheSchemaRefuseOtherCells) {
  ReadOptions options;
  options.schema = hotel_schema();
  const auto error_of_cell = [&](const std::string& column, const std::string& cell) {
    return refusal_of("price,stars," + column + "\n1,2," + cell + "\n", options);
  };
  EXPECT_EQ(error_of_cell("opened", "x"),
            "t.csv:2:3: expected a date as in 2025-06-01 in column \"opened\", found \"x\"");
  EXPECT_EQ(error_of_cell("rooms", "7.5"),
            "t.csv:2:3: expected an integer in column \"rooms\", found \"7.5\"");
  EXPECT_EQ(error_of_cell("rooms", "9223372036854775808"),
            "t.csv:2:3: expected an integer in column \"rooms\", found \"9223372036854775808\", beyond the "
            "range of int64");
  EXPECT_EQ(
      error_of_cell("seen", "1970-01-01 00:00:01"),
      "t.csv:2:3: expected a timestamp with a zone, as in 2025-06-01 12:30:00Z in column \"seen\", found "
      "\"1970-01-01 00:00:01\"");
  EXPECT_EQ(
      error_of_cell("seen", "1970-01-01 00:00:00.0001Z"),
      "t.csv:2:3: expected a timestamp with a zone, as in 2025-06-01 12:30:00Z in column \"seen\", found "
      "\"1970-01-01 00:00:00.0001Z\", and the column counts in milliseconds");
}

TEST(ColumnTypes, OfTheSchemaMayBeAbsentButNotUnknown) {
  ReadOptions options;
  options.schema = hotel_schema();
  const Table table = parse("stars,price,city\n5,900,Praha\n", options);
  EXPECT_EQ(table.fields, std::vector<Field>{options.schema->fields[0]});
  EXPECT_EQ(column_of(table, 0), std::vector<double>{900});
  EXPECT_TRUE(table.ids.empty());
  EXPECT_EQ(refusal_of("stars,price,citi\n5,900,Praha\n", options),
            "t.csv: the index has no column \"citi\" (did you mean \"city\"?); its columns are \"price\", "
            "\"stars\", "
            "\"city\", \"opened\", \"rooms\", \"seen\", \"key\", \"name\"");
  EXPECT_NE(
      error_of<InvalidArgument>([&] { parse("stars,city\n5,Praha\n", options); }).find("no column \"price\""),
      std::string::npos);
  options.columns.emplace();
  EXPECT_TRUE(parse("stars,price,citi\n5,900,Praha\n", options).fields.empty());
  options.columns.reset();
  options.attributes = {{"cost"}, {"stars"}};  // renamed
  EXPECT_EQ(column_of(parse("stars,cost,city\n5,900,Praha\n", options), 0), std::vector<double>{900});
}

TEST(ColumnTypes, OfTheSchemaNameIdsUnlessOthersAreNamed) {
  ReadOptions options;
  options.schema = hotel_schema();
  const std::string text = "stars,price,key,other\n5,900,1,2\n";
  options.columns.emplace();
  EXPECT_EQ(parse(text, options).ids, std::vector<std::int64_t>{1});
  options.id_column = "other";
  EXPECT_EQ(parse(text, options).ids, std::vector<std::int64_t>{2});
  options.id_column = "";
  options.assign_ids = true;
  EXPECT_TRUE(parse(text, options).ids.empty());
}

TEST(ColumnTypes, InBatchesAreThoseOfTheSchema) {
  ReadOptions options;
  options.schema = hotel_schema();
  std::string text = "price,stars,city,rooms,opened\n";
  Strings expected;
  for (int row = 0; row < 50; ++row) {
    text += std::to_string(row) + ",1," + (row % 3 == 0 ? "" : "c" + std::to_string(row)) + "," +
            (row % 4 == 0 ? "" : std::to_string(row)) + ",1970-01-02\n";
    expected.push_back((row % 3 == 0 ? "-" : "'c" + std::to_string(row) + "'") + "|1|" +
                       (row % 4 == 0 ? "-" : std::to_string(row)));
  }
  for (const std::size_t batch_rows : {1, 7, 64}) {
    MemorySource source(text);
    Strings lines;
    read_csv_in_batches(
        source, "t.csv", options, ',', {.batch_rows = batch_rows},
        [&](const TableBatch& batch) {
          const Strings some = fields_of(batch.rows);
          lines.insert(lines.end(), some.begin(), some.end());
        },
        kTiny);
    EXPECT_EQ(lines, expected);
  }
}

TEST(ColumnTypes, InBatchesWithoutASchemaAreThoseOfTheFirstRows) {
  const std::string text = "a,b\n1,x\n2,\n";
  MemorySource source(text);
  Strings lines;
  read_csv_in_batches(source, "t.csv", {}, ',', {},
                      [&](const TableBatch& batch) { lines = fields_of(batch.rows); });
  EXPECT_EQ(lines, (Strings{"'x'", "-"}));
  std::string text_at_last = "a\n";
  for (int row = 0; row < 2'000; ++row) text_at_last += "1\n";
  text_at_last += "x\n";
  MemorySource late(text_at_last);
  EXPECT_EQ(error_of<InputError>(
                [&] { read_csv_in_batches(late, "t.csv", {}, ',', {}, [](const TableBatch&) {}); }),
            "t.csv:2002:1: expected a number in column \"a\", found \"x\"");
}

TEST(ColumnTypes, ComeOutAsTheyWentIn) {
  std::mt19937_64 random(36);
  const std::vector<Strings> kinds = {
      {"1", "-2", "30", ""},
      {"1.5", "-0.25", "3", ""},
      {"9007199254740993", "5", ""},
      {"true", "false", ""},
      {"2025-06-01", "0001-01-01", "9999-12-31", ""},
      {"2025-06-01 12:30:00", "1969-12-31 23:59:59", ""},
      {"2025-06-01 12:30:00.250Z", "1969-12-31 23:59:59.001Z", ""},
      {"2025-06-01 12:30:00.123456789", "1969-12-31 23:59:59.000000001", ""},
      {"x", "\"a,b\"", "\"say \"\"so\"\"\"", "\"\"", "\" y\"", "NA", "Zürich", ""},
  };
  const culmen::testing::ScratchFolder folder;
  for (int round = 0; round < 200; ++round) {
    std::string text = "n";
    std::vector<const Strings*> columns;
    for (std::size_t i = 0; i < 1 + random() % 6; ++i) {
      columns.push_back(&kinds[random() % kinds.size()]);
      text += ",c" + std::to_string(i);
    }
    text += "\n";
    for (std::size_t row = 0; row < 1 + random() % 40; ++row) {
      text += std::to_string(row);
      for (const Strings* const cells : columns) text += "," + (*cells)[random() % cells->size()];
      text += "\n";
    }
    ReadOptions options;
    options.attributes = {{"n"}};
    const Table table =
        parse(text, options, {.window_bytes = 1 + random() % 500, .chunk_bytes = 1 + random() % 50});
    const std::string path = folder.path() + "/t.csv";
    write_table(table, path);
    const Table back = read_table(path, options);
    ASSERT_EQ(back.fields.size(), table.fields.size());
    for (std::size_t i = 0; i < table.fields.size(); ++i)
      ASSERT_EQ(back.fields[i].format.type, table.fields[i].format.type) << text;
    ASSERT_EQ(fields_of(back), fields_of(table)) << text;
  }
}

}  // namespace
}  // namespace culmen::io
