#include "table/csv_reader.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "table/csv_record.h"
#include "table/window_stream.h"
#include "tests/cases.h"
#include "tests/table/reader_testing.h"

namespace culmen::io {
namespace {

using culmen::testing::column_of;
using culmen::testing::error_of;
using culmen::testing::labels_of;
using culmen::testing::names_of;
using Strings = std::vector<std::string>;

std::string error_in(std::string_view text, const ReadOptions& options = {}) {
  return error_of<InputError>([&] { parse_csv(text, "t.csv", options); });
}

Table parse_in_tiny_chunks(std::string_view text, const ReadOptions& options, const CsvTuning& tuning) {
  MemorySource source(text);
  return read_csv(source, "t.csv", options, ',', tuning);
}

TEST(CsvReader, ReadsEveryColumnByDefault) {
  const Table table = parse_csv("price,rating\n10,4.5\n-2.5e1,3\n", "t.csv");
  EXPECT_EQ(table.num_rows, 2u);
  EXPECT_EQ(names_of(table), (Strings{"price", "rating"}));
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{10, -25}));
  EXPECT_EQ(column_of(table, 1), (std::vector<double>{4.5, 3}));
  EXPECT_TRUE(table.ids.empty());
  EXPECT_TRUE(table.labels.offsets.empty());
  EXPECT_EQ(table.columns[0].type, ElementType::float64);
}

TEST(CsvReader, ReadsNamedColumnsInTheOrderAskedForWithIdsAndLabels) {
  ReadOptions options;
  options.attributes = {{"stars"}, {"price", Preference::low}};
  options.id_column = "key";
  options.label_column = "name";
  options.columns.emplace();  // none besides
  const Table table =
      parse_csv("name,price,key,note,stars\nRitz,900,7,\xFF,5.5\n,80.25,-3,,2\n", "t.csv", options);
  EXPECT_EQ(table.attributes, options.attributes);
  EXPECT_TRUE(table.fields.empty());
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{5.5, 2}));
  EXPECT_EQ(column_of(table, 1), (std::vector<double>{900, 80.25}));
  EXPECT_EQ(table.id_name, "key");
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{7, -3}));
  EXPECT_EQ(labels_of(table), (Strings{"Ritz", ""}));
  EXPECT_EQ(table.label_name, "name");
}

TEST(CsvReader, NamesColumnsWithoutANameByTheirPlaces) {
  const Table table = parse_csv(",b,\"\", \n0,1,2,3\n5,6,7,8\n", "t.csv");
  EXPECT_EQ(names_of(table), (Strings{"column0", "b", "column2", "column3"}));
  EXPECT_EQ(column_of(table, 2), (std::vector<double>{2, 7}));
  ReadOptions options;
  options.id_column = "column0";
  EXPECT_EQ(parse_csv(",b\n4,1\n7,1\n", "t.csv", options).ids, (std::vector<std::int64_t>{4, 7}));
}

TEST(CsvReader, LeavesIdAndLabelOutOfTheDefaultAttributes) {
  ReadOptions options;
  options.id_column = "id";
  options.label_column = "name";
  EXPECT_EQ(names_of(parse_csv("id,a,name,b\n1,2,x,3\n", "t.csv", options)), (Strings{"a", "b"}));
}

TEST(CsvReader, TakesQuotesCrlfAndAByteOrderMark) {
  ReadOptions options;
  options.label_column = "na,me";
  const Table table = parse_csv("\xEF\xBB\xBF\"a\",\"na,me\"\r\n\"1.5\",\"x \"\"y\"\"\r\nz\"\r\n2,\xC3\xBC",
                                "t.csv", options);
  EXPECT_EQ(names_of(table), Strings{"a"});
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{1.5, 2}));
  EXPECT_EQ(labels_of(table), (Strings{"x \"y\"\r\nz", "\xC3\xBC"}));
}

TEST(CsvReader, DropsOneByteOrderMarkOnly) {
  EXPECT_EQ(names_of(parse_csv("\xEF\xBB\xBF\xEF\xBB\xBFy\n1\n", "t.csv")), Strings{"\xEF\xBB\xBFy"});
}

TEST(CsvReader, FindsTheHeaderBehindAByteOrderMarkThatFillsTheFirstWindow) {
  const Table table = parse_in_tiny_chunks(
      "\xEF\xBB\xBF"
      "a,b\n1,2\n",
      {}, {.window_bytes = 3, .chunk_bytes = 1});
  EXPECT_EQ(names_of(table), (Strings{"a", "b"}));
  EXPECT_EQ(column_of(table, 1), std::vector<double>{2});
}

TEST(CsvReader, TakesAHeaderWithoutRows) {
  ReadOptions options;
  options.label_column = "name";
  for (const char* text : {"a,name\n", "a,name"}) {
    const Table table = parse_csv(text, "t.csv", options);
    EXPECT_EQ(table.num_rows, 0u);
    EXPECT_EQ(table.columns.size(), 1u);
    EXPECT_EQ(table.labels.offsets, std::vector<std::uint64_t>{0});
  }
}

TEST(CsvReader, ReadsTabSeparatedText) {
  EXPECT_EQ(column_of(parse_csv("a\tb\n1\t 2\n", "t.tsv", {}, '\t'), 1), std::vector<double>{2});
}

TEST(CsvReader, RefusesDelimitersThatCouldBePartOfACell) {
  for (const char delimiter : {'"', '\n', '\r', '\0', '.', '-', '1', 'e'}) {
    EXPECT_NE(
        error_of<InvalidArgument>([&] { parse_csv("a\n1\n", "t.csv", {}, delimiter); }).find("delimiter"),
        std::string::npos);
  }
}

