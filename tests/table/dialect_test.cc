// Files as the world writes them: delimiters, decimal commas, marks between thousands, units, words for missing values,
// no header, blank lines.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/byte_source.h"
#include "table/cell_form.h"
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
using Numbers = std::vector<double>;

// As from a file called .csv.
Table read(std::string_view text, const ReadOptions& options = {}, const CsvTuning& tuning = {}) {
  MemorySource source(text);
  return read_csv(source, "t.csv", options, ',', tuning);
}

std::string refusal_in(std::string_view text, const ReadOptions& options = {}) {
  return error_of<InputError>([&] { read(text, options); });
}

InputError::Remedy remedy_in(std::string_view text, const ReadOptions& options = {}) {
  try {
    read(text, options);
  } catch (const InputError& error) {
    return error.remedy();
  }
  return InputError::Remedy::none;
}

ReadOptions with(const CsvDialect& dialect) {
  return {.dialect = dialect};
}

TEST(Dialect, DelimitersAreFound) {
  for (const std::string delimiter : {",", ";", "\t", "|"}) {
    const Table table = read("a" + delimiter + "b\n1" + delimiter + "2\n3" + delimiter + "4\n");
    EXPECT_EQ(names_of(table), (Strings{"a", "b"})) << delimiter;
    EXPECT_EQ(column_of(table, 1), (Numbers{2, 4})) << delimiter;
    EXPECT_EQ(table.dialect.delimiter, delimiter[0]);
  }
  EXPECT_EQ(names_of(read("a;b\n1,5;2,25\n")), (Strings{"a", "b"}));
  EXPECT_EQ(names_of(read("a,b\n\"1;x\",2\n\"3;y\",4\n")), (Strings{"b"})) << "marks in quotes are none";
  EXPECT_EQ(names_of(read("a,n\n1,x;y\n2,z\n")), (Strings{"a"}));
  EXPECT_EQ(names_of(read("a;b\n1\n2\n")), (Strings{"a;b"}));
  EXPECT_EQ(refusal_in("a;b,c\n1,2\n3\n"), "t.csv:3:2: expected 2 fields as in the header, found 1")
      << "a ragged file keeps the delimiter of its name, if the header has it";
}

TEST(Dialect, ADecimalCommaIsFound) {
  const Table table = read("preis;rate\n1.234,50;0,23\n15.990;-4\n7;2,5e1\n");
  EXPECT_EQ(column_of(table, 0), (Numbers{1234.5, 15990, 7}));
  EXPECT_EQ(column_of(table, 1), (Numbers{0.23, -4, 25}));
  EXPECT_EQ(describe(table.dialect), "semicolons between cells, decimal commas, points between thousands");
}

TEST(Dialect, MarksBetweenThousandsAreFound) {
  EXPECT_EQ(column_of(read("votes,rating\n\"2,757\",7.8\n\"12,002,757\",8\n998,1\n"), 0),
            (Numbers{2757, 12002757, 998}));
  EXPECT_EQ(column_of(read("a,b\n1'234.5,1\n12'000,2\n"), 0), (Numbers{1234.5, 12000}));
  EXPECT_EQ(column_of(read("a;b\n1 234,5;1\n12 000;2\n"), 0), (Numbers{1234.5, 12000}));
  EXPECT_EQ(column_of(read("a;b\n1\xC2\xA0"
                           "234;1\n12\xE2\x80\xAF"
                           "000;2\n"),
                      0),
            (Numbers{1234, 12000}));
  const Table table = read("a,tel\n1,555 123\n2,555 124\n");
  EXPECT_EQ(names_of(table), (Strings{"a"})) << "a blank alone is not between groups";
}

