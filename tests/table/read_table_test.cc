#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tests/cases.h"
#include "tests/table/reader_testing.h"

namespace culmen {
namespace {

using testing::append_value;
using testing::column_of;
using testing::error_of;
using testing::ScratchFolder;

class ReadTable : public ::testing::Test {
 protected:
  ScratchFolder folder_;
};

TEST_F(ReadTable, FollowsTheNameToTheFormat) {
  EXPECT_EQ(column_of(read_table(folder_.write("t.csv", "a,b\n1,2\n")), 1), std::vector<double>{2});
  EXPECT_EQ(column_of(read_table(folder_.write("T.TSV", "a\tb\n1\t2\n")), 1), std::vector<double>{2});
  std::string fvecs;
  append_value(fvecs, std::int32_t{1});
  append_value(fvecs, 3.0f);
  EXPECT_EQ(column_of(read_table(folder_.write("t.fvecs", fvecs)), 0), std::vector<double>{3});
  std::string fbin;
  append_value(fbin, std::uint32_t{1});
  append_value(fbin, std::uint32_t{1});
  append_value(fbin, 4.0f);
  EXPECT_EQ(column_of(read_table(folder_.write("t.fbin", fbin)), 0), std::vector<double>{4});
  std::string npy("\x93NUMPY\x01\0", 8);
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
  append_value(npy, static_cast<std::uint16_t>(header.size()));
  npy += header;
  append_value(npy, 5.0);
  EXPECT_EQ(column_of(read_table(folder_.write("t.npy", npy)), 0), std::vector<double>{5});
}

TEST_F(ReadTable, ReadsCompressedText) {
  const std::string path = folder_.path() + "/t.tsv.gz";
  const gzFile file = gzopen(path.c_str(), "wb");
  gzputs(file, "a\tb\n1\t2\n");
  gzclose(file);
  EXPECT_EQ(column_of(read_table(path), 1), std::vector<double>{2});
  EXPECT_EQ(error_of<InputError>([&] {
              read_table(folder_.write("t.csv.zst", "a,b\n1,2\n"));
            }).find(folder_.path() + "/t.csv.zst: the zstd data is damaged"),
            0u);
}

TEST_F(ReadTable, ReadsFilesOfManyWindows) {
  std::string text = "a,b\n";
  constexpr int kNumRows = test::kSanitized ? 1000000 : 3000000;
  for (int row = 0; row < kNumRows; ++row) text += std::to_string(row) + "," + std::to_string(row % 7) + "\n";
  const Table table = read_table(folder_.write("t.csv", text));
  ASSERT_EQ(table.num_rows, static_cast<std::size_t>(kNumRows));
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    ASSERT_EQ(testing::value_at(table, row, 0), static_cast<double>(row));
    ASSERT_EQ(testing::value_at(table, row, 1), static_cast<double>(row % 7));
  }
}

TEST_F(ReadTable, ReadsCsvFromStandardInput) {
  const std::string path = folder_.write("in", "a,b\n1,2\n3,x\n");
  const int saved = ::dup(STDIN_FILENO);
  const int file = ::open(path.c_str(), O_RDONLY);
  ::dup2(file, STDIN_FILENO);
  ReadOptions options;
  options.attributes = {{"a"}};
  EXPECT_EQ(column_of(read_table("-", options), 0), (std::vector<double>{1, 3}));
  ::lseek(STDIN_FILENO, 0, SEEK_SET);
  options.attributes = {{"b"}};
  EXPECT_EQ(error_of<InputError>([&] { read_table("-", options); }).substr(0, 20), "standard input:3:2: ");
  ::dup2(saved, STDIN_FILENO);
  ::close(saved);
  ::close(file);
}

TEST_F(ReadTable, SaysWhyAFileCannotBeRead) {
  const std::string missing = folder_.path() + "/none.csv";
  EXPECT_EQ(error_of<IoError>([&] { read_table(missing); }),
            "cannot open " + missing + ": No such file or directory");
  std::filesystem::create_directory(folder_.path() + "/d.npy");
  EXPECT_EQ(error_of<IoError>([&] { read_table(folder_.path() + "/d.npy"); }),
            "cannot read " + folder_.path() + "/d.npy: Is a directory");
}

TEST_F(ReadTable, ListsTheFormatsForAnUnknownName) {
  for (const char* name : {"t.xlsx", "t", "t.npy.gz", "t.csv.gz.zst", "csv"}) {
    const std::string path = folder_.path() + '/' + name;
    EXPECT_EQ(error_of<IoError>([&] { read_table(path); }),
              "cannot open " + path + ": No such file or directory");
    std::ofstream(path) << "a\n1\n";
    const std::string error = error_of<InvalidArgument>([&] { read_table(path); });
    EXPECT_NE(error.find("known are .csv, .tsv, .txt, .jsonl and .ndjson (also with .gz, .bz2, .xz or .zst "
                         "after it), .npy, "
                         ".fvecs, .fbin"),
              std::string::npos)
        << name << " -> " << error;
  }
  const std::string path = folder_.path() + "/t.parquet";
  std::ofstream(path) << "PAR1";
  EXPECT_EQ(error_of<InvalidArgument>([&] { read_table(path); }),
            path + " is Parquet or Arrow, which the culmen of the Python package reads");
}

}  // namespace
}  // namespace culmen