TEST(CsvReader, ReadsOneColumnTwiceAsIdAndAttribute) {
  ReadOptions options;
  options.attributes = {{"id"}};
  options.id_column = "id";
  const Table table = parse_csv("id,b\n7,x\n8,y\n", "t.csv", options);
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{7, 8}));
}

TEST(CsvReader, StoresMinusZeroAsZero) {
  const double value = column_of(parse_csv("a\n-0.0\n", "t.csv"), 0)[0];
  EXPECT_EQ(std::bit_cast<std::uint64_t>(value), 0u);
}

struct Refusal {
  std::string text;
  std::string error;
};

TEST(CsvReader, NamesFileLineAndColumnOfWhatItRefuses) {
  const std::string ragged = "expected 2 fields as in the header, found ";
  const std::string encoding =
      " (is it Windows-1252 or Latin-1? convert it with: iconv -f WINDOWS-1252 -t UTF-8)";
  const Refusal cases[] = {
      {"", "t.csv:1:1: expected a header line, found an empty file"},
      {"\xEF\xBB\xBF", "t.csv:1:1: expected a header line, found an empty file"},
      {"a,b\n1,2\n3\n", "t.csv:3:2: " + ragged + "1"},
      {"a,b\n1,2\n3,4,5\n", "t.csv:3:3: " + ragged + "3"},
      {"a,b\n1,2\n\n3\n", "t.csv:4:2: " + ragged + "1"},
      {"a,b\nx,2,3\n", "t.csv:2:3: " + ragged + "3"},
      {"a,b\n1,-inf\n", "t.csv:2:2: expected a number in column \"b\", found \"-inf\""},
      {"a,b\n1,1e999\n",
       "t.csv:2:2: expected a number in column \"b\", found \"1e999\", beyond the range of float64"},
      {"a,b\n1,2\n1,2\r3,4\n",
       "t.csv:3:2: a carriage return without a line feed after it (expected LF or CRLF line ends)"},
      {"a,b\n1,2\n1,3\"\n",
       "t.csv:3:2: a quote within an unquoted field (quote the whole field and double the quote)"},
      {"a,b\n1,\"2\"3\n", "t.csv:2:2: text after the closing quote of a field"},
      {"a,b\n1,2\n3,\"4\n5,6\n", "t.csv:3:2: a quote that is never closed"},
      {std::string("a,b\n1,2\n1,\0\n", 12),
       "t.csv:3:2: a NUL byte (is the file UTF-16, or not text at all?)"},
      {"a,b,a\n1,2,3\n", "t.csv:1:3: the column name \"a\" appears twice"},
      {",column0\n1,2\n", "t.csv:1:2: the column name \"column0\" appears twice"},
      {"1,2\n3,4\n",
       "t.csv:1:1: expected a header line, found only numbers: are they names, which may have quotes, or the "
       "first row of a file without a header?"},
      {"a,\xC3\n1,2\n", "t.csv:1:2: expected a UTF-8 column name, found \"\\xc3\"" + encoding},
      {"\"a\nb\",c\"\n",
       "t.csv:2:2: a quote within an unquoted field (quote the whole field and double the quote)"},
      {std::string("\xFF\xFE"
                   "a\0",
                   4),
       "t.csv:1:1: expected UTF-8 text, found UTF-16 (convert it with: iconv -f UTF-16 -t UTF-8)"},
      {std::string("\xFE\xFF\0a", 4),
       "t.csv:1:1: expected UTF-8 text, found UTF-16 (convert it with: iconv -f UTF-16 -t UTF-8)"},
      {"\x1F\x8B\x08\x02",
       "t.csv:1:1: expected UTF-8 text, found gzip data (decompress it with gzip -dc, or give it as a file "
       "named .csv.gz)"},
      {"\x28\xB5\x2F\xFD",
       "t.csv:1:1: expected UTF-8 text, found zstd data (decompress it with zstd -dc, or give it as a file "
       "named .csv.zst)"},
      {"\xFD\x37zXZ",
       "t.csv:1:1: expected UTF-8 text, found xz data (decompress it with xz -dc, or give it as a file "
       "named .csv.xz)"},
      {"PK\x03\x04\x14",
       "t.csv:1:1: expected UTF-8 text, found a ZIP archive or a spreadsheet (unpack it, or save it as CSV)"},
      {"\x93NUMPY\x01", "t.csv:1:1: expected UTF-8 text, found a NumPy array (give it as a file named .npy)"},
      {std::string("a\0\n\0", 4), "t.csv:1:1: a NUL byte (is the file UTF-16, or not text at all?)"},
  };
  for (const Refusal& refusal : cases) EXPECT_EQ(error_in(refusal.text), refusal.error) << refusal.text;
}

// In all files of one column, as it seems, whose header has another separator.
TEST(CsvReader, HintsAtAnotherSeparator) {
  const std::string semicolon = " (the header has a semicolon and no comma: is that the delimiter?)";
  const std::string tab = " (the header has a tab and no comma: is that the delimiter?)";
  const std::pair<std::string, std::string> cases[] = {
      {"a;b\n1;2\n", semicolon},
      {"a;b\n1,5;2\n", semicolon},
      {"a;\"b\"\n1;2\n", semicolon},
      {"\"a\";\"b\"\r\n1;2\r\n", semicolon},
      {"a;b\n1;\"x\"\n", semicolon},
      {"a\tb\n1\t2\n", tab},
      {"a|b\n1|2\n", " (the header has a bar and no comma: is that the delimiter?)"},
      {"a;b,c\n1,x\n2\n", ""},
      {"\"a;b\"\nx\n", ""},
      {"name\nx;y\n", ""},
  };
  for (const auto& [text, hint] : cases) {
    const std::string error = error_in(text);
    EXPECT_TRUE(error.ends_with(hint)) << text << error;
    EXPECT_EQ(error.find("the header has") != std::string::npos, !hint.empty()) << error;
  }
  EXPECT_EQ(error_of<InvalidArgument>([] { parse_csv("a;b\n1;2\n", "t.csv", {.id_column = "a"}); }),
            "t.csv: no column \"a\"; the columns are \"a;b\"" + semicolon);
  EXPECT_EQ(
      error_of<InputError>([] { parse_csv("a,b\nx,y\n", "t.tsv", {}, '\t'); }),
      "t.tsv: no attribute: expected at least one numeric column besides id and label; the other columns are "
      "\"a,b\" (the header has a comma and no tab: is that the delimiter?)");
}