TEST(Dialect, WhatMayBeReadInTwoWaysIsAskedFor) {
  const Strings open = {"name;preis\nA;15.990\n", "preis\tx\n15.990\t1\n8.500\t2\n",
                        "name,preis\nA,15.990\n", "a,b\n\"2,757\",1\n3,2\n",
                        "a;b\n1,125;2\n",         "p|q\n1.125|2\n"};
  for (const std::string& text : open) EXPECT_EQ(remedy_in(text), InputError::Remedy::give_decimal) << text;
  EXPECT_EQ(refusal_in(open[0]),
            "t.csv:2:2: no number says whether \"15.990\" has a decimal mark or one between thousands");
  EXPECT_EQ(column_of(read(open[0], with({.decimal = ','})), 0), (Numbers{15990}));
  EXPECT_EQ(column_of(read(open[0], with({.decimal = '.'})), 0), (Numbers{15.99}));
  EXPECT_EQ(column_of(read(open[3], with({.decimal = '.'})), 0), (Numbers{2757, 3}));
  EXPECT_EQ(column_of(read(open[3], with({.decimal = ','})), 0), (Numbers{2.757, 3}));
}

TEST(Dialect, AMarkBetweenThousandsLeavesTheOtherForDecimals) {
  const std::string text = "a,b\n\"2,757\",1\n\"3,005\",2\n";
  EXPECT_EQ(column_of(read(text, with({.thousands = ','})), 0), (Numbers{2757, 3005}));
  EXPECT_EQ(column_of(read("a;b\n2.757;0,5\n", with({.thousands = '.'})), 0), (Numbers{2757}));
  EXPECT_EQ(column_of(read("a;b\n2.757;1\n", with({.thousands = '.'})), 0), (Numbers{2757}));
  EXPECT_EQ(column_of(read("a;b\n2.757;1\n", with({.thousands = ','})), 0), (Numbers{2.757}));
  EXPECT_EQ(remedy_in("a;b\n2.757;1\n", with({.thousands = '\''})), InputError::Remedy::give_decimal);
}

TEST(Dialect, AnArrayOfJsonIsNamed) {
  const std::string says = "t.csv:1:1: expected CSV, found a JSON array (jq -c '.[]' makes JSON Lines of it)";
  for (const std::string text : {"[{\"a\":1},{\"a\":2}]", "\xEF\xBB\xBF [\n  {\n    \"a\": 1}]\n"})
    EXPECT_EQ(refusal_in(text), says);
  EXPECT_EQ(names_of(read("[a],[{b\n1,2\n")), (Strings{"[a]", "[{b"}));
}

// One number of the file tells for all.
TEST(Dialect, IdsAndLabelsThatAreTextsTellNothing) {
  const std::string text = "ip;x\n192.168.100.200;1.500\n192.168.100.201;2.25\n";
  for (const ReadOptions& options :
       {ReadOptions{.attributes = {{"x"}}, .id_column = "ip", .id_type = IdType::text},
        ReadOptions{.attributes = {{"x"}}, .label_column = "ip"},
        ReadOptions{.schema = Schema{.attributes = {{"x"}}, .id_name = "ip", .id_type = IdType::text}}})
    EXPECT_EQ(column_of(read(text, options), 0), (Numbers{1.5, 2.25}));
}

TEST(Dialect, ANumberElsewhereTells) {
  EXPECT_EQ(column_of(read("preis;rate\n15.990;0,5\n"), 0), (Numbers{15990}));
  EXPECT_EQ(column_of(read("preis;rate\n15.990;0.5\n"), 0), (Numbers{15.99}));
  EXPECT_EQ(column_of(read("preis;menge\n15.990;1.234.567\n"), 0), (Numbers{15990}));
  EXPECT_EQ(remedy_in("preis;lat\n15,5;52.25\n"), InputError::Remedy::give_decimal) << "two tell otherwise";
  EXPECT_EQ(column_of(read("a,b\n\"0,5\",1\n\"1,5\",2\n"), 0), (Numbers{0.5, 1.5}));
  EXPECT_EQ(remedy_in("a,b\n\"3,5\",1\n\"1,5\",2\n"), InputError::Remedy::give_decimal) << "lists, perhaps";
  EXPECT_EQ(names_of(read("a,b\n\"3,5\",1\n", with({.decimal = '.'}))), (Strings{"b"}));
  const Table table = read("price,pair\n0.5,\"1,5\"\n");
  EXPECT_EQ(names_of(table), (Strings{"price"})) << "among commas, 1,5 is a text";
}

