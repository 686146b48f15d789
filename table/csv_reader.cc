#include "table/csv_reader.h"

#include <tbb/parallel_for.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/with_threads.h"
#include "table/text.h"
#include "table/unique_ids.h"

namespace culmen::io {
namespace {

class TableSink : public CsvRowSink {
 public:
  TableSink(const std::string& name, const ReadOptions& options, std::optional<std::uint64_t> num_input_bytes)
      : name_(name), options_(options), num_input_bytes_(num_input_bytes) {}

  void begin(const CsvSchema& schema) override;
  void take(const CsvWindow& window) override;
  Table finish();

 private:
  void take_labels(const CsvRows& rows);
  void take_dropped(const CsvRows& rows);
  void reserve_for_whole_input(std::size_t num_bytes_used);

  const std::string& name_;
  const ReadOptions& options_;
  const std::optional<std::uint64_t> num_input_bytes_;
  const CsvSchema* schema_ = nullptr;
  std::size_t num_rows_ = 0;
  std::size_t num_windows_ = 0;
  std::vector<std::vector<double>> columns_;
  RowLines lines_;
  Table table_;
};

void TableSink::begin(const CsvSchema& schema) {
  schema_ = &schema;
  columns_.resize(schema.selection.columns.size());
  if (schema.selection.label) table_.labels.offsets.push_back(0);
}

void TableSink::take(const CsvWindow& window) {
  const std::size_t num_chunks = window.chunks.size();
  std::vector<std::size_t> first_rows(num_chunks);
  std::uint64_t num_lines = window.num_lines_before;
  for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
    const CsvRows& rows = window.chunks[chunk];
    first_rows[chunk] = num_rows_;
    table_.ids.insert(table_.ids.end(), rows.ids.begin(), rows.ids.end());
    lines_.append(rows.lines, num_rows_, num_lines + 1);
    take_labels(rows);
    take_dropped(rows);
    num_rows_ += rows.num_rows;
    num_lines += rows.num_lines;
  }
  for (std::vector<double>& column : columns_) column.resize(num_rows_);
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    const CsvRows& rows = window.chunks[chunk];
    const std::size_t width = columns_.size();
    for (std::size_t slot = 0; slot < width; ++slot) {
      double* const out = columns_[slot].data() + first_rows[chunk];
      for (std::size_t row = 0; row < rows.num_rows; ++row) out[row] = rows.values[row * width + slot];
    }
  });
  if (num_windows_++ == 0) reserve_for_whole_input(window.num_bytes);
}

void TableSink::take_labels(const CsvRows& rows) {
  Labels& labels = table_.labels;
  labels.bytes.insert(labels.bytes.end(), rows.label_bytes.begin(), rows.label_bytes.end());
  for (const std::uint32_t size : rows.label_sizes) labels.offsets.push_back(labels.offsets.back() + size);
}

// Called once the rows of the previous chunks are counted.
void TableSink::take_dropped(const CsvRows& rows) {
  if (!schema_->selection.id) {
    for (const std::size_t row : rows.dropped_at)
      table_.dropped_rows.push_back(num_rows_ + row + table_.dropped_rows.size());
  }
  table_.num_dropped_rows += rows.dropped_at.size();
}

// Columns that grew by doubling would be copied again and again, and use twice the memory meanwhile.
void TableSink::reserve_for_whole_input(std::size_t num_bytes_used) {
  if (!num_input_bytes_ || num_rows_ == 0) return;
  constexpr double kRoom = 1.05;
  const double rows_per_byte = static_cast<double>(num_rows_) / static_cast<double>(num_bytes_used);
  const double num_rows = rows_per_byte * static_cast<double>(*num_input_bytes_) * kRoom;
  for (std::vector<double>& column : columns_) column.reserve(static_cast<std::size_t>(num_rows));
}

Table TableSink::finish() {
  if (options_.unique_ids) check_csv_ids(table_.ids, lines_, name_, *schema_);
  table_.num_rows = num_rows_;
  table_.attributes = schema_->selection.attributes;
  table_.label_name = options_.label_column;
  for (std::vector<double>& column : columns_) {
    table_.columns.emplace_back(column);
    table_.storage.emplace_back(std::move(column));
  }
  table_.location_of_row = [name = name_, lines = std::move(lines_)](std::size_t row) {
    return place_of_line(name, lines.line_of(row));
  };
  return std::move(table_);
}

}  // namespace

void check_csv_ids(std::span<const std::int64_t> ids, const RowLines& lines, const std::string& name,
                   const CsvSchema& schema) {
  const std::optional<RepeatedId> repeated = find_repeated_id(ids);
  if (!repeated) return;
  const std::size_t column = *schema.selection.id;
  throw_csv_fault(name, lines.line_of(repeated->second_row), column + 1,
                  "expected unique ids in column " + quote_excerpt(schema.names[column]) + ", found " +
                      std::to_string(ids[repeated->second_row]) + " again (first on line " +
                      std::to_string(lines.line_of(repeated->first_row)) + ")");
}

Table read_csv(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
               const CsvTuning& tuning) {
  Table table;
  with_threads(options.num_threads, [&] {
    const ReadPolicy policy = options.num_threads == 1 ? ReadPolicy::when_asked : ReadPolicy::ahead;
    TableSink sink(name, options, source.num_bytes());
    CsvParser parser(source, name, options, delimiter, tuning, policy);
    parser.parse(sink);
    table = sink.finish();
  });
  return table;
}

}  // namespace culmen::io

namespace culmen {

Table parse_csv(std::string_view text, const std::string& name, const ReadOptions& options, char delimiter) {
  io::MemorySource source(text);
  return io::read_csv(source, name, options, delimiter);
}

}  // namespace culmen
