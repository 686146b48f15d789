// A table read in batches has the same rows as the table read at once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/csv_batches.h"
#include "table/csv_chunk.h"
#include "tests/cases.h"
#include "tests/table/reader_testing.h"

namespace culmen {
namespace {

using testing::append_value;
using testing::error_of;
using testing::ScratchFolder;

// The concatenated batches.
struct Collected {
  std::vector<std::vector<double>> columns;
  std::vector<std::int64_t> ids;
  std::vector<std::string> labels;
  std::vector<std::size_t> sizes;           // of the batches
  std::vector<std::uint64_t> input_ranges;  // first_row and num_input_rows of each
  std::vector<std::uint64_t> numbers;       // of all rows in the input
  std::vector<std::string> places;          // of all rows
  BatchTotals totals;

  void take(const TableBatch& batch) {
    const TableView& rows = batch.rows;
    columns.resize(rows.columns.size());
    Table table;  // for value_at
    table.columns = rows.columns;
    for (std::size_t column = 0; column < columns.size(); ++column)
      for (std::size_t row = 0; row < rows.num_rows; ++row)
        columns[column].push_back(testing::value_at(table, row, column));
    ids.insert(ids.end(), rows.ids.begin(), rows.ids.end());
    if (!rows.labels.empty())
      for (std::size_t row = 0; row < rows.num_rows; ++row) labels.emplace_back(rows.labels[row]);
    for (std::size_t row = 0; row < rows.num_rows; ++row) {
      places.push_back(batch.location_of_row(row));
      numbers.push_back(batch.first_row + row_number(row, rows.dropped_rows));
    }
    sizes.push_back(rows.num_rows);
    input_ranges.insert(input_ranges.end(), {batch.first_row, batch.num_input_rows});
  }
};

Collected collect_csv(std::string_view text, const ReadOptions& options, const BatchOptions& batches,
                      const io::CsvTuning& tuning = io::kBatchTuning) {
  Collected collected;
  io::MemorySource source(text);
  collected.totals = io::read_csv_in_batches(
      source, "t.csv", options, ',', batches, [&](const TableBatch& batch) { collected.take(batch); },
      tuning);
  return collected;
}

TEST(Batches, NameTheIdsOfTheRowsThatTheyDrop) {
  const std::string text = "id,a\n7,1\n8,\n18446744073709551615,nan\n9,2\n,3\n10,4\n11,inf\n12,\n";
  const auto options_of = [](IdType type) {
    ReadOptions options;
    options.schema = Schema{.attributes = {{"a"}}, .id_name = "id", .id_type = type};
    options.nulls = NullPolicy::drop;
    return options;
  };
  using Dropped = std::vector<std::string>;
  for (const IdType type : {IdType::uint64, IdType::text}) {
    ReadOptions options = options_of(type);
    Dropped dropped, batches;
    options.on_dropped_row = [&](std::int64_t id, std::string_view name) {
      dropped.push_back(type == IdType::text ? std::string(name) : id_text(id, type));
    };
    const auto take = [&](const TableBatch& /*batch*/) {
      std::string ids;
      for (const std::string& id : dropped) ids += id + " ";
      batches.push_back(ids);
      dropped.clear();
    };
    const auto in_batches = [&](std::size_t batch_rows) {
      batches.clear();
      io::MemorySource source(text);
      io::read_csv_in_batches(source, "t.csv", options, ',', {.batch_rows = batch_rows}, take,
                              io::kBatchTuning);
      return batches;
    };
    EXPECT_EQ(in_batches(1), (Dropped{"", "8 18446744073709551615 ", "", "11 12 "}))
        << "rows behind the last that is kept are a batch of their own";
    EXPECT_EQ(in_batches(100), (Dropped{"8 18446744073709551615 11 12 "}));
    EXPECT_EQ(parse_csv(text, "t.csv", options).num_dropped_rows, 5U);
    EXPECT_EQ(dropped, (Dropped{"8", "18446744073709551615", "11", "12"}));
  }
}

// Some rows to be dropped, some with labels of several lines.
std::string odd_csv(int num_rows) {
  std::string text = "id,a,name,b\r\n";
  for (int row = 0; row < num_rows; ++row) {
    const std::string value = row % 5 == 3 ? "nan" : std::to_string(row * 0.5);
    const std::string label = row % 7 == 2 ? "\"two\nlines, \"\"" + std::to_string(row) + "\"\"\"" : "x";
    text += std::to_string(1000 - row) + "," + value + "," + label + "," + std::to_string(-row) + "\n";
  }
  return text;
}

ReadOptions odd_options() {
  ReadOptions options;
  options.attributes = {{"b"}, {"a"}};
  options.id_column = "id";
  options.label_column = "name";
  options.nulls = NullPolicy::drop;
  return options;
}

using Sizes = std::vector<std::size_t>;
using Ranges = std::vector<std::uint64_t>;

TEST(Batches, OfCsvAreTheWholeTableHoweverItIsCut) {
  const std::string text = odd_csv(64);
  const Table whole = parse_csv(text, "t.csv", odd_options());
  for (const std::size_t batch_rows : {1, 2, 3, 7, 50, 51, 52, 1000}) {
    for (const io::CsvTuning tuning : {io::kBatchTuning, io::CsvTuning{1, 1}, io::CsvTuning{40, 16}}) {
      const Collected found = collect_csv(text, odd_options(), {.batch_rows = batch_rows}, tuning);
      EXPECT_EQ(found.columns[0], testing::column_of(whole, 0));
      EXPECT_EQ(found.columns[1], testing::column_of(whole, 1));
      EXPECT_EQ(found.ids, whole.ids);
      EXPECT_EQ(found.labels, testing::labels_of(whole));
      EXPECT_EQ(found.totals.num_rows, 51u);
      EXPECT_EQ(found.totals.num_dropped_rows, 13u);
      ASSERT_EQ(found.places.size(), whole.num_rows);
      for (std::size_t row = 0; row < whole.num_rows; ++row)
        EXPECT_EQ(found.places[row], whole.location_of_row(row));
      for (std::size_t i = 0; i + 1 < found.sizes.size(); ++i) EXPECT_EQ(found.sizes[i], batch_rows);
    }
  }
}

TEST(Batches, OfCsvSayWhichRowsOfTheInputTheyCover) {
  ReadOptions options;
  options.nulls = NullPolicy::drop;
  const std::string text = "a\nnan\n1\n2\nnan\nnan\n3\n4\n5\nnan\n";
  for (const io::CsvTuning tuning : {io::kBatchTuning, io::CsvTuning{1, 1}}) {
    const Collected found = collect_csv(text, options, {.batch_rows = 2}, tuning);
    EXPECT_EQ(found.sizes, (Sizes{2, 2, 1}));
    EXPECT_EQ(found.input_ranges, (Ranges{0, 3, 3, 4, 7, 2}));
    EXPECT_EQ(found.numbers, (Ranges{1, 2, 5, 6, 7}));
    EXPECT_EQ(found.totals.num_dropped_rows, 4u);
  }
}

// They take row numbers; if a column gives the ids, no numbers are reported.
TEST(Batches, OfDroppedRowsAloneAreHandedOutWhereRowsAreNumbered) {
  ReadOptions options;
  options.nulls = NullPolicy::drop;
  const std::string text = "id,a\n1,5\n2,nan\n3,\n";
  Collected found = collect_csv(text, options, {.batch_rows = 1});
  EXPECT_EQ(found.sizes, (Sizes{1, 0}));
  EXPECT_EQ(found.input_ranges, (Ranges{0, 1, 1, 2}));
  options.id_column = "id";
  found = collect_csv(text, options, {.batch_rows = 1});
  EXPECT_EQ(found.sizes, (Sizes{1}));
  EXPECT_EQ(found.totals.num_dropped_rows, 2u);
}

TEST(Batches, CanBeginFurtherOnInTheInput) {
  ReadOptions options;
  options.nulls = NullPolicy::drop;
  const std::string text = "a\nnan\n1\n2\nnan\nnan\n3\n4\n5\nnan\n";
  for (std::uint64_t skip = 0; skip < 12; ++skip) {
    const Collected found = collect_csv(text, options, {.batch_rows = 2, .skip_rows = skip});
    std::vector<double> expected;
    Ranges numbers;
    for (const auto& [row, value] : {std::pair{1u, 1.0}, {2u, 2.0}, {5u, 3.0}, {6u, 4.0}, {7u, 5.0}}) {
      if (row < skip) continue;
      expected.push_back(value);
      numbers.push_back(row);
    }
    if (found.columns.empty()) {
      EXPECT_GE(skip, 9u);
      continue;
    }
    EXPECT_EQ(found.columns[0], expected) << skip;
    EXPECT_EQ(found.numbers, numbers) << skip;
    EXPECT_EQ(found.input_ranges.front(), skip);
    EXPECT_EQ(*(found.input_ranges.end() - 2) + found.input_ranges.back(), 9u);
  }
}

TEST(Batches, DoNotReadWhatTheySkip) {
  ReadOptions options;
  options.attributes = {{"a"}};
  options.id_column = "id";
  const std::string text = "id,a\nx,soon\n1,inf,3\n\"2\n\",\xff\n4,4\n5,5\n";
  for (const io::CsvTuning tuning : {io::kBatchTuning, io::CsvTuning{1, 1}, io::CsvTuning{5, 2}}) {
    const Collected found = collect_csv(text, options, {.batch_rows = 2, .skip_rows = 3}, tuning);
    EXPECT_EQ(found.ids, (std::vector<std::int64_t>{4, 5}));
    EXPECT_EQ(found.columns[0], (std::vector<double>{4, 5}));
    EXPECT_EQ(found.input_ranges, (Ranges{3, 2}));
    EXPECT_EQ(found.places, (std::vector<std::string>{"t.csv:6", "t.csv:7"}));
    EXPECT_EQ(error_of<InputError>([&] { collect_csv(text, options, {.skip_rows = 2}, tuning); }),
              "t.csv:4:1: expected a 64-bit integer in column \"id\", found \"2\\x0a\"");
    EXPECT_TRUE(collect_csv(text, options, {.skip_rows = 5}, tuning).sizes.empty());
    EXPECT_TRUE(collect_csv(text, options, {.skip_rows = 500}, tuning).sizes.empty());
    // The end of such a record is not known: it is a line.
    EXPECT_EQ(collect_csv("a\n1\n\"x\"y\n2\n", {}, {.skip_rows = 2}, tuning).columns[0],
              (std::vector<double>{2}));
  }
}

TEST(Batches, AfterAnErrorCanGoOnWhereTheLastOneEnded) {
  const std::string text = odd_csv(64);
  const Table whole = parse_csv(text, "t.csv", odd_options());
  Collected all;
  std::uint64_t done = 0;
  for (int attempt = 0; attempt < 100 && done < 64; ++attempt) {
    int num_left = 2;  // batches until it fails
    try {
      io::MemorySource source(text);
      io::read_csv_in_batches(source, "t.csv", odd_options(), ',', {.batch_rows = 5, .skip_rows = done},
                              [&](const TableBatch& batch) {
                                if (num_left-- == 0) throw IoError("no space left");
                                all.take(batch);
                                done = batch.first_row + batch.num_input_rows;
                              });
      break;
    } catch (const IoError&) {
    }
  }
  EXPECT_EQ(all.ids, whole.ids);
  EXPECT_EQ(all.labels, testing::labels_of(whole));
}

TEST(Batches, InFrontOfAFaultyRowAreHandedOut) {
  const std::string text = "a\n1\n2\n3\n4\n5\nx\n";
  for (const io::CsvTuning tuning : {io::kBatchTuning, io::CsvTuning{1, 1}, io::CsvTuning{5, 2}}) {
    Collected found;
    io::MemorySource source(text);
    ReadOptions options;
    options.attributes = {{"a"}};
    const std::string error = error_of<InputError>([&] {
      io::read_csv_in_batches(
          source, "t.csv", options, ',', {.batch_rows = 2},
          [&](const TableBatch& batch) { found.take(batch); }, tuning);
    });
    EXPECT_EQ(error.find("t.csv:7:1: expected a number"), 0u) << error;
    EXPECT_EQ(found.columns[0], (std::vector<double>{1, 2, 3, 4}));
  }
}

TEST(Batches, OfAChunkWithAFaultHaveNothingOfTheFaultyRow) {
  io::CsvSchema schema;
  schema.names = {"id", "name", "a"};
  schema.id = 0;
  schema.label = 1;
  schema.set_columns({{.kept = {.position = 2, .name = "a", .is_attribute = true}}});
  const std::string_view text = "1,x,2\n3,yy,z\n";
  io::CsvRows rows;
  io::CsvChunkParser(schema).parse(text.data(), text.data() + text.size(), true, rows);
  EXPECT_EQ(rows.faults.size(), 1u);
  EXPECT_EQ(rows.num_rows, 1u);
  EXPECT_EQ(rows.values.size(), 1u);
  EXPECT_EQ(rows.ids.size(), 1u);
  EXPECT_EQ(rows.labels.ends.size(), 1u);
  EXPECT_EQ(rows.labels.bytes.size(), 1u);
}

TEST(Batches, RefuseAnIdThatComesAgainWithinOneUnlessToldThatItMay) {
  const std::string text = "id,a\n1,1\n2,2\n2,3\n1,4\n";
  ReadOptions options;
  options.id_column = "id";
  const auto error = [&](std::size_t batch_rows) {
    return error_of<InputError>([&] { collect_csv(text, options, {.batch_rows = batch_rows}); });
  };
  EXPECT_NE(error(4).find("t.csv:4:1: expected unique ids in column \"id\", found 2 again (first on line 3)"),
            std::string::npos);
  EXPECT_EQ(error(2), "no exception");
  options.unique_ids = false;
  EXPECT_EQ(collect_csv(text, options, {.batch_rows = 4}).ids, (std::vector<std::int64_t>{1, 2, 2, 1}));
}

TEST(Batches, OfATableWithoutRowsAreNone) {
  EXPECT_TRUE(collect_csv("a,b\n", {}, {}).sizes.empty());
  EXPECT_EQ(error_of<InputError>([] { collect_csv("", {}, {}); }),
            "t.csv:1:1: expected a header line, found an empty file");
  ReadOptions options;
  options.attributes = {{"c"}};
  EXPECT_NE(error_of<InvalidArgument>([&] { collect_csv("a,b\n", options, {}); }).find("\"a\", \"b\""),
            std::string::npos);
}

std::string npy(const std::string& descr, bool fortran, std::size_t num_rows, std::size_t num_columns) {
  std::string bytes("\x93NUMPY\x01\0", 8);
  const std::string header = "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
                             ", 'shape': (" + std::to_string(num_rows) + ", " + std::to_string(num_columns) +
                             "), }";
  append_value(bytes, static_cast<std::uint16_t>(header.size()));
  return bytes + header;
}

// Row 3 and the last one have a NaN.
std::string matrix_file(bool fortran, std::size_t num_rows) {
  constexpr std::size_t kWidth = 3;
  std::string bytes = npy("<f4", fortran, num_rows, kWidth);
  for (std::size_t i = 0; i < num_rows * kWidth; ++i) {
    const std::size_t row = fortran ? i % num_rows : i / kWidth;
    const std::size_t column = fortran ? i / num_rows : i % kWidth;
    const bool is_nan = column == 1 && (row == 3 || row + 1 == num_rows);
    append_value(bytes,
                 is_nan ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(10 * row + column));
  }
  return bytes;
}

TEST(Batches, OfMatricesAreTheWholeTableInEitherOrder) {
  constexpr std::size_t kRows = 11;
  const ScratchFolder folder;
  ReadOptions options;
  options.nulls = NullPolicy::drop;
  for (const bool fortran : {false, true}) {
    const std::string path = folder.write("t.npy", matrix_file(fortran, kRows));
    const Table whole = read_table(path, options);
    for (std::size_t batch_rows = 1; batch_rows <= kRows + 1; ++batch_rows) {
      for (std::uint64_t skip = 0; skip <= kRows + 1; ++skip) {
        Collected found;
        found.columns.resize(3);
        const BatchTotals totals =
            read_table_in_batches(path, options, {.batch_rows = batch_rows, .skip_rows = skip},
                                  [&](const TableBatch& batch) { found.take(batch); });
        std::vector<double> expected;
        std::vector<std::string> places;
        Ranges numbers;
        for (std::size_t row = skip; row < kRows; ++row) {
          if (row == 3 || row + 1 == kRows) continue;
          expected.push_back(static_cast<double>(10 * row + 2));
          numbers.push_back(row);
          places.push_back(path + ": row " + std::to_string(row + 1));
        }
        EXPECT_EQ(found.columns[2], expected) << fortran << " " << batch_rows << " " << skip;
        EXPECT_EQ(found.places, places) << fortran << " " << batch_rows << " " << skip;
        EXPECT_EQ(found.numbers, numbers) << fortran << " " << batch_rows << " " << skip;
        if (skip < kRows) {
          EXPECT_EQ(*(found.input_ranges.end() - 2) + found.input_ranges.back(), kRows);
        }
        EXPECT_EQ(totals.num_rows, expected.size());
        for (std::size_t i = 0; i + 3 < found.input_ranges.size(); i += 2)
          EXPECT_LE(found.input_ranges[i] + found.input_ranges[i + 1], found.input_ranges[i + 2]);
      }
    }
    EXPECT_EQ(whole.num_dropped_rows, 2u);
  }
}

TEST(Batches, OfMatricesNameTheRowOfTheFile) {
  const ScratchFolder folder;
  for (const bool fortran : {false, true}) {
    const std::string path = folder.write("t.npy", matrix_file(fortran, 9));
    Collected found;
    const std::string error = error_of<InputError>([&] {
      ReadOptions options;
      options.nulls = NullPolicy::reject;
      read_table_in_batches(path, options, {.batch_rows = 2},
                            [&](const TableBatch& batch) { found.take(batch); });
    });
    EXPECT_NE(error.find("row 4, column \"a1\""), std::string::npos) << error;
    EXPECT_EQ(found.sizes, fortran ? Sizes{} : Sizes{2});
  }
}

TEST(Batches, DoNotReadWhatTheySkipOfMatrices) {
  const ScratchFolder folder;
  ReadOptions options;
  options.nulls = NullPolicy::reject;
  for (const bool fortran : {false, true}) {
    const std::string path = folder.write("t.npy", matrix_file(fortran, 9));
    Collected found;
    found.columns.resize(3);
    const auto read = [&](std::uint64_t skip) {
      return error_of<InputError>([&] {
        read_table_in_batches(path, options, {.batch_rows = 2, .skip_rows = skip},
                              [&](const TableBatch& batch) {
                                // The last row has a NaN.
                                found.take(batch);
                              });
      });
    };
    const std::string error = read(4);
    EXPECT_NE(error.find("row 9, column \"a1\""), std::string::npos) << error;
    EXPECT_EQ(found.columns[0], fortran ? std::vector<double>{} : (std::vector<double>{40, 50, 60, 70}));
  }
  std::string repeated = npy("<i8", true, 4, 2);
  for (const std::int64_t value : {7, 7, 7, 8, 10, 20, 30, 40}) append_value(repeated, std::int64_t{value});
  options.id_column = "a0";
  Collected found;
  read_table_in_batches(folder.write("ids.npy", repeated), options, {.skip_rows = 2},
                        [&](const TableBatch& batch) { found.take(batch); });
  EXPECT_EQ(found.ids, (std::vector<std::int64_t>{7, 8}));
}

TEST(Batches, OfMatricesHaveIdsWhereTheFileHoldsIntegers) {
  const ScratchFolder folder;
  for (const bool fortran : {false, true}) {
    std::string bytes = npy("<i8", fortran, 3, 2);
    for (const std::int64_t value : fortran ? std::vector<std::int64_t>{7, -1, 7, 10, 20, 30}
                                            : std::vector<std::int64_t>{7, 10, -1, 20, 7, 30})
      append_value(bytes, value);
    const std::string path = folder.write("t.npy", bytes);
    ReadOptions options;
    options.id_column = "a0";
    const auto read = [&](std::size_t batch_rows) {
      Collected found;
      read_table_in_batches(path, options, {.batch_rows = batch_rows},
                            [&](const TableBatch& batch) { found.take(batch); });
      return found;
    };
    EXPECT_NE(error_of<InputError>([&] { read(3); }).find("row 3, column \"a0\""), std::string::npos);
    options.unique_ids = false;
    EXPECT_EQ(read(2).ids, (std::vector<std::int64_t>{7, -1, 7}));
    EXPECT_EQ(read(2).columns[0], (std::vector<double>{10, 20, 30}));
  }
}

TEST(Batches, OfFvecsAndFbinGoThroughTheFile) {
  const ScratchFolder folder;
  std::string fvecs;
  std::string fbin;
  append_value(fbin, std::uint32_t{5});
  append_value(fbin, std::uint32_t{2});
  for (int row = 0; row < 5; ++row) {
    append_value(fvecs, std::int32_t{2});
    for (int column = 0; column < 2; ++column) {
      append_value(fvecs, static_cast<float>(row + column));
      append_value(fbin, static_cast<float>(row + column));
    }
  }
  for (const std::string& path : {folder.write("t.fvecs", fvecs), folder.write("t.fbin", fbin)}) {
    Collected found;
    read_table_in_batches(path, {}, {.batch_rows = 2}, [&](const TableBatch& batch) { found.take(batch); });
    EXPECT_EQ(found.columns[1], (std::vector<double>{1, 2, 3, 4, 5}));
    EXPECT_EQ(found.sizes, (Sizes{2, 2, 1}));
  }
}

TEST(Batches, HaveAtLeastOneRow) {
  EXPECT_NE(error_of<InvalidArgument>([] {
              read_table_in_batches("t.csv", {}, {.batch_rows = 0}, [](const TableBatch&) {});
            }).find("batch_rows"),
            std::string::npos);
}

// Standard input is a pipe into which the test writes.
class StandardInput : public ::testing::Test {
 protected:
  StandardInput() : saved_(::dup(STDIN_FILENO)) {
    int ends[2] = {};
    EXPECT_EQ(::pipe(ends), 0);
    ::dup2(ends[0], STDIN_FILENO);
    ::close(ends[0]);
    write_end_ = ends[1];
  }
  ~StandardInput() override {
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }
  void send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t sent = ::write(write_end_, text.data(), text.size());
      ASSERT_GT(sent, 0);
      text.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  void end() { ::close(write_end_); }