// What programs write: no zero at the end, and seldom three digits in each.
TEST(Dialect, AFewNumbersOfThreeDigitsAmongCommasHaveDecimalPoints) {
  EXPECT_EQ(column_of(read("id,a\n7,121.125\n"), 1), (Numbers{121.125}));
  std::string text = "a,b\n";
  for (int i = 0; i < 20; ++i) text += "121.12" + std::to_string(1 + i % 9) + ",1\n";
  EXPECT_EQ(remedy_in(text), InputError::Remedy::give_decimal);
  EXPECT_EQ(column_of(read(text + "0.5,1\n"), 0)[0], 121.121);
}

// Numbers that come after the sample are not read silently either.
TEST(Dialect, WhatComesAfterTheFirstMegabyteIsAskedForToo) {
  std::string text = "a;b\n";
  while (text.size() <= std::size_t{1} << 20) text += "1;2\n";
  EXPECT_EQ(column_of(read(text + "2.5;1\n"), 0).back(), 2.5);
  const std::string open = text + "15.990;1\n";
  EXPECT_EQ(remedy_in(open), InputError::Remedy::give_decimal);
  EXPECT_EQ(remedy_in(open, {.attributes = {{"a"}}}), InputError::Remedy::give_decimal);
  EXPECT_EQ(column_of(read(open, with({.decimal = ','})), 0).back(), 15990);
}

TEST(Dialect, UnitsAreTheSameInAColumn) {
  const Table table = read("rate,price,fee\n12%,$ 326,\"1,5 \xE2\x82\xAC\"\n-3 %,-$5,2 \xE2\x82\xAC\n",
                           with({.decimal = ',', .thousands = '\0'}));
  EXPECT_EQ(names_of(table), (Strings{"rate", "price", "fee"}));
  EXPECT_EQ(column_of(table, 0), (Numbers{12, -3}));
  EXPECT_EQ(column_of(table, 1), (Numbers{326, -5}));
  EXPECT_EQ(column_of(table, 2), (Numbers{1.5, 2}));
  EXPECT_EQ(fields_of(read("a,p\n1,$5\n2,5\n")), (Strings{"'$5'", "'5'"})) << "mixed ones are texts";
  EXPECT_EQ(refusal_in("a,p\n1,$5\n2,\xC2\xA3"
                       "5\n",
                       {.attributes = {{"p"}}}),
            "t.csv:3:2: expected a number in column \"p\", found \"\xC2\xA3"
            "5\", and other numbers are in $");
  EXPECT_EQ(refusal_in("a,p\n1,5\n2,5%\n", {.attributes = {{"p"}}}),
            "t.csv:3:2: expected a number in column \"p\", found \"5%\", and other numbers have no unit");
}

TEST(Dialect, WordsAreMissingValues) {
  const Table table = read("a,b\n1,-\nNA,2\nN/A,3\n?,4\nnone,5\n#N/A,6\n\\N,7\n");
  EXPECT_EQ(names_of(table), (Strings{"a", "b"}));
  EXPECT_TRUE(std::isnan(column_of(table, 0)[6]));
  EXPECT_EQ(fields_of(read("a,b\n1,x\n2,-\n")), (Strings{"'x'", "'-'"}))
      << "in a column of text they are texts";
  const ReadOptions options = with({.null_words = Strings{"unknown"}});
  const Table given = read("a,b\n1,x\nunknown,unknown\n", options);
  EXPECT_TRUE(std::isnan(column_of(given, 0)[1]));
  EXPECT_EQ(fields_of(given), (Strings{"'x'", "-"}));
  EXPECT_EQ(fields_of(read("a,b\n1,2\n2,NA\n", options)), (Strings{"'2'", "'NA'"}))
      << "in place of the usual ones";
}