TEST(CsvReader, NamesTheCellOfAnAttributeThatIsNoNumber) {
  ReadOptions options;
  options.attributes = {{"a"}, {"b"}};
  options.nulls = NullPolicy::reject;
  const Refusal cases[] = {
      {"a,b\n1,x\n", "t.csv:2:2: expected a number in column \"b\", found \"x\""},
      {"a,b\r\n1,2\r\n1,1.2.3\r\n", "t.csv:3:2: expected a number in column \"b\", found \"1.2.3\""},
      {"a,b\n1,\n", "t.csv:2:2: expected a number in column \"b\", found an empty cell"},
      {"a,b\n 1,\"\"\n", "t.csv:2:2: expected a number in column \"b\", found an empty cell"},
      {"a,b\nNaN,2\n", "t.csv:2:1: expected a number in column \"a\", found \"NaN\""},
      {"a,b\n9007199254740993,1\n",
       "t.csv:2:1: expected a number in column \"a\", found \"9007199254740993\", an integer beyond 2^53 "
       "that "
       "float64 cannot hold exactly"},
      {"a,b\n\"1\n2\n\n3\",y\n",
       "t.csv:2:1: expected a number in column \"a\", found \"1\\x0a2\\x0a\\x0a3\""},
  };
  for (const Refusal& refusal : cases)
    EXPECT_EQ(error_in(refusal.text, options), refusal.error) << refusal.text;
}

TEST(CsvReader, ReadsNamesThatAreNumbersIfTheyAreQuotedOrChosen) {
  EXPECT_EQ(parse_csv("\"1\",\"2\"\n3,4\n", "t.csv").num_rows, 1u);
  EXPECT_EQ(parse_csv("1,b\n3,4\n", "t.csv").num_rows, 1u);
  ReadOptions options;
  options.attributes = {{"2"}};
  EXPECT_EQ(parse_csv("1,2\n3,4\n", "t.csv", options).num_rows, 1u);
}

TEST(CsvReader, SaysWhatWouldHelp) {
  using Remedy = InputError::Remedy;
  const auto remedy_of = [](const std::string& text, const ReadOptions& options) {
    try {
      parse_csv(text, "t.csv", options);
    } catch (const InputError& error) {
      return error.remedy();
    }
    ADD_FAILURE() << "accepted: " << text;
    return Remedy::none;
  };
  ReadOptions all, chosen;
  chosen.attributes = {{"a"}};
  all.nulls = chosen.nulls = NullPolicy::reject;
  for (const char* null : {"", "nan", "inf"}) {
    EXPECT_EQ(remedy_of("a,b\n" + std::string(null) + ",1\n1,1\n", all), Remedy::drop_nulls) << null;
    EXPECT_EQ(remedy_of("a,b\n" + std::string(null) + ",1\n1,1\n", chosen), Remedy::drop_nulls) << null;
  }
  EXPECT_EQ(remedy_of("a,b\ninf,1\n1,1\n", {}), Remedy::drop_nulls);
  EXPECT_EQ(remedy_of("a,b\n1,\xFF\n", {}), Remedy::choose_columns);
  EXPECT_EQ(remedy_of("a,b\nx,1\n", chosen), Remedy::none);
  EXPECT_EQ(remedy_of("a;b\n1;2\n", {}), Remedy::choose_attributes);
  EXPECT_EQ(remedy_of("a,b\n1e999,1\n", {}), Remedy::none);
  EXPECT_EQ(remedy_of("a,b\n1,\"\n", {}), Remedy::none);
}

TEST(CsvReader, KnowsTheLineOfEachRow) {
  ReadOptions options;
  options.attributes = {{"a"}};
  options.nulls = NullPolicy::drop;
  const Table table = parse_csv("a,b\n1,x\n,x\n2,\"two\nlines\"\n3,x\n", "t.csv", options);
  ASSERT_EQ(table.num_rows, 3u);
  EXPECT_EQ(table.location_of_row(0), "t.csv:2");
  EXPECT_EQ(table.location_of_row(1), "t.csv:4");
  EXPECT_EQ(table.location_of_row(2), "t.csv:6");
}

TEST(CsvReader, CountsPhysicalLinesBehindQuotedLineEnds) {
  ReadOptions options;
  options.attributes = {{"a"}};
  EXPECT_EQ(error_in("a,b\n1,\"x\ny\nz\"\nbad,1\n", options),
            "t.csv:5:1: expected a number in column \"a\", found \"bad\"");
  options.attributes = {{"b"}};
  EXPECT_EQ(error_in("a,b\n\"x\ny\",bad\n", options),
            "t.csv:3:2: expected a number in column \"b\", found \"bad\"");
}

