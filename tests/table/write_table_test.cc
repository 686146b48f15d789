#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tests/cases.h"
#include "tests/table/reader_testing.h"

namespace culmen {
namespace {

namespace fs = std::filesystem;

class WriteTable : public ::testing::Test {
 protected:
  WriteTable() {
    std::string pattern = (fs::temp_directory_path() / "culmen-write-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~WriteTable() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  std::string written(const Table& table, const std::string& name) const {
    write_table(table, path(name));
    return content_of(path(name));
  }

  static std::string content_of(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  fs::path folder_;
};

template <Element T>
void add_column(Table& table, const std::string& name, std::vector<T> values) {
  table.num_rows = values.size();
  table.attributes.push_back({name, Preference::high});
  auto& stored = std::get<Array<T>>(table.storage.emplace_back(Array<T>(values.begin(), values.end())));
  table.columns.emplace_back(stored);  // moving keeps the memory that the column points to
}

void add_label(Table& table, const std::string& label) {
  if (table.labels.offsets.empty()) table.labels.offsets.push_back(0);
  table.labels.bytes.insert(table.labels.bytes.end(), label.begin(), label.end());
  table.labels.offsets.push_back(table.labels.bytes.size());
}

// Splits CSV without quotes.
std::vector<std::vector<std::string>> split_csv(const std::string& text) {
  std::vector<std::vector<std::string>> rows(1);
  std::string field;
  for (const char c : text) {
    if (c != ',' && c != '\n') {
      field.push_back(c);
      continue;
    }
    rows.back().push_back(std::exchange(field, {}));
    if (c == '\n') rows.emplace_back();
  }
  rows.pop_back();
  return rows;
}

template <typename T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

// Row by row, whatever the layout; float32 and float64 only.
std::vector<double> values_of(const Table& table) {
  std::vector<double> values;
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    for (const ColumnView& column : table.columns) {
      const std::byte* cell = column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes;
      float single = 0;
      double value = 0;
      if (column.type == ElementType::float32) {
        std::memcpy(&single, cell, sizeof(single));
        value = single;
      } else {
        std::memcpy(&value, cell, sizeof(value));
      }
      values.push_back(value);
    }
  }
  return values;
}

// Parses a header as write_table writes it and returns the values after it.
std::string npy_values(const std::string& bytes, const std::string& expected_dictionary) {
  EXPECT_EQ(bytes.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  std::uint16_t num_text_bytes = 0;
  std::memcpy(&num_text_bytes, bytes.data() + 8, 2);
  EXPECT_EQ((10u + num_text_bytes) % 64, 0u);
  const std::string text = bytes.substr(10, num_text_bytes);
  EXPECT_EQ(text.substr(0, expected_dictionary.size()), expected_dictionary);
  EXPECT_EQ(text.find_first_not_of(' ', expected_dictionary.size()), text.size() - 1);
  EXPECT_EQ(text.back(), '\n');
  return bytes.substr(10u + num_text_bytes);
}

TEST_F(WriteTable, WritesIdsThenLabelsThenAttributesUnderAHeader) {
  Table table;
  add_column<double>(table, "price", {89.5, 120});
  add_column<std::int32_t>(table, "stars", {3, -4});
  table.ids = {1000000, -7};
  table.label_name = "name";
  add_label(table, "Hotel Linde München");
  add_label(table, "");
  EXPECT_EQ(written(table, "t.csv"), "id,name,price,stars\n1000000,Hotel Linde München,89.5,3\n-7,,120,-4\n");
}

TEST_F(WriteTable, QuotesOnlyFieldsThatNeedIt) {
  Table table;
  add_column<std::int32_t>(table, "size, in \"m\"", {1, 2, 3, 4, 5});
  table.label_name = "na me";
  for (const char* label : {"a,b", "say \"hi\"", "two\nlines", " blank", "it's; fine"})
    add_label(table, label);
  EXPECT_EQ(written(table, "t.csv"),
            "na me,\"size, in \"\"m\"\"\"\n\"a,b\",1\n\"say \"\"hi\"\"\",2\n\"two\nlines\",3\n\" "
            "blank\",4\nit's; fine,5\n");
}

TEST_F(WriteTable, WritesNumbersThatReadBackToTheSameBits) {
  using Limits = std::numeric_limits<double>;
  const std::vector<double> values = {0.1,
                                      1.0 / 3,
                                      -0.0,
                                      0,
                                      1e15,
                                      1e15 + 2,
                                      -1e300,
                                      Limits::max(),
                                      Limits::min(),
                                      Limits::denorm_min(),
                                      100000,
                                      -0.5,
                                      -12.34,
                                      0.05,
                                      9007199254740994.0,
                                      123456.789};
  Table table;
  add_column<double>(table, "x", values);
  const auto rows = split_csv(written(table, "t.csv"));
  ASSERT_EQ(rows.size(), values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_TRUE(same_bits(std::strtod(rows[i + 1][0].c_str(), nullptr), values[i])) << rows[i + 1][0];
  }
  EXPECT_EQ(rows[1][0], "0.1");
  EXPECT_EQ(rows[3][0], "-0");
  EXPECT_EQ(rows[11][0], "100000");
  EXPECT_EQ(rows[12][0], "-0.5");
  EXPECT_EQ(rows[13][0], "-12.34");
  EXPECT_EQ(rows[14][0], "0.05");
}

TEST_F(WriteTable, WritesFloat32AsTheFloat64ItEquals) {
  Table table;
  add_column<float>(table, "x", {0.1f, 0.5f, 16777216.0f, std::numeric_limits<float>::denorm_min()});
  const auto rows = split_csv(written(table, "t.csv"));
  EXPECT_EQ(rows[1][0], "0.10000000149011612");
  EXPECT_EQ(rows[2][0], "0.5");
  EXPECT_EQ(rows[3][0], "16777216");
  EXPECT_EQ(std::strtod(rows[4][0].c_str(), nullptr),
            static_cast<double>(std::numeric_limits<float>::denorm_min()));
}

TEST_F(WriteTable, KeepsEveryDigitOfInt64InCsv) {
  Table table;
  add_column<std::int64_t>(table, "x", {std::numeric_limits<std::int64_t>::min(), 9007199254740993});
  EXPECT_EQ(written(table, "t.csv"), "x\n-9223372036854775808\n9007199254740993\n");
}

TEST_F(WriteTable, WritesManyRowsInOrderAndWithoutLoss) {
  constexpr std::size_t kRows = test::kSanitized ? 30000 : 100000;
  const Table table =
      generate_table({.kind = TableKind::anticorrelated, .num_rows = kRows, .num_attributes = 3});
  const auto rows = split_csv(written(table, "t.csv"));
  ASSERT_EQ(rows.size(), kRows + 1);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"a0", "a1", "a2"}));
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::size_t column = 0; column < 3; ++column) {
      const double value = std::get<Array<float>>(table.storage[column])[row];
      ASSERT_EQ(std::strtod(rows[row + 1][column].c_str(), nullptr), value);
    }
  }
}