TEST(Dialect, AFileWithoutAHeaderIsFound) {
  const Table table = read("1.5,2\n3,4\n");
  EXPECT_EQ(names_of(table), (Strings{"a0", "a1"}));
  EXPECT_EQ(column_of(table, 0), (Numbers{1.5, 3}));
  EXPECT_EQ(table.location_of_row(1), "t.csv:2");
  EXPECT_EQ(describe(table.dialect), "no header");
  EXPECT_EQ(remedy_in("2019,2020\n3,4\n"), InputError::Remedy::give_header) << "names may be numbers";
  EXPECT_EQ(names_of(read("2019,2020\n3,4\n", with({.has_header = true}))), (Strings{"2019", "2020"}));
  EXPECT_EQ(read("2019,2020\n3,4\n", with({.has_header = false})).num_rows, 2u);
  EXPECT_EQ(names_of(read("x,2020\ny,4\n", with({.has_header = false}))), (Strings{"a1"}));
}

TEST(Dialect, AFirstRowOfTextsIsNotTakenForAHeaderWhereItTells) {
  for (const char* text : {"Ann,Rome,1\nBob,Rome,2\n", "Ann;Rome;1,5\nBob;Oslo;2,5\n", "Ann,-1\nBob,2\n",
                           "\"Ann\",\"Rome\",5\n\"Bob\",\"Rome\",6\n"}) {
    EXPECT_EQ(remedy_in(text), InputError::Remedy::give_header) << text;
    EXPECT_EQ(read(text, with({.has_header = false})).num_rows, 2u) << text;
    EXPECT_EQ(read(text, with({.has_header = true})).num_rows, 1u) << text;
  }
  EXPECT_EQ(refusal_in("n,Rome\n1,Oslo\n\n2,Rome\n"),
            "t.csv:1:2: expected a header line, found \"Rome\", which line 4 has in the same column: is it a "
            "name, or "
            "is this the first row of a file without a header?");
  EXPECT_EQ(refusal_in("a,0.5\nx,1\n"),
            "t.csv:1:2: expected a header line, found the number \"0.5\": is it a name, which may have "
            "quotes, or is "
            "this the first row of a file without a header?");
  EXPECT_EQ(names_of(read("city,\"0.5\"\nx,1\ny,2\n")), (Strings{"0.5"})) << "names may have quotes";
  EXPECT_EQ(names_of(read("a,2019\nx,1\na,2\n")), (Strings{"2019"})) << "a year, and a letter";
  EXPECT_EQ(read("Ann,Rome,1\nBob,Rome,2\n", {.attributes = {{"1"}}}).num_rows, 1u)
      << "the call knows the names";
}

TEST(Dialect, BlankLinesAreNoRows) {
  const Table table = read("\na,b\n1,2\n\n  \n3,4\n\n\n\r\n");
  EXPECT_EQ(column_of(table, 0), (Numbers{1, 3}));
  EXPECT_EQ(table.location_of_row(1), "t.csv:6");
  EXPECT_EQ(refusal_in("a,b\n1,2\n\n3\n"), "t.csv:4:2: expected 2 fields as in the header, found 1");
  EXPECT_EQ(read("a\n1\n\n2\n").num_rows, 3u) << "of one column, they are missing values";
}

TEST(Dialect, WhatItCannotBeIsRefused) {
  const auto error = [](const CsvDialect& dialect) {
    return error_of<InvalidArgument>([&] { read("a,b\n1,2\n", {.dialect = dialect}); });
  };
  EXPECT_EQ(error({.delimiter = 'x'}),
            "expected a comma, tab, semicolon or bar as the delimiter, found \"x\"");
  EXPECT_EQ(error({.decimal = ';'}), "expected a point or comma as the decimal mark, found \";\"");
  EXPECT_EQ(error({.decimal = ',', .thousands = ','}),
            "the decimal mark and the mark between thousands are both \",\"");
}

