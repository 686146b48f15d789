// Text that is read as a table: any text gives a valid table or an error, and the same one however the text is split into
// windows and chunks, and whether it is read at once or in batches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/table_io.h"
#include "table/csv_batches.h"
#include "table/csv_reader.h"
#include "tests/fuzz/check_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace culmen::fuzz {

// How the text is read.
class TextFormat {
 public:
  TextFormat() = default;
  TextFormat(const TextFormat&) = delete;
  TextFormat& operator=(const TextFormat&) = delete;
  virtual ~TextFormat() = default;

  virtual Table read(std::string_view text, const ReadOptions& options,
                     const io::CsvTuning& tuning) const = 0;
  virtual void read_in_batches(std::string_view text, const ReadOptions& options, const BatchOptions& batches,
                               const std::function<void(const TableBatch&)>& take,
                               const io::CsvTuning& tuning) const = 0;
};

// Holds any input of a fuzz target.
inline constexpr io::CsvTuning kOneWindow = {.window_bytes = 8192, .chunk_bytes = 8192};

struct Outcome {
  Table table;
  std::string error;
  std::string rejected;  // the rows that are left out, if they are listed
};

inline Outcome read(std::string_view text, const TextFormat& format, ReadOptions options,
                    const io::CsvTuning& tuning) {
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
    outcome.table = format.read(text, options, tuning);
    check_table(outcome.table);
  } catch (const Error& error) {
    outcome.error = error.what();
    require(!outcome.error.empty(), "an error says something");
  }
  return outcome;
}

// The cells of attributes and fields, row by row, as text.
inline std::string cells_of(const TableView& table) {
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

inline BatchOutcome read_in_batches(std::string_view text, const TextFormat& format,
                                    const ReadOptions& options, const BatchOptions& batches,
                                    const io::CsvTuning& tuning) {
  BatchOutcome outcome;
  std::uint64_t next_row = batches.skip_rows;
  const auto take = [&](const TableBatch& batch) {
    const TableView& rows = batch.rows;
    const bool may_be_empty = options.on_rejected_row != nullptr;  // all of its rows are refused
    require((rows.num_numbers() > 0 || may_be_empty) && rows.num_rows <= batches.batch_rows,
            "a batch has rows");
    require(batch.first_row == next_row && batch.num_input_rows >= rows.num_rows,
            "batches follow each other");
    for (const std::uint64_t number : rows.dropped_rows)
      outcome.dropped_rows.push_back(next_row - batches.skip_rows + number);
    next_row += batch.num_input_rows;
    outcome.ids.insert(outcome.ids.end(), rows.ids.begin(), rows.ids.end());
    outcome.cells += cells_of(rows);
  };
  try {
    format.read_in_batches(text, options, batches, take, tuning);
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

// With the types of `whole`, batches have the same rows.
inline void compare_batches(std::string_view text, const TextFormat& format, ReadOptions options,
                            std::uint8_t sizes, const io::CsvTuning& tuning, const Table& whole) {
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
  const BatchOutcome parts = read_in_batches(text, format, options, batches, tuning);
  const BatchOutcome others = read_in_batches(text, format, options, batches, kOneWindow);
  require(parts == others, "the same batches");
  require(parts.error.empty(), "no error: \"" + parts.error + '"');
  require(parts.ids == whole.ids && parts.dropped_rows == whole.dropped_rows, "the same rows");
  require(parts.cells == cells_of(whole.view()), "the same cells");
}

// The first rows tell whether ids are integers or texts, and a tiny window has few of them: what is a text in one reading is a
// wrong integer in the other.
inline bool differ_in_ids(const Outcome& a, const Outcome& b) {
  const auto are = [](const Outcome& texts, const Outcome& integers) {
    return texts.error.empty() && texts.table.id_type == IdType::text &&
           integers.error.find("integer in column") != std::string::npos;
  };
  return are(a, b) || are(b, a);
}

// sizes: of the windows, chunks and batches that it is split into.
inline void check_text(std::string_view text, const TextFormat& format, const ReadOptions& options,
                       std::uint8_t sizes) {
  const Outcome whole = read(text, format, options, kOneWindow);
  const culmen::io::CsvTuning tiny{.window_bytes = 1 + sizes / 4u, .chunk_bytes = 1 + sizes % 32u};
  const Outcome cut = read(text, format, options, tiny);
  // Which rows are left out may depend on what the first rows suggested, such as the type of the ids.
  const bool has_rejects = !whole.rejected.empty() || !cut.rejected.empty();
  if (has_rejects &&
      (cut.error != whole.error || cut.table.id_type != whole.table.id_type ||
       cut.table.fields != whole.table.fields || cut.table.attributes != whole.table.attributes))
    return;
  if (differ_in_ids(cut, whole)) return;
  // With an error in the end, such as that no column has numbers, how many are listed before it may differ.
  require(cut.rejected == whole.rejected || !whole.error.empty(), "the same rows are left out");
  // Of several faults, the one that is found may depend on what the first rows suggested.
  require(cut.error.empty() == whole.error.empty(),
          "an error, too: \"" + cut.error + "\" and \"" + whole.error + '"');
  require(cut.table.fields == whole.table.fields && cut.table.attributes == whole.table.attributes,
          "the same types");
  require(cells_of(cut.table.view()) == cells_of(whole.table.view()), "the same cells");
  require(cut.table.ids == whole.table.ids && cut.table.dropped_rows == whole.table.dropped_rows,
          "the same rows");
  if (whole.error.empty()) compare_batches(text, format, options, sizes, tiny, whole.table);
}

// The bits of `choice` that are not mentioned are the target's.
inline ReadOptions options_of(std::uint8_t choice) {
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

// The first byte of an input chooses options, the second one sizes; the text follows. format_of: a TextFormat by the first.
inline void check_input(const std::uint8_t* data, std::size_t size, const auto& format_of) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::uint8_t choice = take_byte(input);
  const std::uint8_t sizes = take_byte(input);
  check_text(input, format_of(choice), options_of(choice), sizes);
}

}  // namespace culmen::fuzz