 private:
  int saved_;
  int write_end_ = -1;
};

TEST_F(StandardInput, IsReadAsItComes) {
  Collected found;
  send("a\n1\n2\n3\n");
  read_table_in_batches("-", {}, {.batch_rows = 2}, [&](const TableBatch& batch) {
    found.take(batch);
    if (found.sizes.size() == 1) send("4\n5\n6");  // after the first batch, before the end of the input
    if (found.sizes.size() == 2) end();
  });
  EXPECT_EQ(found.columns[0], (std::vector<double>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(found.sizes, (Sizes{2, 2, 2}));
}

TEST_F(StandardInput, HandsOutWhatThereIsAfterAPause) {
  Collected found;
  send("a\n1\n2");  // the second row may be longer
  read_table_in_batches("-", {}, {.batch_rows = 100}, [&](const TableBatch& batch) {
    found.take(batch);
    if (found.sizes.size() > 1) return;
    send("5\n");
    end();
  });
  EXPECT_EQ(found.columns[0], (std::vector<double>{1, 25}));
  EXPECT_EQ(found.sizes, (Sizes{1, 1}));
}

// A row comes every 50 ms, so there is never a pause of a second.
TEST_F(StandardInput, HandsOutWhatThereIsAfterTheLongestDelay) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kDelay(250);
  Collected found;
  send("a\n0\n");
  const Clock::time_point begin = Clock::now();
  std::vector<std::chrono::duration<double>> delays;
  std::thread feed([&] {
    for (int row = 1; row < 12; ++row) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      send(std::to_string(row) + "\n");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // a silent pipe
    end();
  });
  read_table_in_batches("-", {}, {.batch_rows = 100, .max_delay = kDelay}, [&](const TableBatch& batch) {
    found.take(batch);
    const auto first_row =
        std::chrono::milliseconds(50 * static_cast<int>(found.columns[0].size() - batch.rows.num_rows));
    delays.push_back(Clock::now() - begin - first_row);
  });
  feed.join();
  EXPECT_EQ(found.columns[0], (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_GE(found.sizes.size(), 2u);  // 3 on an idle machine
  EXPECT_LE(found.sizes.size(), 4u);
  for (const auto delay : delays) {
    EXPECT_GE(delay, kDelay);
    EXPECT_LT(delay, std::chrono::seconds(1)) << "not before the pipe ended, or a pause";
  }
}

// Rows that are never waited for.
class SteadyRows : public io::ByteSource {
 public:
  std::size_t read(char* out, std::size_t num_bytes) override {
    const std::string_view row = num_given_ == 0 ? "a\n0\n" : "1\n";
    if (num_given_ == 40 || num_bytes < row.size()) return 0;
    if (num_given_++ > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    row.copy(out, row.size());
    return row.size();
  }
  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }
  io::Progress progress() const override { return {}; }

 private:
  int num_given_ = 0;
};

TEST(Batches, AreHandedOutAfterTheLongestDelayThoughRowsComeAllTheTime) {
  Collected found;
  SteadyRows source;
  io::read_csv_in_batches(source, "t.csv", {}, ',',
                          {.batch_rows = 1000, .max_delay = std::chrono::milliseconds(100)},
                          [&](const TableBatch& batch) { found.take(batch); });
  EXPECT_EQ(found.columns[0].size(), 40u);
  EXPECT_GE(found.sizes.size(), 3u);
}

// As long as it may wait for others, a row does, though nothing comes for a second.
TEST_F(StandardInput, WaitsForTheLongestDelayThroughAPause) {
  Collected found;
  send("a\n1\n");
  std::thread feed([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    send("2\n");
    end();
  });
  read_table_in_batches("-", {}, {.batch_rows = 100, .max_delay = std::chrono::minutes(5)},
                        [&](const TableBatch& batch) { found.take(batch); });
  feed.join();
  EXPECT_EQ(found.sizes, (Sizes{2}));
}

TEST(Batches, OfCompressedPipesAndMatricesInPipesKnowNoDelay) {
  const ScratchFolder folder;
  for (const char* name : {"t.csv.gz", "t.npy"}) {
    const std::string path = folder.path() + "/" + name;
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    std::thread writer(
        [&] { ::close(::open(path.c_str(), O_WRONLY | O_CLOEXEC)); });  // once it is being read
    const auto read = [&] {
      read_table_in_batches(path, {}, {.max_delay = std::chrono::seconds(1)}, [](const TableBatch&) {});
    };
    EXPECT_NE(error_of<InvalidArgument>(read).find("without a longest delay it is read"), std::string::npos);
    writer.join();
  }
  const std::string file = folder.write("file.npy", matrix_file(false, 9));
  std::size_t num_rows = 0;
  read_table_in_batches(file, {}, {.max_delay = std::chrono::seconds(1)},
                        [&](const TableBatch& batch) { num_rows += batch.rows.num_rows; });
  EXPECT_EQ(num_rows, 9u);
}

TEST_F(StandardInput, IsLookedAtAfterAPauseHoweverLittleHasCome) {
  Collected found;
  int num_waits = 0;
  ReadOptions options;
  options.on_progress = [&](std::uint64_t, std::uint64_t) {
    if (++num_waits == 50) throw IoError("the end of a row was not noticed");
  };
  send("a\n1\n23456789");
  read_table_in_batches("-", options, {.batch_rows = 1}, [&](const TableBatch& batch) {
    found.take(batch);
    if (found.sizes.size() == 1) send("\n");  // less than what is buffered before it
    if (found.sizes.size() == 2) end();
  });
  EXPECT_EQ(found.columns[0], (std::vector<double>{1, 23456789}));
}

TEST_F(StandardInput, MayBeAbandonedWhileNothingComes) {
  struct Enough {};
  int num_calls = 0;
  ReadOptions options;
  options.on_progress = [&](std::uint64_t, std::uint64_t) {
    if (++num_calls == 2) throw Enough{};
  };
  EXPECT_THROW(read_table_in_batches("-", options, {}, [](const TableBatch&) {}), Enough);
  end();
}

// The text of many rows, generated while it is read.
class ManyRows : public io::ByteSource {
 public:
  explicit ManyRows(std::uint64_t num_rows) : num_bytes_(kHeader.size() + num_rows * kRow.size()) {}

  std::size_t read(char* out, std::size_t num_bytes) override {
    std::size_t count = 0;
    for (; count < num_bytes && position_ < num_bytes_; ++count) out[count] = next_byte();
    return count;
  }
  std::optional<std::uint64_t> num_bytes() const override { return std::nullopt; }
  io::Progress progress() const override { return {position_, 0}; }

 private:
  static constexpr std::string_view kHeader = "id,a,name\n";
  static constexpr std::string_view kRow = "17,2.5,\"a name\nof two lines\"\n";

  char next_byte() {
    const std::uint64_t pos = position_++;
    return pos < kHeader.size() ? kHeader[pos] : kRow[(pos - kHeader.size()) % kRow.size()];
  }

  std::uint64_t num_bytes_;
  std::uint64_t position_ = 0;
};

long peak_memory_kib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

TEST(Batches, NeedNoMoreMemoryForALongerStream) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers keep what was freed";
  ReadOptions options;
  options.id_column = "id";
  options.label_column = "name";
  options.unique_ids = false;
  const auto read = [&](std::uint64_t num_rows) {
    ManyRows source(num_rows);
    const BatchTotals totals = io::read_csv_in_batches(source, "stream", options, ',', {.batch_rows = 1000},
                                                       [](const TableBatch&) {});
    EXPECT_EQ(totals.num_rows, num_rows);
  };
  read(300'000);
  const long before = peak_memory_kib();
  read(6'000'000);
  EXPECT_LT(peak_memory_kib() - before, 8 << 10);
}

}  // namespace
}  // namespace culmen