// Windows and chunks of any size find the same, and so do batches from a pipe.
TEST(Dialect, IsTheSameHoweverTheFileIsCut) {
  std::string text = "name;preis;anteil\n";
  for (int i = 0; i < 500; ++i)
    text += "n" + std::to_string(i) + ";" + std::to_string(i % 9 + 1) + "." + std::to_string(100 + i) +
            ",5;" + std::to_string(i % 100) + " %\n" + (i % 7 == 0 ? "\n" : "");
  const Table whole = read(text);
  ASSERT_EQ(names_of(whole), (Strings{"preis", "anteil"}));
  EXPECT_EQ(column_of(whole, 0)[1], 2101.5);
  for (const std::size_t bytes : {1u, 7u, 64u, 1000u}) {
    const Table cut = read(text, {}, {.window_bytes = bytes, .chunk_bytes = bytes});
    EXPECT_EQ(column_of(cut, 0), column_of(whole, 0));
    EXPECT_EQ(column_of(cut, 1), column_of(whole, 1));
    EXPECT_EQ(cut.location_of_row(499), whole.location_of_row(499));
  }
  MemorySource source(text);
  Numbers prices;
  read_csv_in_batches(source, "t.csv", {}, ',', {.batch_rows = 77}, [&](const TableBatch& batch) {
    for (std::size_t row = 0; row < batch.rows.num_rows; ++row)
      prices.push_back(
          culmen::testing::element_at<double>(batch.rows.columns[0].data + row * sizeof(double)));
  });
  EXPECT_EQ(prices, column_of(whole, 0));
}

TEST(CellForm, NumbersAreReadInTheirForm) {
  const CellForm german = {.decimal = ',', .thousands = '.'};
  std::string scratch;
  const auto value = [&](std::string_view cell) {
    const CellNumber read = german.read_number(cell, scratch);
    return read.number.kind == NumberKind::finite ? read.number.value : NAN;
  };
  EXPECT_EQ(value("1.234.567,5"), 1234567.5);
  EXPECT_EQ(value(" -12,25 "), -12.25);
  EXPECT_EQ(value("+,5"), 0.5);
  EXPECT_EQ(value("\xE2\x88\x92"
                  "3"),
            -3);
  for (const char* none : {"15.99", "1.2345", "1234.567", ".123", "1..234", "1,2,3", "1.234.", "0.123",
                           "1,5e", "-", ",", "", "12-3"})
    EXPECT_TRUE(std::isnan(value(none))) << none;
  // The fast path reads what it reads as the other does.
  for (const CellForm& form : {german, CellForm{}, CellForm{.thousands = ','}}) {
    for (const char* cell : {"1.234.567,5",
                             "-12,25",
                             "0",
                             "-0",
                             "0,5",
                             "1,234",
                             "1.234",
                             "12 %",
                             "12%",
                             "$ 3,5",
                             "-$5",
                             "1.234 \xE2\x82\xAC",
                             "00,5",
                             "0.123",
                             "1.23.456",
                             "999999999999999",
                             "1234567890123456",
                             ",5",
                             "5,",
                             "$",
                             "%",
                             "1,2,3",
                             "1.234.56"}) {
      CellNumber read;
      if (!form.read_short_number(cell, read)) continue;
      const CellNumber expected = form.read_number(cell, scratch);
      EXPECT_EQ(expected.number.kind, NumberKind::finite) << cell;
      EXPECT_EQ(read.number.value, expected.number.value) << cell;
      EXPECT_EQ(read.is_integer, expected.is_integer) << cell;
      EXPECT_EQ(read.unit, expected.unit) << cell;
      EXPECT_FALSE(expected.has_zero) << cell;
    }
  }
  EXPECT_EQ(german.read_number("nan", scratch).number.kind, NumberKind::nan);
  EXPECT_EQ(german.read_number("-inf", scratch).number.kind, NumberKind::infinite);
}

using Days = std::vector<std::string>;