TEST_F(WriteTable, WritesHotelsThatReadTableReadsBackBitForBit) {
  const Table hotels = generate_table({.kind = TableKind::hotels, .num_rows = 20000});
  write_table(hotels, path("t.csv"));
  ReadOptions options;
  options.attributes = hotels.attributes;
  options.id_column = "id";
  options.label_column = "name";
  const Table back = read_table(path("t.csv"), options);
  EXPECT_EQ(back.attributes, hotels.attributes);
  EXPECT_EQ(back.ids, hotels.ids);
  EXPECT_EQ(back.labels.bytes, hotels.labels.bytes);
  EXPECT_EQ(back.labels.offsets, hotels.labels.offsets);
  EXPECT_EQ(values_of(back), values_of(hotels));
  EXPECT_EQ(back.fields, hotels.fields);
  EXPECT_EQ(culmen::testing::fields_of(back), culmen::testing::fields_of(hotels));
}

TEST_F(WriteTable, WritesNpyThatReadTableReadsBackBitForBit) {
  const Table table = generate_table({.kind = TableKind::clusters, .num_rows = 20000, .num_attributes = 3});
  write_table(table, path("t.npy"));
  const Table back = read_table(path("t.npy"));
  EXPECT_EQ(back.attributes, table.attributes);
  EXPECT_EQ(back.columns[0].type, ElementType::float32);
  EXPECT_EQ(values_of(back), values_of(table));
}

TEST_F(WriteTable, ReadsValuesThroughStrides) {
  const std::vector<float> matrix = {1, 2, 3, 4, 5, 6};  // 3 rows of 2
  Table table;
  table.num_rows = 3;
  table.attributes = {{"a", Preference::high}, {"b", Preference::high}};
  table.columns = {ColumnView(matrix.data(), 3, 2), ColumnView(matrix.data() + 1, 3, 2)};
  EXPECT_EQ(written(table, "t.csv"), "a,b\n1,2\n3,4\n5,6\n");
}

TEST_F(WriteTable, WritesATableWithoutRowsAsItsHeader) {
  const Table table = generate_table({.kind = TableKind::hotels, .num_rows = 0});
  EXPECT_EQ(written(table, "t.csv"),
            "name,price,rating,stars,distance,reviews,breakfast,noise,renovated,city,opened\n");
  EXPECT_EQ(
      npy_values(written(table, "t.npy"), "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 8), }"), "");
}

