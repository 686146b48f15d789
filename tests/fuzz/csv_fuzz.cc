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
  std::string rejected;  // the rows that are left out, if they are listed
};

Outcome read(std::string_view text, ReadOptions options, char delimiter, const io::CsvTuning& tuning) {
  Outcome outcome;
  std::uint64_t last_line = 0;
  if (options.on_rejected_row)
    options.on_rejected_row = [&](const RejectedRow& row) {
      require(row.line >= last_line && !row.problem.empty(), "rejected rows come in order, with a reason");
      last_line = row.line;
      // Of several problems of a row, the one that is found may depend on what the first rows suggested.
      outcome.rejected += std::to_string(row.line) + ":" + row.text + '\n';
    };
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

// The cells of attributes and fields, row by row, as text.
std::string cells_of(const TableView& table) {
  std::string text;
  const auto add_value = [&](const ColumnView& column, std::size_t row) {
    const std::byte* const place = column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes;
    const bool is_missing = column.validity.is_missing(row);
    text.append(is_missing ? "-" : "+").append(reinterpret_cast<const char*>(place), is_missing ? 0 : 8);
  };
  for (std::size_t row = 0; row < table.num_rows; ++row) {
    for (const ColumnView& column : table.columns) add_value(column, row);
    for (const FieldView& field : table.field_views) {
      if (const auto* const texts = std::get_if<TextView>(&field)) {
        text.append(texts->validity.is_missing(row) ? "-" : "+").append(texts->texts[row]).append("\n");
      } else {
        add_value(std::get<ColumnView>(field), row);
      }
    }
    if (!table.labels.empty()) text.append(table.labels[row]).append("\n");
  }
  return text;
}

// The rows of the whole batches before the first fault, concatenated.
struct BatchOutcome {
  std::string cells;
  std::vector<std::int64_t> ids;
  std::vector<std::uint64_t> dropped_rows;
  std::string error;

  friend bool operator==(const BatchOutcome&, const BatchOutcome&) = default;
};

BatchOutcome read_in_batches(std::string_view text, const ReadOptions& options, char delimiter,
                             const BatchOptions& batches, const io::CsvTuning& tuning) {
  BatchOutcome outcome;
  std::uint64_t next_row = batches.skip_rows;
  const auto take = [&](const TableBatch& batch) {
    const TableView& rows = batch.rows;
    require(rows.num_numbers() > 0 && rows.num_rows <= batches.batch_rows, "a batch has rows");
    require(batch.first_row == next_row && batch.num_input_rows >= rows.num_rows,
            "batches follow each other");
    for (const std::uint64_t number : rows.dropped_rows)
      outcome.dropped_rows.push_back(next_row - batches.skip_rows + number);
    next_row += batch.num_input_rows;
    outcome.ids.insert(outcome.ids.end(), rows.ids.begin(), rows.ids.end());
    outcome.cells += cells_of(rows);
  };
  try {
    io::MemorySource source(text);
    io::read_csv_in_batches(source, "fuzz", options, delimiter, batches, take, tuning);
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// With the types of `whole`, batches have the same rows.
void compare_batches(std::string_view text, ReadOptions options, char delimiter, std::uint8_t sizes,
                     const io::CsvTuning& tuning, const Table& whole) {
  options.unique_ids = false;
  options.schema = Schema{.attributes = whole.attributes,
                          .has_labels = !whole.labels.offsets.empty(),
                          .fields = whole.fields,
                          .id_name = whole.id_name,
                          .label_name = whole.label_name,
                          .id_type = whole.id_type};
  options.attributes.clear();
  options.dialect = whole.dialect;
  const BatchOptions batches = {.batch_rows = 1u + sizes % 3u};
  const BatchOutcome parts = read_in_batches(text, options, delimiter, batches, tuning);
  const BatchOutcome others = read_in_batches(text, options, delimiter, batches, {});
  require(parts == others, "the same batches");
  require(parts.error.empty(), "no error: \"" + parts.error + '"');
  require(parts.ids == whole.ids && parts.dropped_rows == whole.dropped_rows, "the same rows");
  require(parts.cells == cells_of(whole.view()), "the same cells");
}

ReadOptions options_of(std::uint8_t choice) {
  ReadOptions options;
  options.num_threads = 1;
  if (choice & 1) options.nulls = NullPolicy::drop;
  if (choice & 2) options.id_column = "id";
  if (choice & 4) options.label_column = "name";
  if (choice & 8) options.attributes = {{"a"}};
  if (choice & 32) options.nulls = NullPolicy::reject;
  if (choice & 64) options.on_rejected_row = [](const RejectedRow&) {};
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
          std::string(1, '\0') + sizes + "\xEF\xBB\xBF" + plain,
          std::string(1, '\0') + sizes + "a,d,t\n1,2025-06-01,2025-06-01 12:30:00\n,,\n",
          std::string(1, '\0') + sizes + "preis;rate\n1.234,50;12 %\n\n-;0,23\n",
          std::string(1, '\0') + sizes + "1.5|2\n3|\"1,234\"\n",
          "\x48" + sizes + "a,b\n1,2\nx,3\n4\n5,\"p\"q\n6,\"open\n7,31/12/2024\n",
          "\x08" + sizes + "a,d,t\n1,true,2025-06-01T12:30:00.5Z\nNA,x,2025-06-01T12:30+02:00\n"};
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
          "0x1p3",
          "2025-06-01",
          "2025-06-01 12:30:00",
          ".000001",
          "Z",
          "true",
          "NA",
          ";",
          "|",
          "1.234",
          "1,5",
          "31.12.2024",
          "12/31/2024 2:30 PM",
          "'",
          "%",
          "$",
          "\xE2\x82\xAC",
          "\xC2\xA0",
          "\n\n"};
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
  // What rows are that are left out may depend on what the first rows suggested.
  const bool has_rejects = !whole.rejected.empty() || !cut.rejected.empty();
  if (has_rejects && (cut.error.empty() != whole.error.empty() || cut.table.fields != whole.table.fields ||
                      cut.table.attributes != whole.table.attributes))
    return 0;
  require(cut.rejected == whole.rejected, "the same rows are left out");
  // Of several faults, the one that is found may depend on what the first rows suggested.
  require(cut.error.empty() == whole.error.empty(),
          "an error, too: \"" + cut.error + "\" and \"" + whole.error + '"');
  require(cut.table.fields == whole.table.fields && cut.table.attributes == whole.table.attributes,
          "the same types");
  require(cells_of(cut.table.view()) == cells_of(whole.table.view()), "the same cells");
  require(cut.table.ids == whole.table.ids && cut.table.dropped_rows == whole.table.dropped_rows,
          "the same rows");
  if (whole.error.empty()) compare_batches(input, options, delimiter, sizes, tiny, whole.table);
  return 0;
}