// The only field of a table, beside attributes.
Days days_in(std::string_view text, const ReadOptions& options = {}) {
  const Table table = read(text, options);
  EXPECT_EQ(table.fields.size(), 1u) << text;
  EXPECT_EQ(table.fields[0].format.type, ColumnType::date) << text;
  return fields_of(table);
}

TEST(Dialect, DatesAreReadAsTheyAreWritten) {
  EXPECT_EQ(days_in("a,d\n1,31.12.2024\n2,1.2.2024\n3,2024-02-01\n4,2024/02/01\n"),
            (Days{"20088", "19754", "19754", "19754"}));
  EXPECT_EQ(days_in("a,d\n1,31/12/2024\n2,01/02/2024\n"), (Days{"20088", "19754"}));
  EXPECT_EQ(days_in("a,d\n1,12/31/2024\n2,02/01/2024\n3,NA\n"), (Days{"20088", "19754", "-"}));
  EXPECT_EQ(days_in("a;d\n1;31-12-2024\n2;01-02-2024\n"), (Days{"20088", "19754"}));
  EXPECT_EQ(read("a,d\n1,31/12/2024\n").dialect.dates, DateOrder::day_first);
  EXPECT_EQ(read("a,d\n1,31.12.2024\n").dialect.dates, std::nullopt);
  EXPECT_EQ(describe(read("a,d\n1,12/31/2024\n").dialect), "months before days");
}

TEST(Dialect, FaultyCellsOfAnAttributeDoNotHideWhatItsNumbersTell) {
  const std::string text = "preis;km\n1.234,50;15.990\nauf Anfrage;2.000\n";
  EXPECT_EQ(remedy_in(text), InputError::Remedy::give_decimal) << "a column of texts";
  EXPECT_EQ(refusal_in(text, {.attributes = {{"preis"}, {"km"}}}),
            "t.csv:3:1: expected a number in column \"preis\", found \"auf Anfrage\"");
}

TEST(Dialect, JsonLinesAreNoCsv) {
  for (const std::string text : {"{\"a\":1}\n", "\xEF\xBB\xBF\n { \"a\":1}\n", "{}\n"})
    EXPECT_EQ(refusal_in(text),
              "t.csv:1:1: expected CSV, found an object as in JSON Lines, which are read from files named "
              ".jsonl or .ndjson, and from standard input");
  EXPECT_EQ(names_of(read("{a},b\n1,2\n")), (Strings{"{a}", "b"}));
}

TEST(Dialect, DatesThatMayBeginWithEitherAreAskedFor) {
  const std::string open = "a,d\n1,01/02/2024\n2,03/04/2024\n";
  EXPECT_EQ(refusal_in(open),
            "t.csv:2:2: no date says whether \"01/02/2024\" begins with the day or the month");
  EXPECT_EQ(remedy_in(open), InputError::Remedy::give_dates);
  EXPECT_EQ(days_in(open, with({.dates = DateOrder::day_first})), (Days{"19754", "19816"}));
  EXPECT_EQ(days_in(open, with({.dates = DateOrder::month_first})), (Days{"19724", "19786"}));
  EXPECT_EQ(remedy_in("a,d,e\n1,31/12/2024,12/31/2024\n"), InputError::Remedy::give_dates);
  EXPECT_EQ(fields_of(read(open, {.types = {{"d", ColumnType::text}}}))[0], "'01/02/2024'");
  // Where cells speak against each other, or are something else, they are texts.
  for (const std::string other : {"13/13/2024", "12/31/2024", "31.02.2024x", "31/12/24", "soon"})
    EXPECT_EQ(fields_of(read("a,d\n1,31/12/2024\n2," + other + "\n"))[1], "'" + other + "'");
  EXPECT_EQ(fields_of(read("a,d\n1,1.2.3\n"))[0], "'1.2.3'");
  EXPECT_EQ(fields_of(read("a,d\n1,31.02.2024\n"))[0], "'31.02.2024'") << "no such day";
}