TEST(CsvReader, RefusesIdsThatAreNotUniqueIntegers) {
  ReadOptions options;
  options.id_column = "id";
  const std::string expected = "expected a 64-bit integer in column \"id\", found ";
  EXPECT_EQ(error_in("id,a\n7.0,1\n", options), "t.csv:2:1: " + expected + "\"7.0\"");
  EXPECT_EQ(error_in("id,a\n7,2\nx,1\n", options), "t.csv:3:1: " + expected + "\"x\"");
  EXPECT_EQ(error_in("id,a\n18446744073709551616,1\n", options),
            "t.csv:2:1: " + expected + "\"18446744073709551616\", beyond the ranges of int64 and uint64");
  EXPECT_EQ(error_in("id,a\n-9223372036854775809,1\n", options),
            "t.csv:2:1: " + expected + "\"-9223372036854775809\", beyond the ranges of int64 and uint64");
  EXPECT_EQ(error_in("id,a\n,1\n", options), "t.csv:2:1: " + expected + "an empty cell");
  EXPECT_EQ(error_in("a,id\n1,5\n2,\"6\"\n3,\"\n5\"\n4,6\n5,5\n", options),
            "t.csv:4:2: " + expected + "\"\\x0a5\"");
  EXPECT_EQ(error_in("id,a\n5,1\n4,1\n6,1\n4,1\n5,1\n", options),
            "t.csv:5:1: expected unique ids in column \"id\", found 4 again (first on line 3)");
}

TEST(CsvReader, NamesTheLinesOfARepeatedIdBehindDroppedRowsAndLongRecords) {
  ReadOptions options;
  options.id_column = "id";
  options.label_column = "name";
  options.nulls = NullPolicy::drop;
  EXPECT_EQ(error_in("id,a,name\n3,1,x\n5,,y\n4,2,\"p\nq\"\n5,3,z\n4,4,w\n", options),
            "t.csv:7:1: expected unique ids in column \"id\", found 4 again (first on line 4)");
}

TEST(CsvReader, KeepsIdsThatAFloatCouldNotHold) {
  ReadOptions options;
  options.id_column = "id";
  const Table table = parse_csv("id,a\n9007199254740993,1\n9223372036854775807,2\n", "t.csv", options);
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{9007199254740993, 9223372036854775807}));
}

std::vector<std::string> texts_as_ids(const Table& table) {
  EXPECT_EQ(table.id_type, IdType::text);
  EXPECT_EQ(table.id_name, "id");
  EXPECT_EQ(table.label_name, "");
  EXPECT_TRUE(table.ids.empty());
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < table.num_rows; ++row) texts.emplace_back(table.labels.view()[row]);
  return texts;
}

TEST(CsvReader, FindsWhetherIdsAreTexts) {
  using Texts = std::vector<std::string>;
  ReadOptions options;
  options.id_column = "id";
  EXPECT_EQ(texts_as_ids(parse_csv("id,a\nx,1\n", "t.csv", options)), Texts{"x"});
  EXPECT_EQ(texts_as_ids(parse_csv("a,id\n1,\"a,b\"\n2,é\n3,7\n", "t.csv", options)),
            (Texts{"a,b", "é", "7"}));
  EXPECT_EQ(texts_as_ids(parse_json_lines("{\"id\":\"x\",\"a\":1}\n", "t.jsonl", options)), Texts{"x"});
  // As many numbers as texts, and dates: asked for, they are texts.
  for (const char* text : {"id,a\n7,1\nx,2\n", "id,a\n2024-01-01,1\n2024-01-02,2\n"}) {
    options.id_type = std::nullopt;
    EXPECT_NE(error_in(text, options).find("expected a 64-bit integer"), std::string::npos) << text;
    options.id_type = IdType::text;
    EXPECT_EQ(texts_as_ids(parse_csv(text, "t.csv", options)).size(), 2u);
  }
  options.label_column = "a";
  EXPECT_THROW(parse_csv("id,a\nx,1\n", "t.csv", options), InvalidArgument);
  options.id_type = std::nullopt;
  EXPECT_THROW(parse_csv("id,a\nx,1\n", "t.csv", options), InvalidArgument);
}

// An empty text is one, as in a field of texts.
TEST(CsvReader, AnEmptyCellIsNoIdThatIsAText) {
  using Texts = std::vector<std::string>;
  ReadOptions options;
  options.id_column = "id";
  EXPECT_EQ(texts_as_ids(parse_csv("id,a\nx,1\n\"\",2\n", "t.csv", options)), (Texts{"x", ""}));
  for (const std::string text : {"id,a\nx,1\n,2\n", "a,id\n1,x\n\"2\",\n"}) {
    EXPECT_EQ(error_in(text, options), "t.csv:3:" + std::string(text.front() == 'i' ? "1" : "2") +
                                           ": expected a text in column \"id\", found an empty cell");
    ReadOptions drops = options;
    drops.nulls = NullPolicy::drop;
    EXPECT_EQ(texts_as_ids(parse_csv(text, "t.csv", drops)), Texts{"x"});
  }
  EXPECT_NE(error_of<InputError>([&] {
              parse_json_lines("{\"id\":\"x\",\"a\":1}\n{\"id\":null,\"a\":2}\n", "t.jsonl", options);
            }).find("t.jsonl:2:1: expected a text"),
            std::string::npos);
  const culmen::testing::ScratchFolder folder;
  const Table empty = parse_csv("id,a\nx,1\n\"\",2\n", "t.csv", options);
  write_table(empty, folder.path() + "/t.csv");
  EXPECT_EQ(texts_as_ids(read_table(folder.path() + "/t.csv", options)), (Texts{"x", ""}));
}

