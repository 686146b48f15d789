#include "table/csv_reader.h"

#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/temporary_files.h"
#include "base/with_threads.h"
#include "table/csv_columns.h"
#include "table/json_lines.h"
#include "table/text.h"
#include "table/unique_ids.h"

namespace culmen::io {
namespace {

class TableSink : public CsvRowSink {
 public:
  // memory: of the table.
  TableSink(std::optional<std::uint64_t> num_input_bytes, const std::shared_ptr<ArrayMemory>& memory)
      : num_input_bytes_(num_input_bytes), columns_(memory) {
    table_.ids = Array<std::int64_t>(memory);
    table_.labels = {Array<char>(memory), Array<std::uint64_t>(memory)};
  }

  void begin(const CsvSchema& schema, const std::vector<CellKinds>& first_rows) override;
  void take(const CsvWindow& window) override;
  bool has_seen_rows() const { return num_rows_ > 0 || table_.num_dropped_rows > 0; }
  Table finish(const std::string& name, const ReadOptions& options, const std::vector<CellKinds>& kinds);

 private:
  void take_dropped(const CsvRows& rows);
  void reserve_for_whole_input(std::size_t num_bytes_used);
  void settle_ids(const std::string& name);
  void settle_columns(const std::vector<CellKinds>& kinds);
  void add_columns(TableLayout layout);
  ColumnView add_values(CollectedColumn& column);

