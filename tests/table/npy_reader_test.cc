#include "table/npy_reader.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "tests/table/reader_testing.h"

namespace culmen {
namespace {

using testing::append_value;
using testing::column_of;
using testing::error_of;
using testing::names_of;

std::string npy_of_header(const std::string& header, int major = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(major);
  bytes += '\0';
  if (major == 1) append_value(bytes, static_cast<std::uint16_t>(header.size()));
  if (major != 1) append_value(bytes, static_cast<std::uint32_t>(header.size()));
  return bytes + header;
}

std::string header_of(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }          \n";
}

template <typename T>
std::string npy(const std::string& descr, const std::string& shape, const std::vector<T>& values,
                bool fortran = false) {
  std::string bytes = npy_of_header(header_of(descr, shape, fortran));
  for (const T value : values) append_value(bytes, value);
  return bytes;
}

std::string error_in(const std::string& bytes, const ReadOptions& options = {}) {
  return error_of<InputError>([&] { parse_npy(bytes, "t.npy", options); });
}

TEST(NpyReader, KeepsTheElementTypeAndOneRowMajorMatrix) {
  const Table table = parse_npy(npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6}), "t.npy");
  EXPECT_EQ(table.num_rows, 2u);
  EXPECT_EQ(names_of(table), (std::vector<std::string>{"a0", "a1", "a2"}));
  EXPECT_EQ(column_of(table, 1), (std::vector<double>{2, 5}));
  ASSERT_EQ(table.storage.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Array<float>>(table.storage[0]));
  EXPECT_EQ(table.columns[1].stride_bytes, 12);
  EXPECT_EQ(table.columns[1].type, ElementType::float32);
}

TEST(NpyReader, ReadsEveryElementType) {
  EXPECT_EQ(column_of(parse_npy(npy<double>("<f8", "(2, 1)", {0.1, -2}), "t"), 0),
            (std::vector<double>{0.1, -2}));
  EXPECT_EQ(column_of(parse_npy(npy<std::int32_t>("<i4", "(2, 1)", {-7, 8}), "t"), 0),
            (std::vector<double>{-7, 8}));
  const Table wide = parse_npy(npy<std::int64_t>("=i8", "(2, 1)", {-(1LL << 53), 1LL << 53}), "t");
  EXPECT_EQ(wide.columns[0].type, ElementType::int64);
  EXPECT_EQ(column_of(wide, 0), (std::vector<double>{-9007199254740992.0, 9007199254740992.0}));
  const Table wider = parse_npy(npy<std::int64_t>("<i8", "(3, 1)", {INT64_MIN, 0, (1LL << 53) + 2}), "t");
  EXPECT_EQ(column_of(wider, 0), (std::vector<double>{-0x1p63, 0, 9007199254740994.0}));
}

TEST(NpyReader, ReadsFortranOrder) {
  const Table table = parse_npy(npy<double>("<f8", "(3, 2)", {1, 2, 3, 4, 5, 6}, true), "t.npy");
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(column_of(table, 1), (std::vector<double>{4, 5, 6}));
  EXPECT_EQ(table.columns[1].stride_bytes, 8);
}

TEST(NpyReader, ReadsOneAxisAsOneColumn) {
  const Table table = parse_npy(npy<float>("<f4", "(3,)", {1, 2, 3}), "t.npy");
  EXPECT_EQ(table.columns.size(), 1u);
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{1, 2, 3}));
}

TEST(NpyReader, ReadsAllVersionsAndHeaderSpellings) {
  const std::string headers[] = {
      header_of("<f4", "(1, 1)"),
      "{\"shape\":(1,1,),\"descr\":\"<f4\",\"fortran_order\":False}",
      "{ 'shape' : ( 1L , 1L ) , 'fortran_order' : False , 'descr' : '<f4' }\n",
  };
  for (const std::string& header : headers) {
    for (int major = 1; major <= 3; ++major) {
      std::string bytes = npy_of_header(header, major);
      append_value(bytes, 2.5f);
      EXPECT_EQ(column_of(parse_npy(bytes, "t.npy"), 0), std::vector<double>{2.5}) << header << major;
    }
  }
}

TEST(NpyReader, TakesNoRows) {
  EXPECT_EQ(parse_npy(npy<float>("<f4", "(0, 4)", {}), "t.npy").num_rows, 0u);
}

TEST(NpyReader, ChoosesColumnsByTheirNumberedNames) {
  ReadOptions options;
  options.attributes = {{"a2", Preference::low}, {"a0"}};
  const Table table = parse_npy(npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6}), "t.npy", options);
  EXPECT_EQ(table.attributes, options.attributes);
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{3, 6}));
  EXPECT_EQ(table.fields, std::vector<Field>{{"a1"}});
  EXPECT_EQ(culmen::testing::fields_of(table), (std::vector<std::string>{"2.000000", "5.000000"}));
  options.attributes = {{"a3"}};
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              parse_npy(npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6}), "t.npy", options);
            }),
            "t.npy: no column \"a3\" (did you mean \"a0\"?); the columns are \"a0\", \"a1\", \"a2\"");
}