// --null says so of all cells.
TEST(CsvReader, AWordForAMissingValueIsNoIdThatIsAText) {
  using Texts = std::vector<std::string>;
  ReadOptions options;
  options.id_column = "id";
  options.dialect.null_words = {"NA"};
  for (const std::string text : {"id,a\nx,1\nNA,2\n", "id,a\nx,\"1\"\nNA,\"2\"\n"}) {
    EXPECT_EQ(error_in(text, options),
              "t.csv:3:1: expected a text in column \"id\", found \"NA\", a missing value");
    ReadOptions drops = options;
    drops.nulls = NullPolicy::drop;
    EXPECT_EQ(texts_as_ids(parse_csv(text, "t.csv", drops)), Texts{"x"});
  }
  EXPECT_EQ(texts_as_ids(parse_csv("id,a\nx,1\n\"NA\",2\n", "t.csv", options)), (Texts{"x", "NA"}));
}

TEST(CsvReader, AWordForAMissingValueIsNoIdThatIsANumber) {
  ReadOptions options;
  options.id_column = "id";
  ReadOptions drops = options;
  drops.nulls = NullPolicy::drop;
  const auto is_refused = [&](const std::string& text, const std::string& word) {
    EXPECT_EQ(error_in(text, options), "t.csv:3:1: expected a 64-bit integer in column \"id\", found \"" +
                                           word + "\", a missing value");
    EXPECT_EQ(parse_csv(text, "t.csv", drops).ids, (std::vector<std::int64_t>{1, 3}));
  };
  is_refused("id,a\n1,1\nNA,2\n3,3\n", "NA");
  is_refused("id,a\n1,\"1\"\nNA,\"2\"\n3,3\n", "NA");
  EXPECT_EQ(parse_csv("id,a\n1,1\n-1,2\n", "t.csv", options).ids, (std::vector<std::int64_t>{1, -1}));
  options.dialect.null_words = drops.dialect.null_words = {"-1"};
  is_refused("id,a\n1,1\n-1,2\n3,3\n", "-1");
  is_refused("id,a\n1,\"1\"\n-1,\"2\"\n3,3\n", "-1");
}

// Codes such as 007 are one or the other, and only their owner knows.
TEST(CsvReader, AsksForTheTypeOfIdsWithLeadingZeros) {
  using Texts = std::vector<std::string>;
  ReadOptions options;
  options.id_column = "id";
  const std::string found =
      "t.csv:3:1: expected a 64-bit integer in column \"id\", found \"007\", whose leading zeros "
      "a number does not keep";
  for (const std::string text : {"id,a\n7,1\n007,2\n", "id,a\n7,1\n\"007\",2\n"}) {
    options.id_type = std::nullopt;
    EXPECT_EQ(error_in(text, options), found);
    try {
      parse_csv(text, "t.csv", options);
    } catch (const InputError& error) {
      EXPECT_EQ(error.remedy(), InputError::Remedy::give_id_type);
    }
    options.id_type = IdType::text;
    EXPECT_EQ(texts_as_ids(parse_csv(text, "t.csv", options)), (Texts{"7", "007"}));
  }
  options.id_type = IdType::int64;
  EXPECT_EQ(parse_csv("id,a\n-0,1\n007,2\n", "t.csv", options).ids, (std::vector<std::int64_t>{0, 7}));
  options.id_type = IdType::uint64;
  EXPECT_EQ(parse_csv("id,a\n0,1\n007,2\n", "t.csv", options).ids[1], id_of_uint64(7));
  options.id_type = std::nullopt;
  EXPECT_EQ(parse_csv("id,a\n0,1\n-10,2\n", "t.csv", options).ids, (std::vector<std::int64_t>{0, -10}));
  EXPECT_NE(error_of<InputError>([&] {
              parse_json_lines("{\"id\":1,\"a\":1}\n{\"id\":\"01\",\"a\":2}\n", "t.jsonl", options);
            }).find("leading zeros"),
            std::string::npos);
}

constexpr std::uint64_t kLargestNumber = std::numeric_limits<std::uint64_t>::max();

TEST(CsvReader, FindsWhetherIdsAreUnsigned) {
  ReadOptions options;
  options.id_column = "id";
  EXPECT_EQ(parse_csv("id,a\n7,1\n-3,2\n", "t.csv", options).id_type, IdType::int64);
  for (const char* text : {"id,a\n7,1\n18446744073709551615,2\n", "id,a\n 7,1\n\"+18446744073709551615\",2\n",
                           "id,a\n7,1\n18446744073709551615 ,2\n"}) {
    const Table table = parse_csv(text, "t.csv", options);
    EXPECT_EQ(table.id_type, IdType::uint64) << text;
    EXPECT_EQ(table.ids, (std::vector<std::int64_t>{id_of_uint64(7), id_of_uint64(kLargestNumber)})) << text;
  }
  const Table lines =
      parse_json_lines("{\"id\":7,\"a\":1}\n{\"id\":18446744073709551615,\"a\":2}\n", "t.jsonl", options);
  EXPECT_EQ(lines.id_type, IdType::uint64);
  EXPECT_EQ(lines.ids, (std::vector<std::int64_t>{id_of_uint64(7), id_of_uint64(kLargestNumber)}));
}

TEST(CsvReader, RefusesNegativeIdsBesideLargeOnes) {
  ReadOptions options;
  options.id_column = "id";
  EXPECT_EQ(
      error_in("id,a\n7,1\n9223372036854775808,2\n4,1\n-5,3\n-6,3\n", options),
      "t.csv:5:1: expected an integer from 0 to 2^64 - 1, found -5: ids of 2^63 and more, as on line 3, "
      "are uint64, and then none is negative");
  EXPECT_EQ(
      error_in("id,a\n9223372036854775809,1\n9223372036854775809,2\n", options),
      "t.csv:3:1: expected unique ids in column \"id\", found 9223372036854775809 again (first on line 2)");
  // A row that is left out tells nothing.
  options.nulls = NullPolicy::drop;
  const Table table = parse_csv("id,a\n-5,1\n9223372036854775808,\n", "t.csv", options);
  EXPECT_EQ(table.id_type, IdType::int64);
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{-5}));
}

