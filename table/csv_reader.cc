#include "table/csv_reader.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <unordered_set>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/with_threads.h"
#include "table/csv_chunk.h"
#include "table/text.h"
#include "table/unique_ids.h"
#include "table/window_stream.h"

namespace culmen::io {
namespace {

[[noreturn]] void throw_at(const std::string& name, std::uint64_t line, std::size_t column,
                           const std::string& what) {
  throw InputError(name + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + what);
}

// Drops a UTF-8 byte order mark; names UTF-16, which would look like stray NULs further on.
std::string_view drop_byte_order_mark(std::string_view text, const std::string& name) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    throw_at(name, 1, 1, "expected UTF-8 text, found UTF-16 (convert it with: iconv -f UTF-16 -t UTF-8)");
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  return text;
}

std::string header_name(const CsvField& field) {
  std::string scratch;
  return std::string(field.quoted ? field_value(field, scratch) : trim_blanks(field.text));
}

std::vector<std::string> parse_header(const RecordSplitter& splitter, const std::string& name) {
  if (splitter.num_fields() > kMaxColumns) {
    throw_at(name, 1, kMaxColumns + 1,
             "expected at most " + std::to_string(kMaxColumns) + " columns, found " +
                 std::to_string(splitter.num_fields()));
  }
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (const CsvField& field : splitter.fields()) {
    names.push_back(header_name(field));
    if (find_invalid_utf8(names.back()) != std::string_view::npos) {
      throw_at(name, 1, names.size(), "expected a UTF-8 column name, found " + quote_excerpt(names.back()));
    }
    if (!names.back().empty() && !seen.insert(names.back()).second) {
      throw_at(name, 1, names.size(), "the column name " + quote_excerpt(names.back()) + " appears twice");
    }
  }
  return names;
}

// The first record end at or behind `pos`. `in_quotes`: whether `pos` lies within a quoted field.
const char* find_record_end(const char* pos, const char* end, bool in_quotes) {
  for (; pos != end; ++pos) {
    if (*pos == '"') in_quotes = !in_quotes;
    if (*pos == '\n' && !in_quotes) return pos + 1;
  }
  return end;
}

// Cuts a window that begins at a record into chunks that begin at records. A position lies within a quoted
// field if the number of quotes before it is odd ("" inside a field counts two). That holds up to the first
// stray quote, and the chunk that holds the stray quote is refused by its parser.
std::vector<const char*> cut_at_records(std::string_view window, std::size_t chunk_bytes) {
  const std::size_t num_chunks = std::max<std::size_t>(1, window.size() / chunk_bytes);
  const char* const end = window.data() + window.size();
  std::vector<std::size_t> num_quotes(num_chunks);
  const auto nominal_begin = [&](std::size_t chunk) {
    return chunk == num_chunks ? end : window.data() + chunk * chunk_bytes;
  };
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    num_quotes[chunk] =
        static_cast<std::size_t>(std::count(nominal_begin(chunk), nominal_begin(chunk + 1), '"'));
  });
  std::vector<const char*> cuts{window.data()};
  bool in_quotes = false;
  for (std::size_t chunk = 1; chunk < num_chunks; ++chunk) {
    in_quotes ^= num_quotes[chunk - 1] % 2 == 1;
    const char* const begin = nominal_begin(chunk);
    if (cuts.back() > begin) continue;  // a record spans this chunk
    const char* const cut = find_record_end(begin, end, in_quotes);
    if (cut == end) break;  // no record ends any more
    cuts.push_back(cut);
  }
  cuts.push_back(end);
  return cuts;
}

class CsvReader {
 public:
  CsvReader(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
            const CsvTuning& tuning)
      : name_(name),
        options_(options),
        tuning_(tuning),
        num_input_bytes_(source.num_bytes()),
        windows_(source, tuning.window_bytes, kMaxLineBytes, options.num_threads != 1) {
    schema_.delimiter = delimiter;
    schema_.nulls = options.nulls;
  }

