#include "table/csv_parser.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <unordered_set>

#include "base/floating_point_scope.h"
#include "base/utf8.h"
#include "culmen/error.h"
#include "table/cell_id.h"
#include "table/number.h"
#include "table/text.h"

namespace culmen::io {
namespace {

// Beginnings of formats that are not text. Without this check the parser would report some later byte.
struct OtherFormat {
  std::string_view beginning;
  const char* what;
};
constexpr std::size_t kBeginningBytes = 3;  // the longest of these, and of the byte order mark
constexpr OtherFormat kOtherFormats[] = {
    {"\xFF\xFE", "UTF-16 (convert it with: iconv -f UTF-16 -t UTF-8)"},
    {"\xFE\xFF", "UTF-16 (convert it with: iconv -f UTF-16 -t UTF-8)"},
    {"\x1F\x8B", "gzip data (decompress it with gzip -dc, or give it as a file named .csv.gz)"},
    {"\x28\xB5\x2F", "zstd data (decompress it with zstd -dc, or give it as a file named .csv.zst)"},
    {"\xFD\x37\x7A", "xz data (decompress it with xz -dc, or give it as a file named .csv.xz)"},
    {"PK\x03", "a ZIP archive or a spreadsheet (unpack it, or save it as CSV)"},
    {"\x93NU", "a NumPy array (give it as a file named .npy)"},
};

// Skips a UTF-8 byte order mark. Throws for input that is not UTF-8 text at all.
std::string_view drop_byte_order_mark(std::string_view text, const std::string& name) {
  for (const OtherFormat& format : kOtherFormats)
    if (text.starts_with(format.beginning))
      throw_csv_fault(name, 1, 1, std::string("expected UTF-8 text, found ") + format.what);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

std::string header_name(const CsvField& field) {
  std::string scratch;
  return std::string(field.quoted ? field_value(field, scratch) : trim_blanks(field.text));
}

std::vector<std::string> parse_header(const RecordSplitter& splitter, const std::string& name) {
  if (splitter.num_fields() > kMaxColumns) {
    throw_csv_fault(name, 1, kMaxColumns + 1,
                    "expected at most " + std::to_string(kMaxColumns) + " columns, found " +
                        std::to_string(splitter.num_fields()));
  }
  std::vector<std::string> names;
  std::unordered_set<std::string> seen;
  for (const CsvField& field : splitter.fields()) {
    names.push_back(header_name(field));
    // As in DuckDB. pandas leaves the name of its index empty.
    if (names.back().empty()) names.back() = name_by_place(names.size() - 1);
    if (find_invalid_utf8(names.back()) != std::string_view::npos) {
      throw_csv_fault(name, 1, names.size(),
                      "expected a UTF-8 column name, found " + quote_excerpt(names.back()) +
                          std::string(kOtherEncodingHint));
    }
    if (!seen.insert(names.back()).second) {
      throw_csv_fault(name, 1, names.size(),
                      "the column name " + quote_excerpt(names.back()) + " appears twice");
    }
  }
  return names;
}

struct Separator {
  char letter;
  const char* name;
};
constexpr Separator kSeparators[] = {{',', "comma"}, {'\t', "tab"}, {';', "semicolon"}, {'|', "bar"}};

// If the header has none of the separators that are expected, but others.
std::string hint_of_separator(std::string_view header, char expected) {
  std::string unquoted;
  bool in_quotes = false;
  for (const char c : header.substr(0, header.find_first_of("\r\n"))) {
    if (c == '"') in_quotes = !in_quotes;
    if (!in_quotes) unquoted += c;
  }
  if (unquoted.find(expected) != std::string::npos) return {};
  const auto* wanted = std::ranges::find(kSeparators, expected, &Separator::letter);
  for (const Separator& other : kSeparators)
    if (unquoted.find(other.letter) != std::string::npos)
      return std::string(" (the header has a ") + other.name + " and no " + wanted->name +
             ": is that the delimiter?)";
  return {};
}

// The first end of a record at or after `pos`. `in_quotes`: `pos` is within a quoted field.
const char* find_record_end(const char* pos, const char* end, bool in_quotes) {
  for (; pos != end; ++pos) {
    if (*pos == '"') in_quotes = !in_quotes;
    if (*pos == '\n' && !in_quotes) return pos + 1;
  }
  return end;
}

// Splits a window that begins at a record into chunks that begin at records. A position is within a quoted field if the
// number of quotes before it is odd ("" inside a field counts as two). This holds up to the first stray quote, and the
// parser refuses the chunk with that quote.
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
    if (cut == end) break;  // no further record ends
    cuts.push_back(cut);
  }
  cuts.push_back(end);
  return cuts;
}

}  // namespace