TEST(CsvReader, TakesIdsAsTheTypeThatIsGiven) {
  ReadOptions options;
  options.id_column = "id";
  options.id_type = IdType::uint64;
  EXPECT_EQ(parse_csv("id,a\n7,1\n\"9\",2\n", "t.csv", options).ids,
            (std::vector<std::int64_t>{id_of_uint64(7), id_of_uint64(9)}));
  for (const char* text : {"id,a\n7,1\n-5,2\n", "id,a\n7,1\n\"-5\",2\n"})
    EXPECT_EQ(
        error_in(text, options),
        "t.csv:3:1: expected an integer from 0 to 2^64 - 1 in column \"id\", found \"-5\", beyond the range "
        "of uint64, which the ids are");
  options.id_type = IdType::int64;
  EXPECT_EQ(error_in("id,a\n7,1\n9223372036854775808,2\n", options),
            "t.csv:3:1: expected a 64-bit integer in column \"id\", found \"9223372036854775808\", beyond "
            "the range "
            "of int64: ids above it need an index of uint64 ids");
}

TEST(CsvReader, FindsUnsignedIdsInAnyChunk) {
  ReadOptions options;
  options.id_column = "id";
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::string text = "id,a\n";
    std::vector<std::int64_t> small, unsigned_ids;
    const std::size_t num_rows = 1 + random() % 60;
    const std::size_t large = random() % (2 * num_rows);  // often none
    for (std::size_t row = 0; row < num_rows; ++row) {
      const std::uint64_t number = row == large ? random() | std::uint64_t{1} << 63 : random() >> 1;
      text += (random() % 4 == 0 ? " " : "") + std::to_string(number) + "," + std::to_string(row) + "\n";
      small.push_back(static_cast<std::int64_t>(number));
      unsigned_ids.push_back(id_of_uint64(number));
    }
    const Table table = parse_in_tiny_chunks(text, options, {.window_bytes = 200, .chunk_bytes = 40});
    ASSERT_EQ(table.id_type, large < num_rows ? IdType::uint64 : IdType::int64) << text;
    ASSERT_EQ(table.ids, large < num_rows ? unsigned_ids : small) << text;
  }
}

TEST(CsvReader, RefusesLabelsThatAreNotUtf8) {
  ReadOptions options;
  options.label_column = "name";
  EXPECT_EQ(error_in("a,name\n1,ok\n2,caf\xE9\n", options),
            "t.csv:3:2: expected UTF-8 text in column \"name\", found \"caf\\xe9\" (is it Windows-1252 or "
            "Latin-1? convert it with: iconv -f WINDOWS-1252 -t UTF-8)");
}

TEST(CsvReader, DropsRowsWithNullsInColumnsThatAreRead) {
  ReadOptions options;
  options.attributes = {{"a"}, {"b"}};
  options.id_column = "id";
  options.label_column = "name";
  options.nulls = NullPolicy::drop;
  const Table table = parse_csv(
      "id,a,b,c,name\n1,1,2,,one\n2,,2,3,two\n3,nan,2,3,three\n4,4,5,nan,four\n,1,1,1,five\n6,1,inf,1,six\n",
      "t.csv", options);
  EXPECT_EQ(table.num_rows, 2u);
  EXPECT_EQ(table.num_dropped_rows, 4u);
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{1, 4}));
  EXPECT_EQ(labels_of(table), (Strings{"one", "four"}));
  EXPECT_EQ(column_of(table, 1), (std::vector<double>{2, 5}));
}

TEST(CsvReader, KnowsTheNumbersOfDroppedRowsWhereNoColumnHasIds) {
  ReadOptions options;
  options.nulls = NullPolicy::drop;
  const std::string text = "id,a\n9,\n8,1\n7,nan\n6,inf\n5,2\n4,3\n3,\n";
  EXPECT_EQ(parse_csv(text, "t.csv", options).dropped_rows, (std::vector<std::uint64_t>{0, 2, 3, 6}));
  options.id_column = "id";
  const Table table = parse_csv(text, "t.csv", options);
  EXPECT_EQ(table.num_dropped_rows, 4u);
  EXPECT_TRUE(table.dropped_rows.empty());
}

TEST(CsvReader, RefusesTextEvenInRowsThatAreDropped) {
  ReadOptions options;
  options.nulls = NullPolicy::drop;
  options.attributes = {{"a"}, {"b"}};
  EXPECT_EQ(error_in("a,b\n,x\n", options).substr(0, 12), "t.csv:2:2: e");
  EXPECT_EQ(error_in("a,b\n,1e999\n", options).substr(0, 12), "t.csv:2:2: e");
}

TEST(CsvReader, RefusesColumnsThatCannotBeChosen) {
  const std::string text = "a,b\n1,2\n";
  ReadOptions options;
  options.attributes = {{"c"}};
  EXPECT_EQ(error_of<InvalidArgument>([&] { parse_csv(text, "t.csv", options); }),
            "t.csv: no column \"c\"; the columns are \"a\", \"b\"");
  options.attributes = {{"a"}, {"a", Preference::low}};
  EXPECT_EQ(error_of<InvalidArgument>([&] { parse_csv(text, "t.csv", options); }),
            "attribute \"a\" is named twice");
  options.attributes = {};
  options.id_column = "key";
  EXPECT_EQ(error_of<InvalidArgument>([&] { parse_csv(text, "t.csv", options); }),
            "t.csv: no column \"key\"; the columns are \"a\", \"b\"");
  options.id_column = "a";
  options.label_column = "b";
  EXPECT_EQ(error_in(text, options),
            "t.csv: no attribute: expected at least one numeric column besides id and label");
  EXPECT_EQ(
      error_in("name,city\nx,y\n"),
      "t.csv: no attribute: expected at least one numeric column besides id and label; the other columns "
      "are \"name\", \"city\"");
  options.num_threads = -1;
  EXPECT_EQ(error_of<InvalidArgument>([&] { parse_csv(text, "t.csv", options); }),
            "num_threads must not be negative");
}