  Table read() {
    std::string_view rest = read_header();
    for (;;) {
      rest = parse_window(rest);
      report_progress();
      if (windows_.is_last()) break;
      rest = windows_.next(rest);
    }
    check_ids();
    return finish();
  }

 private:
  std::string_view read_header();
  std::string_view parse_window(std::string_view window);
  void parse_chunks(const std::vector<const char*>& cuts);
  void take_rows(std::size_t num_chunks);
  void take_labels(const CsvRows& rows);
  void reserve_for_whole_input(std::size_t num_bytes_used);
  void report_progress() const;
  void check_ids() const;
  Table finish();

  const std::string& name_;
  const ReadOptions& options_;
  const CsvTuning tuning_;
  const std::optional<std::uint64_t> num_input_bytes_;
  WindowStream windows_;
  CsvSchema schema_;

  std::vector<CsvRows> chunks_;
  std::uint64_t num_lines_ = 0;  // in front of the window
  std::size_t num_rows_ = 0;
  std::size_t num_windows_ = 0;
  std::vector<std::vector<double>> columns_;
  RowLines id_lines_;
  Table table_;
};

// Returns what stands behind the header in the first window.
std::string_view CsvReader::read_header() {
  constexpr std::size_t kMarkBytes = 3;
  std::string_view text = windows_.next({});
  while (text.size() < kMarkBytes && !windows_.is_last()) text = windows_.next(text);
  text = drop_byte_order_mark(text, name_);
  RecordSplitter splitter(schema_.delimiter, kMaxColumns);
  RecordState state = RecordState::incomplete;
  for (;;) {
    if (!text.empty()) state = splitter.split(text.data(), text.data() + text.size(), windows_.is_last());
    if (state != RecordState::incomplete) break;
    if (windows_.is_last()) throw_at(name_, 1, 1, "expected a header line, found an empty file");
    text = windows_.next(text);
  }
  if (state == RecordState::refused) {
    const RecordFault& fault = splitter.fault();
    const auto lines_before = static_cast<std::uint64_t>(std::count(text.data(), fault.position, '\n'));
    throw_at(name_, lines_before + 1, fault.field + 1, fault.what);
  }
  schema_.names = parse_header(splitter, name_);
  schema_.selection = select_columns(schema_.names, options_, name_);
  columns_.resize(schema_.selection.columns.size());
  if (schema_.selection.label) table_.labels.offsets.push_back(0);
  num_lines_ = splitter.num_lines();
  text.remove_prefix(static_cast<std::size_t>(splitter.next() - text.data()));
  return text;
}

// Takes in the window's whole records; returns what is left, the beginning of a record. That is never longer
// than the longest record: the parser refuses it then.
std::string_view CsvReader::parse_window(std::string_view window) {
  if (window.empty()) return window;
  const std::vector<const char*> cuts = cut_at_records(window, tuning_.chunk_bytes);
  const std::size_t num_chunks = cuts.size() - 1;
  parse_chunks(cuts);
  take_rows(num_chunks);
  const auto num_bytes_used = static_cast<std::size_t>(chunks_[num_chunks - 1].next - window.data());
  if (num_windows_++ == 0) reserve_for_whole_input(num_bytes_used);
  return window.substr(num_bytes_used);
}

void CsvReader::parse_chunks(const std::vector<const char*>& cuts) {
  const std::size_t num_chunks = cuts.size() - 1;
  if (chunks_.size() < num_chunks) chunks_.resize(num_chunks);
  std::atomic<std::size_t> first_faulty{num_chunks};
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    chunks_[chunk].clear();
    if (chunk > first_faulty.load(std::memory_order_relaxed)) return;  // nobody will look at it
    const bool at_end_of_file = windows_.is_last() && chunk + 1 == num_chunks;
    CsvChunkParser(schema_).parse(cuts[chunk], cuts[chunk + 1], at_end_of_file, chunks_[chunk]);
    if (!chunks_[chunk].fault) return;
    std::size_t seen = first_faulty.load(std::memory_order_relaxed);
    while (chunk < seen && !first_faulty.compare_exchange_weak(seen, chunk, std::memory_order_relaxed)) {
    }
  });
}

