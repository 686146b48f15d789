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
using culmen::testing::value_at;
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
    {{"1", "-7", "70"}, kInteger, {"1", "-7", "70"}},
    {{"00501", "10001", ""}, kText, {"'00501'", "'10001'", "-"}},
    {{"10001", "\"00501\""}, kText, {"'10001'", "'00501'"}},
    {{"1.5", "NA", " 02.5"}, kText, {"'1.5'", "'NA'", "' 02.5'"}},
    {{"-7", "-07"}, kText, {"'-7'", "'-07'"}},
    {{"9007199254740993", "00"}, kText, {"'9007199254740993'", "'00'"}},
    {{"007", "9007199254740993"}, kText, {"'007'", "'9007199254740993'"}},
    {{"0", "-0", "10"}, kInteger, {"0", "0", "10"}},
    {{"0.5", "-0.25", "0e3"}, kFloating, {"0.500000", "-0.250000", "0.000000"}},
    {{"2025-06-01", "0001-01-01"}, kDate, {"20240", "-719162"}},
    {{"2025-06-01", "+012345-01-01", "-0044-03-15", "\"+0000-01-01\""},
     kDate,
     {"20240", "3789391", "-735525", "-719528"}},
    {{"2025-06-01", "+5881580-07-12"}, kText, {"'2025-06-01'", "'+5881580-07-12'"}},
    {{"-0044-03-15 12:00Z", "+12345-01-01T00:00:00.5Z"},
     timestamp(TimeUnit::millisecond, "UTC"),
     {"-63549316800000", "327403382400500"}},
    {{"-1-2", "+1234-", "-12345678"}, kText, {"'-1-2'", "'+1234-'", "'-12345678'"}},
    {{"9007199254740993", "+3"}, kInteger, {"9007199254740993", "3"}},
    {{"9007199254740993", "-9223372036854775808"}, kInteger, {"9007199254740993", "-9223372036854775808"}},
    {{"3", "", "9223372036854775807"}, kInteger, {"3", "-", "9223372036854775807"}},
    {{"1", "1.5"}, kFloating, {"1.000000", "1.500000"}},
    {{"1.0", "2"}, kFloating, {"1.000000", "2.000000"}},
    {{"+1", "2"}, kInteger, {"1", "2"}},
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

// A column that is ranked holds numbers, however they are written; one that an index knows, what the index says.
TEST(ColumnTypes, LeadingZerosAreNumbersWhereNumbersAreAsked) {
  ReadOptions options;
  options.attributes = {{"x"}};
  options.types = {{"y", ColumnType::integer}};
  for (const CsvTuning& tuning : {CsvTuning{}, kTiny}) {
    const Table table = parse("x,y,z\n1,5,5\n02,06,06\n", options, tuning);
    EXPECT_EQ(column_of(table, 0), (std::vector<double>{1, 2}));
    EXPECT_EQ(table.attributes[0].format, kInteger);
    EXPECT_EQ(table.fields,
              (std::vector<Field>{{"y", FieldRole::filter, kInteger}, {"z", FieldRole::filter, kText}}));
    EXPECT_EQ(fields_of(table), (Strings{"5|'5'", "6|'06'"}));
    const Table by_itself = parse("n,zip\n1,10001\n2,00501\n", {}, tuning);
    EXPECT_EQ(names_of(by_itself), Strings{"n"});
    EXPECT_EQ(fields_of(by_itself), (Strings{"'10001'", "'00501'"}));
  }
  ReadOptions with_schema;
  with_schema.schema = Schema{.attributes = {{"n"}}, .fields = {{"x", FieldRole::filter, kInteger}}};
  EXPECT_EQ(fields_of(parse("n,x\n01,007\n", with_schema)), Strings{"7"});
}