  std::optional<std::uint64_t> num_input_bytes_;
  const CsvSchema* schema_ = nullptr;
  std::size_t num_windows_ = 0;
  std::size_t num_rows_ = 0;
  std::vector<CsvColumn> settled_;
  CsvColumns columns_;
  IdRangeFound id_range_;
  RowLines lines_;
  DroppedIds dropped_ids_;
  Table table_;
};

void TableSink::begin(const CsvSchema& schema, const std::vector<CellKinds>&) {
  schema_ = &schema;
  columns_.begin(schema);
  if (schema.label) table_.labels.offsets.push_back(0);
}

void TableSink::take(const CsvWindow& window) {
  std::uint64_t num_lines = window.num_lines_before;
  Labels& labels = table_.labels;
  for (const CsvRows& rows : window.chunks) {
    id_range_.append(rows.id_range, table_.ids.size());
    table_.ids.insert(table_.ids.end(), rows.ids.begin(), rows.ids.end());
    lines_.append(rows.lines, num_rows_, num_lines + 1);
    const std::uint64_t label_begin = labels.bytes.size();
    labels.bytes.insert(labels.bytes.end(), rows.labels.bytes.begin(), rows.labels.bytes.end());
    for (const std::uint32_t end : rows.labels.ends) labels.offsets.push_back(label_begin + end);
    take_dropped(rows);
    num_rows_ += rows.num_rows;
    num_lines += rows.num_lines;
  }
  columns_.append(window.chunks);
  if (num_windows_++ == 0) reserve_for_whole_input(window.num_bytes);
}

// Called once the rows of the previous chunks are counted.
void TableSink::take_dropped(const CsvRows& rows) {
  if (!schema_->id) {
    for (const std::size_t row : rows.dropped_at)
      table_.dropped_rows.push_back(num_rows_ + row + table_.dropped_rows.size());
  }
  dropped_ids_.append(rows);
  table_.num_dropped_rows += rows.dropped_at.size();
  if (schema_->lists_refused) table_.num_rejected_rows += rows.faults.size();
}

// Columns that grew by doubling would be copied again and again, and use twice the memory meanwhile.
void TableSink::reserve_for_whole_input(std::size_t num_bytes_used) {
  if (!num_input_bytes_ || num_rows_ == 0) return;
  constexpr double kRoom = 1.05;
  const double rows_per_byte = static_cast<double>(num_rows_) / static_cast<double>(num_bytes_used);
  columns_.reserve(static_cast<std::size_t>(rows_per_byte * static_cast<double>(*num_input_bytes_) * kRoom));
}

Table TableSink::finish(const std::string& name, const ReadOptions& options,
                        const std::vector<CellKinds>& kinds) {
  settle_ids(name);
  if (options.unique_ids)
    check_csv_ids(table_.ids, table_.id_type, lines_, name, *schema_, table_.ids.get_allocator().memory());
  table_.num_rows = num_rows_;
  if (schema_->id) table_.id_name = schema_->names[*schema_->id];
  if (schema_->label)
    (schema_->texts_are_ids() ? table_.id_name : table_.label_name) = schema_->names[*schema_->label];
  dropped_ids_.hand_out(options.on_dropped_row);
  settle_columns(kinds);
  add_columns(layout_of(settled_, kinds, name, options.is_partial));
  table_.location_of_row = [name, lines = std::move(lines_)](std::size_t row) {
    return place_of_line(name, lines.line_of(row));
  };
  return std::move(table_);
}

void TableSink::settle_ids(const std::string& name) {
  table_.id_type = schema_->id_type.value_or(id_range_.type());
  if (schema_->id_type || !id_range_.large) return;
  if (id_range_.negative)
    throw_csv_fault(
        name, lines_.line_of(*id_range_.negative), *schema_->id + 1,
        "expected " + std::string(expected_id(IdType::uint64)) + ", found " +
            std::to_string(table_.ids[*id_range_.negative]) + ": ids of 2^63 and more, as on line " +
            std::to_string(lines_.line_of(*id_range_.large)) + ", are uint64, and then none is negative");
  make_uint64_ids(table_.ids);
}

// Where a guess was not wrong, but not quite right.
void TableSink::settle_columns(const std::vector<CellKinds>& kinds) {
  settled_ = schema_->columns;
  for (std::size_t i = 0; i < settled_.size(); ++i) {
    const CsvColumn settled = settle_column(settled_[i], kinds[i], has_seen_rows());
    if (settled.is_text() && !settled_[i].is_text()) make_missing_texts(columns_[i]);
    settled_[i] = settled;
  }
}

void TableSink::add_columns(TableLayout layout) {
  for (const std::size_t column : layout.attribute_columns)
    table_.columns.push_back(add_values(columns_[column]));
  for (std::size_t i = 0; i < layout.fields.size(); ++i) {
    Field& field = layout.fields[i];
    const CsvColumn& column = settled_[layout.field_columns[i]];
    CollectedColumn& collected = columns_[layout.field_columns[i]];
    if (column.is_text()) {
      Texts texts = {std::move(std::get<Labels>(collected.values)), std::move(collected.validity)};
      if (!column.kept.role && is_nearly_unique(texts.texts.view())) field.role = FieldRole::stored;
      table_.field_columns.emplace_back(std::move(texts));
    } else {
      if (field.format.type == ColumnType::integer && column.type == CellType::number)
        make_integers(collected);
      table_.field_columns.emplace_back(add_values(collected));
    }
  }
  table_.attributes = std::move(layout.attributes);
  table_.fields = std::move(layout.fields);
}

// Moves values into the table, which does not move the elements of vectors.
ColumnView TableSink::add_values(CollectedColumn& column) {
  ColumnView view;
  if (auto* const numbers = std::get_if<Array<double>>(&column.values)) {
    view = ColumnView(*numbers);
    table_.storage.emplace_back(std::move(*numbers));
  } else {
    auto& integers = std::get<Array<std::int64_t>>(column.values);
    view = ColumnView(integers);
    table_.storage.emplace_back(std::move(integers));
  }
  view.validity = column.validity_view();
  if (!column.validity.empty()) table_.validities.push_back(std::move(column.validity));
  return view;
}

// The columns as they are to be read again; none if what was read is right.
std::vector<CsvColumn> columns_to_read_again(const CsvParser& parser, bool has_rows) {
  const CsvSchema& schema = parser.schema();
  std::vector<CsvColumn> settled;
  bool is_wrong = false;
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const CsvColumn& guess = schema.columns[i];
    const CellKinds& kinds = parser.kinds()[i];
    settled.push_back(settle_column(guess, kinds, has_rows));
    // Rows without a number were dropped, and it is no column of numbers.
    const bool dropped_for_nothing =
        schema.nulls == NullPolicy::drop && kinds.is_empty() && guess.kept.is_undecided && !guess.is_fixed;
    is_wrong |= dropped_for_nothing || must_read_again(guess, settled.back(), kinds);
  }
  if (!is_wrong) settled.clear();
  return settled;
}

// Returns what ended the parsing. Cells before it may be faults, too, that only the types of columns tell.
std::exception_ptr parse_until_fault(CsvParser& parser, TableSink& sink) {
  try {
    parser.parse(sink);
  } catch (const InputError&) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

void check_csv_ids(std::span<const std::int64_t> ids, IdType type, const RowLines& lines,
                   const std::string& name, const CsvSchema& schema,
                   const std::shared_ptr<ArrayMemory>& memory) {
  const std::optional<RepeatedId> repeated = find_repeated_id(ids, memory);
  if (!repeated) return;
  const std::size_t column = *schema.id;
  throw_csv_fault(name, lines.line_of(repeated->second_row), column + 1,
                  "expected unique ids in column " + quote_excerpt(schema.names[column]) + ", found " +
                      id_text(ids[repeated->second_row], type) + " again (first on line " +
                      std::to_string(lines.line_of(repeated->first_row)) + ")");
}

namespace {

Table read_found(ByteSource& source, const std::string& name, const ReadOptions& options,
                 const FoundDialect& found, const CsvTuning& tuning) {
  Table table;
  const std::shared_ptr<ArrayMemory> memory = temporary_files(options.temp_directory);
  with_threads(options.num_threads, [&] {
    const ReadPolicy policy = options.num_threads == 1 ? ReadPolicy::when_asked : ReadPolicy::ahead;
    std::vector<CsvColumn> columns;
    std::vector<CellKinds> kinds;
    ReadOptions again = options;
    {
      TableSink sink(source.num_bytes(), memory);
      CsvParser parser(source, name, options, found, tuning, policy, false);
      parser.hinting([&] {
        const std::exception_ptr fault = parse_until_fault(parser, sink);
        columns = columns_to_read_again(parser, sink.has_seen_rows());
        if (!columns.empty()) return;
        parser.finish();
        if (fault) std::rethrow_exception(fault);
        table = sink.finish(name, options, parser.kinds());
      });
      if (columns.empty()) return;
      kinds = parser.kinds();
      if (parser.schema().texts_are_ids()) again.id_type = IdType::text;
    }
    source.rewind();
    TableSink sink(source.num_bytes(), memory);
    CsvParser parser(source, name, again, found, tuning, policy, true);
    parser.set_columns(std::move(columns));
    parser.hinting([&] {
      parser.parse(sink);
      parser.finish();
      table = sink.finish(name, options, kinds);
    });
  });
  table.dialect = found.dialect;
  return table;
}

ReadSample sample_reader(const std::string& name, const CsvTuning& tuning) {
  return [&name, &tuning](std::string_view text, const ReadOptions& options, const FoundDialect& found) {
    MemorySource source(text);
    read_found(source, name, options, found, tuning);
  };
}

Table read_csv_of_json_lines(ByteSource& csv, const std::string& name, const ReadOptions& options,
                             const CsvTuning& tuning) {
  SampledSource sampled(csv, kSampleBytes);
  const FoundDialect found = find_dialect_of_json_lines({sampled.sample(), sampled.is_whole()}, options, name,
                                                        sample_reader(name, tuning));
  return read_found(sampled, name, options, found, tuning);
}

}  // namespace

Table read_csv(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
               const CsvTuning& tuning) {
  check_dialect(options.dialect);
  if (!options.schema && !source.rewind()) {
    RecordedSource recorded(source, temporary_files(options.temp_directory));
    return read_csv(recorded, name, options, delimiter, tuning);
  }
  SampledSource sampled(source, kSampleBytes);
  const FoundDialect found = find_dialect({sampled.sample(), sampled.is_whole()}, delimiter, options, name,
                                          sample_reader(name, tuning));
  return read_found(sampled, name, options, found, tuning);
}

Table read_json_lines(std::unique_ptr<ByteSource> lines, const std::string& name, const ReadOptions& options,
                      const CsvTuning& tuning) {
  if (options.json_lines_nulls) {
    ReadOptions own = options;
    own.nulls = *std::exchange(own.json_lines_nulls, std::nullopt);
    return read_json_lines(std::move(lines), name, own, tuning);
  }
  const std::unique_ptr<ByteSource> csv = csv_of_json_lines(std::move(lines), name, options);
  if (options.schema || csv->rewind()) return read_csv_of_json_lines(*csv, name, options, tuning);
  RecordedSource recorded(*csv, temporary_files(options.temp_directory));
  return read_csv_of_json_lines(recorded, name, options, tuning);
}

}  // namespace culmen::io

namespace culmen {

Table parse_json_lines(std::string_view text, const std::string& name, const ReadOptions& options) {
  return io::read_json_lines(std::make_unique<io::MemorySource>(text), name, options);
}

Table parse_csv(std::string_view text, const std::string& name, const ReadOptions& options, char delimiter) {
  io::MemorySource source(text);
  if (options.dialect.delimiter) return io::read_csv(source, name, options, delimiter);
  ReadOptions with_delimiter = options;
  with_delimiter.dialect.delimiter = delimiter;
  return io::read_csv(source, name, with_delimiter, delimiter);
}

}  // namespace culmen
