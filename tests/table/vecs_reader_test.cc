#include "table/vecs_reader.h"

#include <gtest/gtest.h>

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
using Rows = std::vector<std::vector<float>>;

std::string fvecs(const Rows& rows) {
  std::string bytes;
  for (const auto& row : rows) {
    append_value(bytes, static_cast<std::int32_t>(row.size()));
    for (const float value : row) append_value(bytes, value);
  }
  return bytes;
}

template <typename Count>
std::string fbin(Count num_rows, Count num_columns, const std::vector<float>& values) {
  std::string bytes;
  append_value(bytes, num_rows);
  append_value(bytes, num_columns);
  for (const float value : values) append_value(bytes, value);
  return bytes;
}

std::string fvecs_error(const std::string& bytes, const ReadOptions& options = {}) {
  return error_of<InputError>([&] { parse_fvecs(bytes, "t.fvecs", options); });
}

std::string fbin_error(const std::string& bytes) {
  return error_of<InputError>([&] { parse_fbin(bytes, "t.fbin"); });
}

TEST(FvecsReader, ReadsRowsOfEqualLength) {
  const Table table = parse_fvecs(fvecs({{1, 2}, {3, 4}, {5, 6}}), "t.fvecs");
  EXPECT_EQ(table.num_rows, 3u);
  EXPECT_EQ(names_of(table), (std::vector<std::string>{"a0", "a1"}));
  EXPECT_EQ(column_of(table, 0), (std::vector<double>{1, 3, 5}));
  EXPECT_EQ(column_of(table, 1), (std::vector<double>{2, 4, 6}));
}

TEST(FvecsReader, RefusesRowsOfAnotherLength) {
  std::string bytes = fvecs({{1, 2}, {3, 4}, {5, 6}});
  bytes[12] = 3;
  EXPECT_EQ(fvecs_error(bytes), "t.fvecs: row 2: expected 2 values as in row 1, found a length of 3");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  bytes = fvecs({{1, nan}, {3, 4}});
  bytes[12] = 3;
  ReadOptions drop;
  drop.nulls = NullPolicy::drop;
  EXPECT_EQ(fvecs_error(bytes, drop), "t.fvecs: row 2: expected 2 values as in row 1, found a length of 3");
}

TEST(FvecsReader, ChecksRowLengthsAcrossBlocks) {
  std::string bytes = fvecs(Rows(100000, {1, 2, 3}));
  bytes[16 * 77777] = 7;
  EXPECT_EQ(fvecs_error(bytes), "t.fvecs: row 77778: expected 3 values as in row 1, found a length of 7");
}

TEST(FvecsReader, RefusesOrDropsRowsThatAreNotFinite) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::string bytes = fvecs({{1, 2}, {3, nan}, {5, 6}});
  ReadOptions reject;
  reject.nulls = NullPolicy::reject;
  EXPECT_EQ(fvecs_error(bytes, reject).substr(0, 41), "t.fvecs: row 2, column \"a1\": expected a f");
  ReadOptions drop;
  drop.nulls = NullPolicy::drop;
  const Table table = parse_fvecs(bytes, "t.fvecs", drop);
  EXPECT_EQ(table.num_dropped_rows, 1u);
  EXPECT_EQ(column_of(table, 1), (std::vector<double>{2, 6}));
}

TEST(FvecsReader, RefusesFilesOfAnotherLength) {
  const std::string bytes = fvecs({{1, 2}, {3, 4}});
  EXPECT_EQ(fvecs_error(bytes + "x"),
            "t.fvecs: expected rows of 12 bytes, but the file ends at byte 25, within row 3");
  EXPECT_EQ(fvecs_error(""),
            "t.fvecs: expected the length of the first row in bytes 0 to 3, found a file of 0 bytes");
  EXPECT_EQ(fvecs_error("ab"),
            "t.fvecs: expected the length of the first row in bytes 0 to 3, found a file of 2 bytes");
}

TEST(FvecsReader, RefusesLengthsThatCannotBe) {
  for (const std::int32_t length : {0, -1, 4097, std::numeric_limits<std::int32_t>::max()}) {
    std::string bytes;
    append_value(bytes, length);
    EXPECT_EQ(fvecs_error(bytes + std::string(64, '\0')),
              "t.fvecs: expected rows of 1 to 4096 values, found a length of " + std::to_string(length) +
                  " at byte 0");
  }
}

TEST(FbinReader, ReadsBothHeaders) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  for (const std::string& bytes : {fbin<std::uint32_t>(3, 2, values), fbin<std::uint64_t>(3, 2, values)}) {
    const Table table = parse_fbin(bytes, "t.fbin");
    EXPECT_EQ(table.num_rows, 3u);
    EXPECT_EQ(column_of(table, 0), (std::vector<double>{1, 3, 5}));
    EXPECT_EQ(column_of(table, 1), (std::vector<double>{2, 4, 6}));
  }
}

TEST(FbinReader, ReadsSmallFilesWithBothHeaders) {
  EXPECT_EQ(column_of(parse_fbin(fbin<std::uint32_t>(1, 1, {7}), "t.fbin"), 0), std::vector<double>{7});
  EXPECT_EQ(column_of(parse_fbin(fbin<std::uint64_t>(1, 1, {7}), "t.fbin"), 0), std::vector<double>{7});
  EXPECT_EQ(parse_fbin(fbin<std::uint32_t>(0, 8, {}), "t.fbin").num_rows, 0u);
  EXPECT_EQ(parse_fbin(fbin<std::uint64_t>(0, 8, {}), "t.fbin").columns.size(), 8u);
}

TEST(FbinReader, RefusesALengthThatNoHeaderExplains) {
  EXPECT_EQ(fbin_error(fbin<std::uint32_t>(3, 2, {1, 2, 3, 4, 5})).substr(0, 66),
            "t.fbin: no header explains its 28 bytes: with 8 bytes it reads 3 x");
  for (const std::string& bytes :
       {std::string(), std::string("abcdefg"), fbin<std::uint32_t>(2, 2, {1, 2, 3}) + "x",
        fbin<std::uint32_t>(0xFFFFFFFF, 0xFFFFFFFF, {}), fbin<std::uint64_t>(1ULL << 62, 4, {}),
        fbin<std::uint64_t>(4, 1ULL << 62, {})}) {
    EXPECT_NE(fbin_error(bytes).find("t.fbin: no header explains its"), std::string::npos) << bytes.size();
  }
}

TEST(FbinReader, RefusesAbsurdShapesThatNeedNoBytes) {
  EXPECT_NE(fbin_error(fbin<std::uint32_t>(0, 0, {})).find("no attribute"), std::string::npos);
  EXPECT_NE(fbin_error(fbin<std::uint32_t>(7, 0, {})).find("no attribute"), std::string::npos);
  EXPECT_NE(fbin_error(fbin<std::uint32_t>(0, 0xFFFFFFFF, {})).find("at most 4096 columns"),
            std::string::npos);
}

}  // namespace
}  // namespace culmen