// In batches the first rows decide.
TEST(ColumnTypes, LeadingZerosAreNoNumbersInBatches) {
  std::string late = "n,x\n1,5\n";
  for (int row = 0; row < 2'000; ++row) late += "1,7\n";
  late += "1,007\n";
  const auto read = [](std::string_view csv) {
    Strings seen;
    MemorySource of(csv);
    read_csv_in_batches(of, "t.csv", {}, ',', {}, [&](const TableBatch& batch) {
      for (const std::string& line : fields_of(batch.rows)) seen.push_back(line);
    });
    return seen;
  };
  EXPECT_EQ(read("n,x\n1,05\n2,6\n"), (Strings{"'05'", "'6'"}));
  EXPECT_EQ(error_of<InputError>([&] { read(late); }),
            "t.csv:2003:2: expected a number in column \"x\", found \"007\"");
}

ReadOptions typed(const std::vector<GivenType>& types) {
  ReadOptions options;
  options.types = types;
  return options;
}

TEST(ColumnTypes, CanBeGiven) {
  const std::string text = "n,x\n1,2025\n2,0\n3,\n";
  for (const CsvTuning& tuning : {CsvTuning{}, kTiny}) {
    const Table texts = parse(text, typed({{"x", ColumnType::text}}), tuning);
    EXPECT_EQ(fields_of(texts), (Strings{"'2025'", "'0'", "-"}));
    const Table numbers = parse(text, typed({{"x", ColumnType::floating}}), tuning);
    EXPECT_EQ(names_of(numbers), (Strings{"n", "x"}));  // ranked, as other numbers are
    EXPECT_EQ(numbers.attributes[1].format, kFloating);
    const Table integers = parse(text, typed({{"x", ColumnType::integer}}), tuning);
    EXPECT_EQ(integers.attributes[1].format, kInteger);
    EXPECT_EQ(value_at(integers, 0, 1), 2025);
    ReadOptions stored = typed({{"x", ColumnType::integer}});
    stored.stored = {"x"};
    EXPECT_EQ(fields_of(parse(text, stored, tuning)), (Strings{"2025", "0", "-"}));
    const Table days = parse("n,x\n1,2025-06-01\n2,\n", typed({{"x", ColumnType::timestamp}}), tuning);
    EXPECT_EQ(days.fields[0].format, timestamp(TimeUnit::second));
    EXPECT_EQ(fields_of(days), (Strings{"1748736000", "-"}));
    const Table finer =
        parse("n,x\n1,2025-06-01\n2,2025-06-01 00:00:00.25\n", typed({{"x", ColumnType::timestamp}}), tuning);
    EXPECT_EQ(finer.fields[0].format, timestamp(TimeUnit::millisecond));
    EXPECT_EQ(fields_of(finer), (Strings{"1748736000000", "1748736000250"}));
    const Table none = parse("n,x\n1,\n2,\n", typed({{"x", ColumnType::date}}), tuning);
    EXPECT_EQ(none.fields[0].format, kDate);
    EXPECT_EQ(fields_of(none), (Strings{"-", "-"}));
  }
  ReadOptions named = typed({{"x", ColumnType::date}});
  named.attributes = {{"x"}};
  const Table ranked = parse("n,x\n1,2025-06-01\n", named);
  EXPECT_EQ(ranked.attributes[0].format, kDate);
  EXPECT_EQ(column_of(ranked, 0), std::vector<double>{20240});
}

TEST(ColumnTypes, ThatAreGivenHoldForEveryCell) {
  const auto refused = [](ColumnType type, const std::string& cell, const CsvTuning& tuning) {
    return refusal_of(column_text({"", cell}), typed({{"x", type}}), tuning);
  };
  for (const CsvTuning& tuning : {CsvTuning{}, kTiny}) {
    EXPECT_EQ(refused(ColumnType::date, "soon", tuning),
              "t.csv:3:2: expected a date as in 2025-06-01 in column \"x\", found \"soon\"");
    EXPECT_EQ(refused(ColumnType::integer, "1.5", tuning),
              "t.csv:3:2: expected an integer in column \"x\", found \"1.5\"");
    EXPECT_EQ(refused(ColumnType::floating, "x", tuning),
              "t.csv:3:2: expected a number in column \"x\", found \"x\"");
    EXPECT_EQ(refused(ColumnType::boolean, "2", tuning),
              "t.csv:3:2: expected true or false in column \"x\", found \"2\"");
    EXPECT_EQ(refused(ColumnType::timestamp, "7", tuning),
              "t.csv:3:2: expected a timestamp without a zone, as in 2025-06-01 12:30:00 in column \"x\", "
              "found \"7\"");
  }
}

TEST(ColumnTypes, ThatAreGivenNameKeptColumnsOnce) {
  const auto refused = [](ReadOptions options) {
    return error_of<InvalidArgument>([&] { parse("id,n,zip\n1,2,3\n", options); });
  };
  EXPECT_EQ(refused(typed({{"zpi", ColumnType::text}})),
            "t.csv: no column \"zpi\" (did you mean \"zip\"?); the columns are \"id\", \"n\", \"zip\"");
  EXPECT_EQ(refused(typed({{"zip", ColumnType::text}, {"zip", ColumnType::date}})),
            "t.csv: column \"zip\" is named twice in the list of types");
  ReadOptions options = typed({{"id", ColumnType::text}});
  options.id_column = "id";
  EXPECT_EQ(refused(options), "t.csv: column \"id\" is given a type, but it is the id or label");
  options = typed({{"zip", ColumnType::text}});
  options.columns = {"n"};
  EXPECT_EQ(refused(options),
            "t.csv: column \"zip\" is given a type, but it is not among those that are kept");
  options = typed({{"zip", ColumnType::text}});
  options.attributes = {{"zip"}};
  EXPECT_EQ(refused(options), "t.csv: attribute \"zip\" cannot be text: texts are not ranked");
  options = typed({{"zip", ColumnType::text}});
  options.schema = Schema{.attributes = {{"n"}}};
  EXPECT_EQ(refused(options),
            "t.csv: the index says what its columns hold: types are for CSV without an index");
  options = {};
  options.columns = {"n", "zip", "n"};
  EXPECT_EQ(refused(options), "t.csv: column \"n\" is named twice in the list of columns to keep");
  options = {};
  options.stored = {"zip", "zip"};
  EXPECT_EQ(refused(options), "t.csv: column \"zip\" is named twice in the list of stored columns");
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
  for (int column = 1; column <= kMaxAttributes; ++column) {
    header += ",a" + std::to_string(column);
    line += ",1";
  }
  EXPECT_EQ(refusal_of(header + "\n" + line + "\n", {}),
            "t.csv: 1025 columns of numbers, and at most 1024 can be ranked: choose them, the others become "
            "filter columns. They are \"a0\", \"a1\", \"a2\", \"a3\", \"a4\", \"a5\", \"a6\", \"a7\", "
            "\"a8\", \"a9\" "
            "and 1015 more");
  ReadOptions options;
  options.attributes = {{"a3"}};
  EXPECT_EQ(parse("a0,a3,a5\n1,2,3\n", options).fields.size(), 2u);
}

// ---- With the schema of an index ----

// Files written from the index name ids and labels even if the table did not.
TEST(ColumnTypes, FindIdsAndLabelsWithoutNames) {
  ReadOptions options;
  options.schema = Schema{.attributes = {{"a"}}, .has_labels = true};
  const Table table = parse("id,label,a\n7,seven,1\n", options);
  EXPECT_EQ(table.ids, std::vector<std::int64_t>{7});
  EXPECT_EQ(culmen::testing::labels_of(table), Strings{"seven"});
  // A column of that name is the column.
  options.schema->attributes = {{"id"}};
  options.schema->fields = {{"label", FieldRole::filter, kInteger}};
  const Table shifted = parse("row.id,row.label,id,label\n7,seven,1,2\n", options);
  EXPECT_EQ(shifted.ids, std::vector<std::int64_t>{7});
  EXPECT_EQ(column_of(shifted, 0), std::vector<double>{1});
  EXPECT_EQ(fields_of(shifted), Strings{"2"});
  EXPECT_EQ(culmen::testing::labels_of(shifted), Strings{"seven"});
  EXPECT_TRUE(parse("id,label\n1,2\n", options).ids.empty());
  // Without labels, no column is silently taken for them.
  options.schema = Schema{.attributes = {{"a"}}};
  EXPECT_NE(refusal_of("id,label,a\n7,seven,1\n", options).find("the index has no column \"label\""),
            std::string::npos);
}

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