TEST(CsvReader, CapsTheNumberOfColumns) {
  std::string header = "c0";
  for (int i = 1; i < 4096; ++i) header += ",c" + std::to_string(i);
  ReadOptions options;
  options.attributes = {{"c4095"}};
  options.columns.emplace();
  EXPECT_EQ(parse_csv(header + "\n", "t.csv", options).columns.size(), 1u);
  EXPECT_EQ(error_in(header + ",one_more\n"), "t.csv:1:4097: expected at most 4096 columns, found 4097");
}

TEST(CsvReader, RefusesEndlessFieldsAndLinesOnceTheyPassTheCap) {
  const std::string field(100 << 10, '1');
  EXPECT_EQ(error_in("a,b\n1,2\n3," + field), "t.csv:3:2: a field longer than 64 KiB");
  EXPECT_EQ(error_in("a,b\n1,2\n3,\"" + field),
            "t.csv:3:2: a field longer than 64 KiB (is its quote not closed?)");
  std::string line = "a,b\n1,2\n";
  while (line.size() < (std::size_t{40} << 20)) line += "1234567,";
  EXPECT_EQ(error_in(line).substr(0, 6), "t.csv:");
  EXPECT_NE(error_in(line).find("a line longer than 16 MiB"), std::string::npos);
}

// Endless input; records where reading stopped.
class EndlessSource : public ByteSource {
 public:
  std::size_t read(char* out, std::size_t num_bytes) override {
    std::fill_n(out, num_bytes, 'x');
    if (num_bytes_ == 0) std::copy_n("aaa\n", 4, out);
    num_bytes_ += num_bytes;
    return num_bytes;
  }
  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }
  Progress progress() const override { return {num_bytes_, 0}; }

 private:
  std::uint64_t num_bytes_ = 0;
};

// As a file that another program still writes, or one of /proc, whose size is 0.
class UnderstatingSource : public MemorySource {
 public:
  using MemorySource::MemorySource;
  std::optional<std::uint64_t> num_bytes() const override { return 0; }
};