void CsvReader::take_rows(std::size_t num_chunks) {
  std::vector<std::size_t> first_rows(num_chunks);
  for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
    const CsvRows& rows = chunks_[chunk];
    if (rows.fault) throw_at(name_, num_lines_ + rows.fault->line + 1, rows.fault->column, rows.fault->what);
    first_rows[chunk] = num_rows_;
    table_.ids.insert(table_.ids.end(), rows.ids.begin(), rows.ids.end());
    id_lines_.append(rows.id_lines, num_rows_, num_lines_ + 1);
    take_labels(rows);
    table_.num_dropped_rows += rows.num_dropped_rows;
    num_rows_ += rows.num_rows;
    num_lines_ += rows.num_lines;
  }
  for (std::vector<double>& column : columns_) column.resize(num_rows_);
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    const CsvRows& rows = chunks_[chunk];
    const std::size_t width = columns_.size();
    for (std::size_t slot = 0; slot < width; ++slot) {
      double* const out = columns_[slot].data() + first_rows[chunk];
      for (std::size_t row = 0; row < rows.num_rows; ++row) out[row] = rows.values[row * width + slot];
    }
  });
}

void CsvReader::take_labels(const CsvRows& rows) {
  Labels& labels = table_.labels;
  labels.bytes.insert(labels.bytes.end(), rows.label_bytes.begin(), rows.label_bytes.end());
  for (const std::uint32_t size : rows.label_sizes) labels.offsets.push_back(labels.offsets.back() + size);
}

// Columns that grow by doubling are copied again and again, and hold twice the memory while they are.
void CsvReader::reserve_for_whole_input(std::size_t num_bytes_used) {
  if (!num_input_bytes_ || num_rows_ == 0) return;
  constexpr double kMargin = 1.05;
  const double rows_per_byte = static_cast<double>(num_rows_) / static_cast<double>(num_bytes_used);
  const double num_rows = rows_per_byte * static_cast<double>(*num_input_bytes_) * kMargin;
  for (std::vector<double>& column : columns_) column.reserve(static_cast<std::size_t>(num_rows));
}

void CsvReader::report_progress() const {
  if (!options_.on_progress) return;
  const Progress progress = windows_.progress();
  options_.on_progress(progress.done_bytes, progress.total_bytes);
}

void CsvReader::check_ids() const {
  const std::optional<RepeatedId> repeated = find_repeated_id(table_.ids);
  if (!repeated) return;
  throw_at(name_, id_lines_.line_of(repeated->second_row), *schema_.selection.id + 1,
           "expected unique ids in column " + quote_excerpt(options_.id_column) + ", found " +
               std::to_string(table_.ids[repeated->second_row]) + " again (first on line " +
               std::to_string(id_lines_.line_of(repeated->first_row)) + ")");
}

Table CsvReader::finish() {
  table_.num_rows = num_rows_;
  table_.attributes = schema_.selection.attributes;
  table_.label_name = options_.label_column;
  for (std::vector<double>& column : columns_) {
    table_.columns.emplace_back(column.data());
    table_.storage.emplace_back(std::move(column));
  }
  return std::move(table_);
}

}  // namespace

Table read_csv(ByteSource& source, const std::string& name, const ReadOptions& options, char delimiter,
               const CsvTuning& tuning) {
  constexpr std::string_view kDelimiters = ",\t;|";
  if (kDelimiters.find(delimiter) == std::string_view::npos) {
    throw InvalidArgument("expected a comma, tab, semicolon or bar as the delimiter, found " +
                          quote_excerpt({&delimiter, 1}));
  }
  Table table;
  with_threads(options.num_threads,
               [&] { table = CsvReader(source, name, options, delimiter, tuning).read(); });
  return table;
}

}  // namespace culmen::io

namespace culmen {

Table parse_csv(std::string_view text, const std::string& name, const ReadOptions& options, char delimiter) {
  io::MemorySource source(text);
  return io::read_csv(source, name, options, delimiter);
}

}  // namespace culmen