CsvParser::CsvParser(ByteSource& source, const std::string& name, const ReadOptions& options,
                     const FoundDialect& found, const CsvTuning& tuning, ReadPolicy policy, bool once)
    : name_(name),
      options_(options),
      found_(found),
      tuning_(tuning),
      windows_(source, tuning.window_bytes, policy),
      once_(once),
      is_stream_(policy == ReadPolicy::as_it_comes && !source.num_bytes()),
      refused_(name, options) {
  schema_.delimiter = *found.dialect.delimiter;
  schema_.form = found.form;
  schema_.is_json_lines = found.is_json_lines;
  schema_.nulls = options.nulls;
  schema_.lists_dropped = options.on_dropped_row != nullptr;
  schema_.lists_refused = refused_.are_listed();
}

void CsvParser::parse(CsvRowSink& sink) {
  windows_.on_wait(
      [this, &sink] {
        report_progress();
        sink.wait();
      },
      [&sink] { return sink.patience(); });
  std::string_view rest = determine_columns(skip_records(read_header()));
  sink.begin(schema_, kinds_);
  for (;;) {
    rest = parse_window(rest, sink);
    report_progress();
    if (refused_.ends_reading()) return;
    if (!is_window_done_) continue;
    if (windows_.is_last()) return;
    if (is_stream_ || (once_ && refused_.are_listed())) refused_.finish();
    rest = windows_.next(rest);
  }
}

// Returns the rest of the first window after the header. Blank lines above it are skipped.
std::string_view CsvParser::read_header() {
  std::string_view text = windows_.next({});
  while (text.size() < kBeginningBytes && !windows_.is_last()) text = windows_.next(text);
  text = drop_byte_order_mark(text, name_);
  RecordSplitter splitter(schema_.delimiter, kMaxColumns);
  for (text = split_first_record(splitter, text); splitter.is_blank();
       text = split_first_record(splitter, text))
    text = behind(splitter, text);
  name_columns(splitter);
  if (*found_.dialect.has_header) text = behind(splitter, text);
  if (found_.is_json_lines) num_lines_ = 0;  // the header is no line of the file
  return text;
}

// Returns the text, or that of a later window if the record ends there.
std::string_view CsvParser::split_first_record(RecordSplitter& splitter, std::string_view text) {
  RecordState state = RecordState::incomplete;
  for (;;) {
    if (!text.empty()) state = splitter.split(text.data(), text.data() + text.size(), windows_.is_last());
    if (state != RecordState::incomplete) break;
    if (windows_.is_last())
      throw_csv_fault(name_, num_lines_ + 1, 1,
                      *found_.dialect.has_header ? "expected a header line, found an empty file"
                                                 : "expected a row, found an empty file");
    text = windows_.next(text);
  }
  if (num_lines_ == 0 && !found_.is_json_lines) separator_hint_ = hint_of_separator(text, schema_.delimiter);
  if (state == RecordState::refused) {
    const RecordFault& fault = splitter.fault();
    const auto lines_before = static_cast<std::uint64_t>(std::count(text.data(), fault.position, '\n'));
    throw_csv_fault(name_, num_lines_ + lines_before + 1, fault.field + 1, fault.what);
  }
  return text;
}

// What follows the record that begins the text, whose lines are now counted.
std::string_view CsvParser::behind(const RecordSplitter& record, std::string_view text) {
  num_lines_ += record.num_lines();
  return text.substr(static_cast<std::size_t>(record.next() - text.data()));
}

std::string_view CsvParser::drop_blank_lines(std::string_view text) {
  RecordSplitter splitter(schema_.delimiter, schema_.names.size(), schema_.is_json_lines);
  while (!text.empty() &&
         splitter.split(text.data(), text.data() + text.size(), windows_.is_last()) ==
             RecordState::complete &&
         is_blank_line(splitter, schema_))
    text = behind(splitter, text);
  return text;
}

void CsvParser::name_columns(const RecordSplitter& first_record) {
  const bool has_header = *found_.dialect.has_header;
  schema_.names = has_header ? parse_header(first_record, name_)
                             : default_column_names(std::min(first_record.num_fields(), kMaxColumns));
  selection_ = select_columns(schema_.names, options_, name_, !has_header);
  schema_.id = selection_.id;
  schema_.label = selection_.label;
  schema_.id_type = given_id_type(options_);
  if (schema_.texts_are_ids()) schema_.take_texts_as_ids();
  schema_.has_choice = selection_.has_choice;
}