TEST(NpyReader, TakesIdsFromAnIntegerColumn) {
  ReadOptions options;
  options.id_column = "a1";
  const std::int64_t large = std::numeric_limits<std::int64_t>::max();
  const Table table = parse_npy(npy<std::int64_t>("<i8", "(2, 2)", {1, large, 2, -5}), "t.npy", options);
  EXPECT_EQ(names_of(table), std::vector<std::string>{"a0"});
  EXPECT_EQ(table.ids, (std::vector<std::int64_t>{large, -5}));
  EXPECT_EQ(error_in(npy<std::int64_t>("<i8", "(3, 2)", {1, 9, 2, 8, 3, 9}), options),
            "t.npy: row 3, column \"a1\": expected unique ids, found 9 again (first in row 1)");
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              parse_npy(npy<float>("<f4", "(1, 2)", {1, 2}), "t.npy", options);
            }),
            "t.npy: column \"a1\" cannot hold ids: expected integers, found floats");
}

TEST(NpyReader, HasNoLabels) {
  ReadOptions options;
  options.label_column = "a0";
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              parse_npy(npy<float>("<f4", "(1, 2)", {1, 2}), "t.npy", options);
            }),
            "t.npy: this format has no labels; read them from CSV");
}

TEST(NpyReader, NamesRowAndColumnOfValuesThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  ReadOptions reject;
  reject.nulls = NullPolicy::reject;
  EXPECT_EQ(error_in(npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, nan, nan}), reject),
            "t.npy: row 2, column \"a1\": expected a finite number, found nan");
  EXPECT_EQ(error_in(npy<double>("<f8", "(2, 2)", {1, 2, -inf, 4}, true)),
            "t.npy: row 1, column \"a1\": expected a finite number, found -inf");
}

TEST(NpyReader, TakesNanForAMissingValue) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Table table = parse_npy(npy<float>("<f4", "(2, 2)", {1, nan, nan, 4}), "t.npy");
  EXPECT_EQ(table.num_rows, 2u);
  EXPECT_TRUE(std::isnan(column_of(table, 0)[1]));
  ReadOptions options;
  options.attributes = {{"a0"}};
  options.nulls = NullPolicy::drop;
  const Table dropped = parse_npy(npy<float>("<f4", "(2, 2)", {1, nan, nan, 4}), "t.npy", options);
  EXPECT_EQ(dropped.num_dropped_rows, 1u);
  EXPECT_EQ(culmen::testing::fields_of(dropped), std::vector<std::string>{"-"});
}

TEST(NpyReader, KeepsIntegersOfFieldsThatAFloatCannotHold) {
  ReadOptions options;
  options.attributes = {{"a0"}};
  const Table table = parse_npy(npy<std::int64_t>("<i8", "(1, 2)", {1, 9007199254740993}), "t.npy", options);
  EXPECT_EQ(table.fields[0].format.type, ColumnType::integer);
  EXPECT_EQ(culmen::testing::fields_of(table), std::vector<std::string>{"9007199254740993"});
}

TEST(NpyReader, RefusesIntegersThatAFloatCannotHold) {
  const std::int64_t beyond = (std::int64_t{1} << 53) + 1;
  for (const std::int64_t value : {beyond, -beyond, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(error_in(npy<std::int64_t>("<i8", "(2, 1)", {1, value})),
              "t.npy: row 2, column \"a0\": expected an integer that float64 holds exactly, as all up to "
              "2^53, found " +
                  std::to_string(value));
  }
  ReadOptions drop;
  drop.nulls = NullPolicy::drop;
  EXPECT_NE(error_in(npy<std::int64_t>("<i8", "(1, 1)", {beyond}), drop), "no exception");
}

TEST(NpyReader, IgnoresUnfitValuesInColumnsThatAreNotRead) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ReadOptions options;
  options.attributes = {{"a0"}};
  EXPECT_EQ(column_of(parse_npy(npy<float>("<f4", "(2, 2)", {1, nan, 2, nan}), "t.npy", options), 0),
            (std::vector<double>{1, 2}));
}

TEST(NpyReader, DropsRowsThatAreNotFiniteInEitherOrder) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  ReadOptions options;
  options.nulls = NullPolicy::drop;
  for (const bool fortran : {false, true}) {
    // Rows (1, 10) (nan, nan) (3, 30) (nan, 40) (5, 50).
    const std::vector<double> values = fortran ? std::vector<double>{1, nan, 3, nan, 5, 10, nan, 30, 40, 50}
                                               : std::vector<double>{1, 10, nan, nan, 3, 30, nan, 40, 5, 50};
    const Table table = parse_npy(npy<double>("<f8", "(5, 2)", values, fortran), "t.npy", options);
    EXPECT_EQ(table.num_dropped_rows, 2u);
    EXPECT_EQ(table.dropped_rows, (std::vector<std::uint64_t>{1, 3}));
    EXPECT_EQ(column_of(table, 0), (std::vector<double>{1, 3, 5})) << fortran;
    EXPECT_EQ(column_of(table, 1), (std::vector<double>{10, 30, 50})) << fortran;
  }
}

