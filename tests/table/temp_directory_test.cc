// Tables whose arrays are in temporary files: the same as in memory, from every kind of file.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "tests/cases.h"
#include "tests/generators.h"
#include "tests/table/reader_testing.h"

namespace culmen::testing {
namespace {

// Large enough for files of their own.
constexpr std::size_t kRows = 60'000;

std::vector<std::uint64_t> bits_of(const Table& table) {
  std::vector<std::uint64_t> bits;
  for (std::size_t column = 0; column < table.columns.size(); ++column)
    for (std::size_t row = 0; row < table.num_rows; ++row) {
      const bool is_missing = table.columns[column].validity.is_missing(row);
      bits.push_back(is_missing ? 0 : std::bit_cast<std::uint64_t>(value_at(table, row, column)));
    }
  return bits;
}

void expect_same(const Table& a, const Table& b) {
  ASSERT_EQ(a.num_rows, b.num_rows);
  EXPECT_EQ(names_of(a), names_of(b));
  EXPECT_TRUE(bits_of(a) == bits_of(b));
  EXPECT_TRUE(fields_of(a) == fields_of(b));
  EXPECT_EQ(a.fields.size(), b.fields.size());
  for (std::size_t f = 0; f < a.fields.size(); ++f) EXPECT_EQ(a.fields[f].role, b.fields[f].role);
  EXPECT_TRUE(a.ids == b.ids);
  EXPECT_TRUE(a.labels.bytes == b.labels.bytes && a.labels.offsets == b.labels.offsets);
  EXPECT_EQ(a.dropped_rows, b.dropped_rows);
}

// Whether all of the table's large arrays are.
bool is_in_files(const Table& table) {
  bool all = true;
  const auto look = [&](const auto& array) {
    all &= array.empty() || array.get_allocator().memory() != nullptr;
  };
  for (const Table::Values& values : table.storage) std::visit(look, values);
  for (const auto& validity : table.validities) look(validity);
  for (const auto& column : table.field_columns)
    if (const Texts* texts = std::get_if<Texts>(&column)) {
      look(texts->texts.bytes);
      look(texts->texts.offsets);
      look(texts->validity);
    }
  look(table.ids);
  look(table.labels.bytes);
  look(table.labels.offsets);
  return all && !table.storage.empty();
}

void expect_same_in_files(const std::string& file, ReadOptions options, const std::string& directory) {
  const Table in_memory = read_table(file, options);
  options.temp_directory = directory;
  const Table in_files = read_table(file, options);
  expect_same(in_memory, in_files);
  EXPECT_TRUE(is_in_files(in_files));
  EXPECT_FALSE(is_in_files(in_memory));
}

// Integers, fractions late in the file, gaps, an empty column, texts that repeat and texts that do not, ids out of order.
std::string csv_text() {
  culmen::test::Random random(1);
  std::string text = "id,price,count,stars,brand,note,name,empty\n";
  for (std::size_t row = 0; row < kRows; ++row) {
    const auto number = [&](std::uint64_t below) { return std::to_string(random.below(below)); };
    text += std::to_string((row * 7919) % 60'013) + "," + number(1000) + (row > 50'000 ? ".5," : ",");
    text += (random.chance(0.1) ? "" : number(1u << 30)) + "," + (random.chance(0.1) ? "" : number(5)) + ",";
    text += (random.chance(0.1) ? "" : "brand " + number(50)) + ",note " + number(1u << 30) + ",name " +
            std::to_string(row) + ",\n";
  }
  return text;
}

TEST(TempDirectory, HoldsTablesOfText) {
  const ScratchFolder folder;
  const std::string file = folder.write("t.csv", csv_text());
  const std::string directory = folder.path();
  expect_same_in_files(file, {}, directory);
  expect_same_in_files(
      file, {.attributes = {{"price"}, {"stars"}}, .id_column = "id", .label_column = "name"}, directory);
  expect_same_in_files(file, {.attributes = {{"price"}, {"stars"}}, .nulls = NullPolicy::drop}, directory);
}

TEST(TempDirectory, HoldsJsonLines) {
  std::string text;
  for (std::size_t row = 0; row < kRows; ++row)
    text += "{\"a\":" + std::to_string(row % 100) + (row % 3 == 0 ? "}\n" : ",\"b\":\"x\"}\n");
  const ScratchFolder folder;
  expect_same_in_files(folder.write("t.jsonl", text), {}, folder.path());
}

TEST(TempDirectory, HoldsMatrices) {
  const ScratchFolder folder;
  const Table table = generate_table({.num_rows = kRows, .num_attributes = 3});
  const std::string file = folder.path() + "/t.npy";
  write_table(table, file);
  expect_same_in_files(file, {}, folder.path());
}

// A pipe is kept, to be read again.
TEST(TempDirectory, HoldsWhatComesFromAPipe) {
  const ScratchFolder folder;
  const std::string text = csv_text(), pipe = folder.path() + "/t.csv";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto read = [&](const ReadOptions& options) {
    std::thread writer([&] { std::ofstream(pipe) << text; });
    Table table = read_table(pipe, options);
    writer.join();
    return table;
  };
  const Table in_files = read({.temp_directory = folder.path()});
  expect_same(in_files, parse_csv(text, "t.csv"));
  EXPECT_TRUE(is_in_files(in_files));
}

TEST(TempDirectory, MustBeThere) {
  const ScratchFolder folder;
  const std::string file = folder.write("t.csv", "a\n1\n"), missing = folder.path() + "/missing";
  EXPECT_EQ(error_of<IoError>([&] { static_cast<void>(read_table(file, {.temp_directory = missing})); }),
            "cannot make a temporary file in " + missing +
                ": No such file or directory; name a directory that is there and can be written, and keep it "
                "as long as what is built in it is changed");
}

}  // namespace
}  // namespace culmen::testing