// Returns the rest of the window after the skipped records.
std::string_view CsvParser::skip_records(std::string_view text) {
  RecordSplitter splitter(schema_.delimiter, schema_.names.size(), schema_.is_json_lines);
  while (num_left_to_skip_ > 0) {
    RecordState state = RecordState::incomplete;
    const char* next = nullptr;
    for (;;) {
      if (!text.empty()) state = splitter.split(text.data(), text.data() + text.size(), windows_.is_last());
      if (state == RecordState::complete) next = splitter.next();
      if (state == RecordState::refused) next = splitter.line_after_fault();
      if (next != nullptr || windows_.is_last()) break;
      text = windows_.next(text);
    }
    if (next == nullptr) break;
    if (state == RecordState::refused || !is_blank_line(splitter, schema_)) --num_left_to_skip_;
    num_lines_ += schema_.is_json_lines ? 1 : static_cast<std::uint64_t>(std::count(text.data(), next, '\n'));
    text.remove_prefix(static_cast<std::size_t>(next - text.data()));
  }
  return text;
}

// Returns `text`, the rest of the window after the header, or of a later one if that holds no complete record: then without
// the blank lines before, which may be any number.
std::string_view CsvParser::determine_columns(std::string_view text) {
  kinds_.assign(selection_.columns.size(), {});
  if (!known_columns_.empty()) {
    schema_.set_columns(known_columns_);
    return text;
  }
  const auto count_ids = [this](const RecordSplitter& record) {
    if (schema_.id && !schema_.id_type) count_id(record);
  };
  if (!options_.schema)
    while (for_first_rows(text, count_ids) == 0 && !windows_.is_last())
      text = windows_.next(drop_blank_lines(text));
  if (num_text_ids_ > num_other_ids_) {
    if (schema_.label)
      throw InvalidArgument(name_ + ": column " + quote_excerpt(schema_.names[*schema_.id]) +
                            " holds texts; a table whose ids are texts has no labels besides: keep " +
                            quote_excerpt(schema_.names[*schema_.label]) + " as an ordinary column");
    schema_.take_texts_as_ids();
  }
  if (!options_.schema) for_first_rows(text, [this](const RecordSplitter& record) { add_kinds(record); });
  std::vector<CsvColumn> columns;
  for (std::size_t i = 0; i < selection_.columns.size(); ++i)
    columns.push_back(guess_column(selection_.columns[i], form_of(selection_.columns[i]), kinds_[i], once_));
  schema_.set_columns(std::move(columns));
  return text;
}

ColumnForm CsvParser::form_of(const KeptColumn& column) const {
  return column.position < found_.columns.size() ? found_.columns[column.position] : ColumnForm{};
}

// Calls take() for those of the first records that are not known to be refused. Returns the number of records it looked at; 1
// if the first one is faulty, which the parser reports.
template <typename Take>
std::size_t CsvParser::for_first_rows(std::string_view text, Take&& take) const {
  constexpr std::size_t kMaxRecords = 1'000;
  RecordSplitter splitter(schema_.delimiter, schema_.names.size(), schema_.is_json_lines);
  std::size_t num_records = 0;
  std::uint64_t next_line = num_lines_ + 1;
  for (const char* pos = text.data(); pos != text.data() + text.size() && num_records < kMaxRecords;) {
    const RecordState state = splitter.split(pos, text.data() + text.size(), windows_.is_last());
    if (state == RecordState::incomplete) break;
    const char* const begin = pos;
    pos = state == RecordState::complete ? splitter.next() : splitter.line_after_fault();
    if (pos == nullptr) break;
    const std::uint64_t first_line = next_line;
    next_line += schema_.is_json_lines ? 1 : static_cast<std::uint64_t>(std::count(begin, pos, '\n'));
    if (state == RecordState::complete && is_blank_line(splitter, schema_)) continue;
    ++num_records;
    if (state == RecordState::refused) continue;
    if (splitter.num_fields() != schema_.names.size()) continue;
    if (found_.refused.are_of_row(first_line, splitter.num_lines())) continue;
    if (!schema_.lists_refused || !has_refused_cell(splitter)) take(splitter);
  }
  return num_records;
}

void CsvParser::add_kinds(const RecordSplitter& record) {
  if (schema_.lists_refused && has_refused_id(record)) return;
  std::string scratch;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    const KeptColumn& column = selection_.columns[i];
    const CsvField& field = record.fields()[column.position];
    kinds_[i].add(schema_.form, field_value(field, scratch), field.quoted, column.is_attribute);
  }
}

