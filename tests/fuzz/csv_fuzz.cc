// CSV: any text gives a valid table or an error, and the same one however the text is split into windows and chunks,
// and whether it is read at once or in batches.
#include <algorithm>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/csv_batches.h"
#include "table/csv_reader.h"
#include "tests/fuzz/check_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {
namespace {

struct Outcome {
  Table table;
  std::string error;
};

Outcome read(std::string_view text, const ReadOptions& options, char delimiter, const io::CsvTuning& tuning) {
  Outcome outcome;
  try {
    io::MemorySource source(text);
    outcome.table = io::read_csv(source, "fuzz", options, delimiter, tuning);
    check_table(outcome.table);
  } catch (const Error& error) {
    outcome.error = error.what();
    require(!outcome.error.empty(), "an error says something");
  }
  return outcome;
}

// The rows of the whole batches before the first fault, concatenated, without offsets of labels.
Outcome read_in_batches(std::string_view text, const ReadOptions& options, char delimiter,
                        const BatchOptions& batches, const io::CsvTuning& tuning) {
  Outcome outcome;
  Table& table = outcome.table;
  std::uint64_t next_row = batches.skip_rows;
  const auto take = [&](const TableBatch& batch) {
    const TableView& rows = batch.rows;
    require(rows.num_numbers() > 0 && rows.num_rows <= batches.batch_rows, "a batch has rows");
    require(batch.first_row == next_row && batch.num_input_rows >= rows.num_rows,
            "batches follow each other");
    for (const std::uint64_t number : rows.dropped_rows)
      table.dropped_rows.push_back(next_row - batches.skip_rows + number);
    next_row += batch.num_input_rows;
    table.num_rows += rows.num_rows;
    table.ids.insert(table.ids.end(), rows.ids.begin(), rows.ids.end());
    for (std::size_t row = 0; row < rows.num_rows && !rows.labels.empty(); ++row)
      table.labels.bytes.insert(table.labels.bytes.end(), rows.labels[row].begin(), rows.labels[row].end());
    table.storage.resize(rows.columns.size(), std::vector<double>{});
    for (std::size_t column = 0; column < rows.columns.size(); ++column) {
      const auto* const values = reinterpret_cast<const double*>(rows.columns[column].data);
      auto& all = std::get<std::vector<double>>(table.storage[column]);
      all.insert(all.end(), values, values + rows.num_rows);
    }
  };
  try {
    io::MemorySource source(text);
    io::read_csv_in_batches(source, "fuzz", options, delimiter, batches, take, tuning);
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

void compare_batches(std::string_view text, ReadOptions options, char delimiter, std::uint8_t sizes,
                     const io::CsvTuning& tuning) {
  options.unique_ids = false;
  const BatchOptions batches = {.batch_rows = 1u + sizes % 3u};
  const Outcome parts = read_in_batches(text, options, delimiter, batches, tuning);
  const Outcome others = read_in_batches(text, options, delimiter, batches, {});
  require(parts.error == others.error && parts.table.storage == others.table.storage, "the same batches");
  Outcome whole;
  try {
    io::MemorySource source(text);
    whole.table = io::read_csv(source, "fuzz", options, delimiter);
  } catch (const Error& error) {
    whole.error = error.what();
  }
  require(parts.error == whole.error, "the same error: \"" + parts.error + "\" and \"" + whole.error + "\"");
  if (!whole.error.empty()) return;
  require(parts.table.num_rows == whole.table.num_rows && parts.table.ids == whole.table.ids &&
              parts.table.dropped_rows == whole.table.dropped_rows,
          "the same rows");
  require(whole.table.num_rows == 0 || parts.table.storage == whole.table.storage, "the same numbers");
  require(parts.table.labels.bytes == whole.table.labels.bytes, "the same labels");
}

ReadOptions options_of(std::uint8_t choice) {
  ReadOptions options;
  options.num_threads = 1;
  if (choice & 1) options.nulls = NullPolicy::drop;
  if (choice & 2) options.id_column = "id";
  if (choice & 4) options.label_column = "name";
  if (choice & 8) options.attributes = {{"a"}};
  return options;
}

}  // namespace

std::vector<std::string> seed_inputs() {
  const std::string sizes = "\x07";
  const std::string plain = "a,b\n1,2\n3.5,-4e-2\n";
  const std::string full = "id,name,a\n1,x,2\n2,\"q, \"\"r\"\"\n\",+3\r\n3,,\"4\"\n";
  return {std::string(1, '\0') + sizes + plain,
          "\x01" + sizes + "a,b\r\n1,\r\nnan,2\r\n3,4\r\n",
          "\x06" + sizes + full,
          "\x07" + sizes + full,
          "\x0E" + sizes + full,
          "\x10" + sizes + "a\tb\n1\t2\n",
          std::string(1, '\0') + sizes + "\xEF\xBB\xBF" + plain};
}

std::vector<std::string> tokens() {
  return {"\"",
          "\"\"",
          ",",
          "\n",
          "\r\n",
          "\r",
          "\t",
          std::string(1, '\0'),
          "\xEF\xBB\xBF",
          "\xFF\xFE",
          "nan",
          "-inf",
          "1e999",
          "1e-999",
          "-0",
          "9007199254740993",
          "-9223372036854775808",
          "9223372036854775808",
          "id",
          "name",
          "a",
          " ",
          "+",
          "-",
          ".",
          "e",
          "\xC3",
          "\xC3\xBC",
          "\"\n\"",
          "1,2\n",
          "0x1p3"};
}

}  // namespace culmen::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace culmen::fuzz;
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::uint8_t choice = take_byte(input);
  const std::uint8_t sizes = take_byte(input);
  const char delimiter = choice & 16 ? '\t' : ',';
  const culmen::ReadOptions options = options_of(choice);
  const Outcome whole = read(input, options, delimiter, {});
  const culmen::io::CsvTuning tiny{.window_bytes = 1 + sizes / 4u, .chunk_bytes = 1 + sizes % 32u};
  const Outcome cut = read(input, options, delimiter, tiny);
  require(cut.error == whole.error, "the same error: \"" + cut.error + "\" and \"" + whole.error + "\"");
  require(cut.table.storage == whole.table.storage && cut.table.ids == whole.table.ids, "the same numbers");
  require(cut.table.labels.bytes == whole.table.labels.bytes, "the same labels");
  require(cut.table.labels.offsets == whole.table.labels.offsets, "the same label lengths");
  compare_batches(input, options, delimiter, sizes, tiny);
  return 0;
}