TEST(NpyReader, StoresMinusZeroAsZero) {
  const Table table = parse_npy(npy<double>("<f8", "(1, 1)", {-0.0}), "t.npy");
  EXPECT_EQ(std::bit_cast<std::uint64_t>(column_of(table, 0)[0]), 0u);
}

TEST(NpyReader, FindsTheFirstFaultAmongManyBlocks) {
  std::vector<float> values(1 << 21, 1.0f);
  values[1500000] = values[2000000] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(error_in(npy<float>("<f4", "(524288, 4)", values)).substr(0, 35),
            "t.npy: row 375001, column \"a0\": exp");
}

TEST(NpyReader, RefusesALengthThatTheShapeDoesNotExplain) {
  const std::string whole = npy<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  const std::string begin = std::to_string(whole.size() - 24);
  const std::string announced =
      "t.npy: the header announces 2 rows of 12 bytes from byte " + begin + " on, but the file ends at byte ";
  EXPECT_EQ(error_in(whole.substr(0, whole.size() - 1)), announced + std::to_string(whole.size() - 1));
  EXPECT_EQ(error_in(whole + "x"), announced + std::to_string(whole.size() + 1));
}

TEST(NpyReader, RefusesShapesThatOverflowBeforeItAllocates) {
  for (const char* shape : {"(4611686018427387904, 4)", "(18446744073709551615, 1)",
                            "(9223372036854775808, 2)", "(1000000000000, 8)", "(2305843009213693952, 2)"}) {
    EXPECT_NE(error_in(npy<float>("<f4", shape, {})).find("t.npy: the header announces"), std::string::npos)
        << shape;
  }
  EXPECT_EQ(error_in(npy<float>("<f4", "(1, 1000000000000)", {})),
            "t.npy: expected at most 4096 columns, found 1000000000000");
  EXPECT_NE(error_in(npy<float>("<f4", "(18446744073709551616,)", {})).find("expected a 64-bit count"),
            std::string::npos);
}

TEST(NpyReader, RefusesHeadersThatItDoesNotUnderstand) {
  const std::pair<std::string, const char*> cases[] = {
      {header_of(">f4", "(1, 1)"), "expected little-endian values, found big-endian \">f4\""},
      {header_of("<f2", "(1, 1)"), "expected values of type <f4, <f8, <i4 or <i8, found \"<f2\""},
      {header_of("|O", "(1, 1)"), "expected values of type <f4, <f8, <i4 or <i8, found \"|O\""},
      {header_of("<f4", "()"), "expected an array with one or two axes, found 0"},
      {header_of("<f4", "(1, 1, 1)"), "expected an array with one or two axes, found 3"},
      {header_of("<f4", "(1)"), "expected a comma after the only axis"},
      {header_of("<f4", "(-1, 1)"), "expected a 64-bit count"},
      {header_of("<f4", "(1, 1"), "expected a 64-bit count"},
      {header_of("<f4", "(1, 1 1)"), "expected a )"},
      {header_of("<f4", "(1, 0)"), "t.npy: no attribute"},
      {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,)}",
       "structured arrays cannot be read"},
      {"{'descr': '<f4', 'shape': (1,)}", "expected the keys descr, fortran_order and shape, found the end"},
      {"{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
       "expected the keys descr, fortran_order and shape, once"},
      {"{'fortran_order': 0}", "expected True or False"},
      {"{'descr': '<f4}", "expected a closing quote"},
      {"{'extra': '<f4'}", "expected the keys"},
      {"{} x", "expected the end of the header, found \"x\""},
      {"", "expected a {, found the end"},
      {"__import__('os')", "expected a {"},
  };
  for (const auto& [header, expected] : cases) {
    const std::string error = error_in(npy_of_header(header));
    EXPECT_NE(error.find(expected), std::string::npos) << header << " -> " << error;
  }
}

TEST(NpyReader, RefusesFilesThatAreNotNpy) {
  EXPECT_EQ(error_in("id,price\n1,2\n"),
            "t.npy: expected an NPY file, which begins with \"\\x93NUMPY\", found \"id,price\"");
  EXPECT_EQ(error_in(""), "t.npy: the file ends at byte 0, within the NPY header");
  const std::string whole = npy<float>("<f4", "(1, 1)", {1});
  EXPECT_EQ(error_in(whole.substr(0, 9)), "t.npy: the file ends at byte 9, within the NPY header");
  EXPECT_EQ(error_in(whole.substr(0, 30)), "t.npy: the file ends at byte 30, within the NPY header");
  std::string future = whole;
  future[6] = 4;
  EXPECT_EQ(error_in(future), "t.npy: expected NPY version 1.0, 2.0 or 3.0, found 4.0");
  EXPECT_EQ(error_in(npy_of_header(std::string(100000, ' '), 2)),
            "t.npy: expected an NPY header of at most 64 KiB, found 100000 bytes");
}

TEST(NpyReader, NamesTheByteWhereAHeaderIsDamaged) {
  EXPECT_EQ(error_in(npy_of_header("{'descr' '<f4'}")),
            "t.npy: the NPY header is damaged at byte 19: expected a :, found \"'<f4'}\"");
}

}  // namespace
}  // namespace culmen