void CsvParser::count_id(const RecordSplitter& record) {
  const CsvField& field = record.fields()[*schema_.id];
  std::string scratch;
  const std::string_view text = field_value(field, scratch);
  CellKinds kinds;
  kinds.add(schema_.form, text, field.quoted, true);
  if (kinds.is_empty()) return;
  // Integers that float64 does not hold are texts to columns that are ranked.
  const bool is_text =
      kinds.type() == CellType::text && parse_cell_id(text, {}).kind == NumberKind::not_a_number;
  ++(is_text ? num_text_ids_ : num_other_ids_);
}

bool CsvParser::has_refused_id(const RecordSplitter& record) const {
  if (!schema_.id) return false;
  std::string scratch;
  const std::string_view text = field_value(record.fields()[*schema_.id], scratch);
  const NumberKind kind = parse_cell_id(text, schema_.id_type).kind;
  if (kind != NumberKind::finite && kind != NumberKind::empty) return true;
  return !schema_.id_type && has_leading_zero(trim_blanks(text));
}

// Whether a record will be refused whatever is found to be in the other columns: a text in an attribute, or bytes that are no
// text.
bool CsvParser::has_refused_cell(const RecordSplitter& record) const {
  std::string scratch;
  for (const KeptColumn& column : selection_.columns) {
    const CsvField& field = record.fields()[column.position];
    if (find_invalid_utf8(field.text) != std::string_view::npos) return true;
    if (!column.is_attribute) continue;
    CellKinds kinds;
    kinds.add(schema_.form, field_value(field, scratch), field.quoted, true);
    if (!kinds.is_empty() && kinds.type() == CellType::text) return true;
  }
  return false;
}

// Passes the window's complete records to the sink and returns the rest, the beginning of a record. It is no longer
// than the longest record allowed, because the parser refuses longer ones.
std::string_view CsvParser::parse_window(std::string_view window, CsvRowSink& sink) {
  is_window_done_ = true;
  if (window.empty()) return window;
  const std::size_t num_chunks = parse_chunks(cut_at_records(window, tuning_.chunk_bytes));
  const CsvRows& last = chunks_[num_chunks - 1];
  const auto num_bytes_used = static_cast<std::size_t>(last.next - window.data());
  std::size_t num_taken = refused_.are_listed() ? num_chunks : 0;
  if (!refused_.are_listed() && refused_.empty())
    while (num_taken < num_chunks && (num_taken == 0 || chunks_[num_taken - 1].faults.empty())) ++num_taken;
  for (std::size_t chunk = 0; chunk < num_chunks; ++chunk)
    for (std::size_t i = 0; i < kinds_.size(); ++i) kinds_[i].merge(chunks_[chunk].kinds[i]);
  if (num_taken > 0) sink.take({{chunks_.data(), num_taken}, num_lines_, num_bytes_used});
  for (std::size_t chunk = 0; chunk < num_chunks; ++chunk) {
    for (CsvFault& fault : chunks_[chunk].faults) {
      if (refused_.are_listed() && sink.lists_refused() && !fault.ends_reading) continue;
      refused_.add(std::move(fault), num_lines_);
      if (refused_.ends_reading()) return {};
    }
    num_lines_ += chunks_[chunk].num_lines;
  }
  return window.substr(num_bytes_used);
}

// Returns the number of chunks that were cut where records begin.
std::size_t CsvParser::parse_chunks(const std::vector<const char*>& cuts) {
  const std::size_t num_chunks = cuts.size() - 1;
  if (chunks_.size() < num_chunks) chunks_.resize(num_chunks);
  std::atomic<std::size_t> first_stray{num_chunks};
  tbb::parallel_for(std::size_t{0}, num_chunks, [&](std::size_t chunk) {
    const FloatingPointScope floating_point;
    chunks_[chunk].clear(schema_);
    if (chunk > first_stray.load(std::memory_order_relaxed)) return;
    const bool at_end_of_file = windows_.is_last() && chunk + 1 == num_chunks;
    CsvChunkParser(schema_).parse(cuts[chunk], cuts[chunk + 1], at_end_of_file, chunks_[chunk]);
    if (!chunks_[chunk].has_stray_quotes) return;
    std::size_t seen = first_stray.load(std::memory_order_relaxed);
    while (chunk < seen && !first_stray.compare_exchange_weak(seen, chunk, std::memory_order_relaxed)) {
    }
  });
  const std::size_t num_right = std::min(num_chunks, first_stray.load() + 1);
  is_window_done_ = num_right == num_chunks;
  return num_right;
}

void CsvParser::report_progress() const {
  if (!options_.on_progress) return;
  const Progress progress = windows_.progress();
  options_.on_progress(progress.done_bytes, progress.total_bytes);
}

}  // namespace culmen::io