TEST_F(WriteTable, WritesFloat32ColumnsAsARowMajorNpyMatrix) {
  const Table table =
      generate_table({.kind = TableKind::independent, .num_rows = 30000, .num_attributes = 5});
  const std::string values =
      npy_values(written(table, "t.npy"), "{'descr': '<f4', 'fortran_order': False, 'shape': (30000, 5), }");
  ASSERT_EQ(values.size(), 30000u * 5 * 4);
  for (std::size_t i = 0; i < 30000 * 5; ++i) {
    float value = 0;
    std::memcpy(&value, values.data() + i * 4, 4);
    ASSERT_EQ(value, std::get<Array<float>>(table.storage[i % 5])[i / 5]);
  }
}

TEST_F(WriteTable, WritesMixedColumnsAsAFloat64NpyMatrix) {
  Table table;
  add_column<float>(table, "f", {0.1f, 2});
  add_column<double>(table, "d", {0.1, -3});
  add_column<std::int32_t>(table, "i", {-5, 6});
  add_column<std::int64_t>(table, "l", {-9007199254740992, 9007199254740992});
  const std::string values =
      npy_values(written(table, "t.npy"), "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }");
  const double expected[] = {0.1f, 0.1, -5, -9007199254740992.0, 2, -3, 6, 9007199254740992.0};
  ASSERT_EQ(values.size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(values.data(), expected, sizeof(expected)), 0);
}

TEST_F(WriteTable, RefusesAnIntegerThatNpyCannotHoldAndLeavesNothing) {
  for (const std::int64_t value : {std::int64_t{9007199254740993}, std::int64_t{-9007199254740993}}) {
    Table table;
    add_column<std::int64_t>(table, "count", {1, value});
    try {
      write_table(table, path("t.npy"));
      FAIL() << "accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_NE(std::string(error.what()).find("row 2, attribute \"count\""), std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(files().empty());
  }
}

TEST_F(WriteTable, NamesAPathInAMissingFolderAndTheReason) {
  const Table table = generate_table({.num_rows = 10});
  const std::string missing = path("missing/t.csv");
  try {
    write_table(table, missing);
    FAIL() << "accepted";
  } catch (const IoError& error) {
    EXPECT_EQ(std::string(error.what()), "cannot create " + missing + ": No such file or directory");
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(WriteTable, LeavesTheOldFileWhenTheNewOneDoesNotFit) {
  const Table table = generate_table({.num_rows = 100000});
  std::ofstream(path("t.csv")) << "old";
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 100000, .rlim_max = old_limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THROW(write_table(table, path("t.csv")), IoError);
  EXPECT_THROW(write_table(table, path("t.npy")), IoError);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old_limit), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(files(), std::vector<std::string>{"t.csv"});
  EXPECT_EQ(content_of(path("t.csv")), "old");
}

TEST_F(WriteTable, ReplacesAnOlderFile) {
  Table table;
  add_column<std::int32_t>(table, "x", {1});
  std::ofstream(path("t.csv")) << "something much longer than the new content";
  EXPECT_EQ(written(table, "t.csv"), "x\n1\n");
  EXPECT_EQ(files(), std::vector<std::string>{"t.csv"});
}

TEST_F(WriteTable, DoesNotReplaceAFolder) {
  fs::create_directory(path("t.csv"));
  EXPECT_THROW(write_table(generate_table({.num_rows = 1}), path("t.csv")), IoError);
  EXPECT_EQ(files(), std::vector<std::string>{"t.csv"});
}

TEST_F(WriteTable, WritesCsvToStandardOutputForADash) {
  Table table;
  add_column<std::int32_t>(table, "x", {1, 2});
  ::testing::internal::CaptureStdout();
  write_table(table, "-");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "x\n1\n2\n");
  EXPECT_TRUE(files().empty());
}

TEST_F(WriteTable, RefusesNamesOfUnknownFormats) {
  const Table table = generate_table({.num_rows = 1});
  for (const char* name : {"t.parquet", "t", "csv", ""}) {
    EXPECT_THROW(write_table(table, path(name)), InvalidArgument) << name;
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(WriteTable, RefusesTwoCsvColumnsOfOneName) {
  Table table;
  add_column<std::int32_t>(table, "id", {1});
  table.ids = {5};
  EXPECT_THROW(write_table(table, path("t.csv")), InvalidArgument);
  EXPECT_TRUE(files().empty());
}

TEST_F(WriteTable, RefusesTablesWhosePartsDoNotFitTogether) {
  EXPECT_THROW(write_table(Table(), path("t.csv")), InvalidArgument);
  Table table;
  add_column<std::int32_t>(table, "x", {1, 2});
  table.ids = {1};
  EXPECT_THROW(write_table(table, path("t.csv")), InvalidArgument);
  table.ids.clear();
  add_label(table, "only one");
  EXPECT_THROW(write_table(table, path("t.csv")), InvalidArgument);
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace culmen