TEST(Dialect, TimesFollowDates) {
  const auto times = [](const std::string& cell) {
    const Table table = read("a,t\n1," + cell + "\n");
    return table.fields[0].format.type == ColumnType::timestamp ? fields_of(table)[0] : "no time";
  };
  EXPECT_EQ(times("31.12.2024 14:30"), "1735655400");
  EXPECT_EQ(times("31/12/2024 14:30:05"), "1735655405");
  EXPECT_EQ(times("12/31/2024 2:30 PM"), "1735655400");
  EXPECT_EQ(times("12/31/2024 2:30:00pm"), "1735655400");
  EXPECT_EQ(times("12/31/2024 12:00 AM"), "1735603200");
  EXPECT_EQ(times("31.12.2024 9:05"), "1735635900");
  EXPECT_EQ(times("2024/12/31T14:30:05.25Z"), "1735655405250");
  for (const char* cell : {"31.12.2024 25:00", "31.12.2024 14", "12/31/2024 13:00 PM", "12/31/2024 0:30 am",
                           "31.12.2024-14:30", "12/31/2024 PM", "12/31/2024 "})
    EXPECT_EQ(times(cell), "no time") << cell;
}

TEST(Dialect, WordsAreBooleansWhereTheColumnIsSaidToHoldThem) {
  const std::string text = "a,b\n1,yes\n2,No\n3,\n";
  EXPECT_EQ(fields_of(read(text))[0], "'yes'");
  EXPECT_EQ(fields_of(read(text, {.types = {{"b", ColumnType::boolean}}})), (Strings{"1", "0", "-"}));
  EXPECT_EQ(fields_of(read("a,b\n1,0\n2,1\n", {.types = {{"b", ColumnType::boolean}}})), (Strings{"0", "1"}));
  EXPECT_EQ(refusal_in("a,b\n1,maybe\n", {.types = {{"b", ColumnType::boolean}}}),
            "t.csv:2:2: expected true or false in column \"b\", found \"maybe\"");
}

// Blanks around a cell change nothing, but keep it off the fast path.
TEST(Dialect, ShapesOfSimpleNumbersAreThoseOfAll) {
  constexpr std::string_view kLetters = "015.,-";
  std::size_t num_numbers = 0;
  for (std::size_t length = 1; length <= 6; ++length) {
    std::size_t num_cells = 1;
    for (std::size_t i = 0; i < length; ++i) num_cells *= kLetters.size();
    for (std::size_t number = 0; number < num_cells; ++number) {
      std::string cell;
      for (std::size_t rest = number; cell.size() < length; rest /= kLetters.size())
        cell += kLetters[rest % kLetters.size()];
      const NumberShape shape = shape_of(cell), same = shape_of(" " + cell);
      num_numbers += shape.is_number ? 1 : 0;
      ASSERT_EQ(shape.is_number, same.is_number) << cell;
      if (!shape.is_number) continue;
      const auto marks = [](const NumberShape& of) {
        return std::vector<bool>{of.has_point,       of.has_comma,       of.may_have_point, of.may_have_comma,
                                 of.groups_by_point, of.groups_by_comma, of.ends_with_zero};
      };
      ASSERT_EQ(marks(shape), marks(same)) << cell;
    }
  }
  EXPECT_GT(num_numbers, 1'000u);
}

TEST(Dialect, TheLineThatTellsExcelTheDelimiterIsNamed) {
  for (const std::string text : {"sep=;\nid;a\n1;2\n", "\xEF\xBB\xBFsep=,\r\nid,a\r\n1,2\r\n"}) {
    const std::string error = error_of<InputError>([&] { parse_csv(text, "t.csv"); });
    EXPECT_TRUE(error.starts_with("t.csv:1:1: expected a header line, found \"sep=")) << error;
  }
  EXPECT_EQ(parse_csv("sep=;,a\n1,2\n", "t.csv").attributes.size(), 2u) << "a name";
}

}  // namespace
}  // namespace culmen::io