TEST(CsvReader, ReadsSourcesThatHoldMoreThanTheySay) {
  std::string text = "a,b\n";
  for (int row = 0; row < 50'000; ++row) text += std::to_string(row) + "," + std::to_string(row % 7) + "\n";
  for (const ReadPolicy policy : {ReadPolicy::when_asked, ReadPolicy::ahead}) {
    UnderstatingSource source(text);
    WindowStream windows(source, std::size_t{1} << 20, policy);
    std::string_view window = windows.next({});
    while (!windows.is_last()) window = windows.next(window);
    EXPECT_EQ(window, text);
  }
  UnderstatingSource source(text);
  const Table table = read_csv(source, "t.csv", {}, ',');
  ASSERT_EQ(table.num_rows, 50'000u);
  EXPECT_EQ(column_of(table, 0).back(), 49'999);
}

TEST(CsvReader, SkipsMoreBlankLinesBelowTheHeaderThanALineMayBeLong) {
  constexpr std::size_t kLines = kMaxLineBytes / 500;
  std::string text = "a,b\n";
  for (std::size_t line = 0; line < kLines; ++line) text += std::string(1000, ' ') + '\n';
  const Table table = parse_csv(text + "1,2\n", "t.csv");
  EXPECT_EQ(table.num_rows, 1u);
  EXPECT_EQ(error_in(text + "1,2,3\n"),
            "t.csv:" + std::to_string(kLines + 2) + ":3: expected 2 fields as in the header, found 3");
}

TEST(CsvReader, StopsReadingAnEndlessLine) {
  EndlessSource source;
  const std::string error = error_of<InputError>([&] { read_csv(source, "pipe", {}, ','); });
  EXPECT_EQ(error, "pipe:2:1: a field longer than 64 KiB");
  EXPECT_LE(source.progress().done_bytes, std::uint64_t{64} << 20);
}

TEST(CsvReader, ReportsRisingProgressUpToTheEnd) {
  std::string text = "a\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + "\n";
  std::vector<std::uint64_t> done;
  ReadOptions options;
  options.on_progress = [&](std::uint64_t done_bytes, std::uint64_t total_bytes) {
    EXPECT_EQ(total_bytes, text.size());
    done.push_back(done_bytes);
  };
  parse_in_tiny_chunks(text, options, {.window_bytes = 1000, .chunk_bytes = 100});
  EXPECT_GT(done.size(), 10u);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), text.size());
}

// ---- An obviously correct CSV parser, and random files ----

// The records of well-formed CSV; none if it is not RFC 4180.
std::optional<std::vector<Strings>> reference_records(const std::string& text) {
  std::vector<Strings> records;
  std::size_t pos = 0;
  while (pos < text.size()) {
    Strings record;
    for (bool more = true; more;) {
      std::string field;
      if (pos < text.size() && text[pos] == '"') {
        for (++pos;; ++pos) {
          if (pos >= text.size()) return std::nullopt;
          if (text[pos] != '"')
            field += text[pos];
          else if (pos + 1 < text.size() && text[pos + 1] == '"')
            field += text[pos++];
          else
            break;
        }
        ++pos;
      } else {
        while (pos < text.size() && std::string_view(",\n\r\"").find(text[pos]) == std::string_view::npos) {
          field += text[pos++];
        }
      }
      record.push_back(field);
      more = false;
      if (pos >= text.size()) break;
      if (text[pos] == ',') {
        more = true;
        ++pos;
      } else if (text[pos] == '\n') {
        ++pos;
      } else if (text.compare(pos, 2, "\r\n") == 0) {
        pos += 2;
      } else {
        return std::nullopt;
      }
    }
    const bool is_blank = record.size() == 1 && record[0].find_first_not_of(' ') == std::string::npos;
    if (!is_blank) records.push_back(record);
  }
  return records;
}

std::string random_cell(std::mt19937_64& random, bool is_label) {
  static const Strings kNumbers{"1",   "-2.5", "+3",      " 4 ",      "\"5\"",
                                "1e3", "0.25", "\"6.5\"", "12345678", "-0"};
  static const Strings kLabels{"x",        "",           "\"a,b\"", "\"q\"\"q\"", "\"two\nlines\"",
                               "\"\r\n\"", "plain text", "\"\""};
  const Strings& cells = is_label ? kLabels : kNumbers;
  return cells[random() % cells.size()];
}

// Columns: number, label, number. One byte in `mutation_period` rows is hit by a mutation; 0: none.
std::string random_csv(std::mt19937_64& random, int mutation_period) {
  const std::string line_end = random() % 2 ? "\n" : "\r\n";
  std::string text = "a,l,b" + line_end;
  const std::size_t num_rows = random() % 30;
  for (std::size_t row = 0; row < num_rows; ++row) {
    const std::size_t row_begin = text.size();
    text += random_cell(random, false) + "," + random_cell(random, true) + "," + random_cell(random, false) +
            line_end;
    if (mutation_period > 0 && random() % static_cast<unsigned>(mutation_period) == 0) {
      text[row_begin + random() % (text.size() - row_begin)] = ",\n\r\"x"[random() % 5];
    }
  }
  if (random() % 2) text.resize(text.size() - line_end.size());
  return text;
}

struct Outcome {
  std::string error;
  std::vector<double> a, b;
  Strings labels;
  std::vector<std::uint64_t> dropped_rows;

  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(const auto& parse) {
  Outcome outcome;
  try {
    const Table table = parse();
    outcome.a = column_of(table, 0);
    outcome.b = column_of(table, 1);
    outcome.labels = labels_of(table);
    outcome.dropped_rows = table.dropped_rows;
  } catch (const InputError& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// An empty cell is a missing value, and so is a dash.
bool is_number_of(const std::string& cell, double value) {
  const bool is_missing = cell.find_first_not_of(' ') == std::string::npos || cell == "-";
  return is_missing ? std::isnan(value) : value == std::strtod(cell.c_str(), nullptr);
}

ReadOptions random_file_options() {
  ReadOptions options;
  options.attributes = {{"a"}, {"b"}};
  options.label_column = "l";
  return options;
}

TEST(CsvReader, AgreesWithAReferenceParserOnRandomFiles) {
  std::mt19937_64 random(4);
  int num_accepted = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random_csv(random, round % 2 ? 20 : 0);
    const Outcome outcome = outcome_of([&] { return parse_csv(text, "t.csv", random_file_options()); });
    const auto records = reference_records(text);
    if (!records) {
      ASSERT_NE(outcome.error, "") << text;
      continue;
    }
    if (!outcome.error.empty()) {  // only for a reason that the reference does not know: shape or numbers
      ASSERT_NE(outcome.error.find("expected"), std::string::npos) << outcome.error << "\n" << text;
      continue;
    }
    ++num_accepted;
    ASSERT_EQ(outcome.a.size() + 1, records->size()) << text;
    for (std::size_t row = 0; row < outcome.a.size(); ++row) {
      const Strings& record = (*records)[row + 1];
      ASSERT_EQ(record.size(), 3u) << text;
      ASSERT_TRUE(is_number_of(record[0], outcome.a[row])) << text;
      ASSERT_EQ(outcome.labels[row], record[1]) << text;
      ASSERT_TRUE(is_number_of(record[2], outcome.b[row])) << text;
    }
  }
  EXPECT_GT(num_accepted, 1500);
}

TEST(CsvReader, GivesTheSameRowsAndTheSameErrorHoweverTheTextIsCut) {
  std::mt19937_64 random(5);
  for (int round = 0; round < (test::kSanitized ? 500 : 2000); ++round) {
    const std::string text = random_csv(random, round % 2 ? 15 : 0);
    ReadOptions options = random_file_options();
    options.nulls = random() % 2 ? NullPolicy::drop : NullPolicy::reject;
    options.num_threads = 1;
    const Outcome whole = outcome_of([&] { return parse_csv(text, "t.csv", options); });
    options.num_threads = 1 + static_cast<int>(random() % 3);
    const CsvTuning tuning{.window_bytes = 1 + random() % 200, .chunk_bytes = 1 + random() % 20};
    const Outcome cut = outcome_of([&] { return parse_in_tiny_chunks(text, options, tuning); });
    ASSERT_EQ(cut.error, whole.error) << text;
    ASSERT_EQ(cut, whole) << text;
  }
}

TEST(CsvReader, ReadsBackRandomDoublesBitForBit) {
  std::mt19937_64 random(6);
  std::string text = "a\n";
  std::vector<double> values;
  while (values.size() < 50000) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    char digits[64];
    text.append(digits,
                std::to_chars(digits, digits + sizeof(digits), value, std::chars_format::scientific).ptr);
    text += '\n';
    values.push_back(value);
  }
  const Table table = parse_in_tiny_chunks(text, {}, {.window_bytes = 10000, .chunk_bytes = 1000});
  EXPECT_EQ(column_of(table, 0), values);
}

}  // namespace
}  // namespace culmen::io
