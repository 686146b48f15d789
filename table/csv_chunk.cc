#include "table/csv_chunk.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "table/text.h"

namespace culmen::io {

void CsvRows::clear() {
  num_rows = 0;
  dropped_at.clear();
  num_lines = 0;
  next = nullptr;
  values.clear();
  ids.clear();
  lines.clear();
  label_bytes.clear();
  label_sizes.clear();
  fault.reset();
}

CsvChunkParser::CsvChunkParser(const CsvSchema& schema)
    : schema_(schema), splitter_(schema.delimiter, schema.names.size()) {
  const ColumnSelection& selection = schema.selection;
  for (std::size_t slot = 0; slot < selection.columns.size(); ++slot) {
    targets_.push_back({selection.columns[slot], slot, Use::attribute});
  }
  if (selection.id) targets_.push_back({*selection.id, 0, Use::id});
  if (selection.label) targets_.push_back({*selection.label, 0, Use::label});
  std::stable_sort(targets_.begin(), targets_.end(),
                   [](const Target& a, const Target& b) { return a.column < b.column; });
  std::vector<Target> by_column;
  for (std::size_t column = 0; column < schema.names.size(); ++column) {
    by_column.push_back({column, 0, Use::none});
  }
  for (const Target& target : targets_) {
    if (by_column[target.column].use != Use::none) return;
    by_column[target.column] = target;
  }
  plain_targets_ = std::move(by_column);
}

void CsvChunkParser::parse(const char* begin, const char* end, bool at_end_of_file, CsvRows& rows) {
  // In a file where most rows have a quoted cell, say, the fast path would only cost time.
  constexpr std::size_t kMaxMisses = 8;
  constexpr std::size_t kRetryPeriod = 16;
  rows.clear();
  rows.next = begin;
  while (rows.next != end) {
    const bool try_plain = num_misses_ < kMaxMisses || num_misses_ % kRetryPeriod == 0;
    const char* next = try_plain ? parse_plain_row(rows.next, end, rows) : nullptr;
    num_misses_ = next ? 0 : num_misses_ + 1;
    if (!next) next = parse_any_row(rows.next, end, at_end_of_file, rows);
    if (!next) return;
    rows.next = next;
  }
}

// The fast path: parses a row without quotes, blanks or other rare characters in one pass. Returns the end of the row,
// or nullptr without side effects for any other row.
const char* CsvChunkParser::parse_plain_row(const char* record, const char* end, CsvRows& rows) {
  if (plain_targets_.empty()) return nullptr;
  begin_row(rows);
  const char* pos = record;
  for (const Target& target : plain_targets_) {
    const bool is_last = target.column + 1 == plain_targets_.size();
    if (target.column > 0) ++pos;
    pos = parse_plain_cell(target, pos, end, rows);
    if (pos && is_last && pos != end && *pos == '\r') ++pos;
    if (pos && pos != end && *pos == (is_last ? '\n' : schema_.delimiter)) continue;
    undo_row(rows);
    return nullptr;
  }
  ++pos;
  const bool may_hold_long_field = static_cast<std::size_t>(pos - record) > kMaxFieldBytes;
  if (may_hold_long_field) {
    undo_row(rows);
    return nullptr;
  }
  end_row(1, rows);
  return pos;
}

// Returns the end of the cell, or nullptr.
const char* CsvChunkParser::parse_plain_cell(const Target& target, const char* cell, const char* end,
                                             CsvRows& rows) {
  if (target.use == Use::attribute) return parse_leading_number(cell, end, row_values_[target.slot]);
  if (target.use == Use::id) {
    rows.ids.push_back(0);
    const auto [after, error] = std::from_chars(cell, end, rows.ids.back());
    return error == std::errc{} ? after : nullptr;
  }
  const char* const after = splitter_.find_special(cell, end);
  if (target.use == Use::none) return after;
  const std::string_view label(cell, static_cast<std::size_t>(after - cell));
  rows.label_bytes.insert(rows.label_bytes.end(), label.begin(), label.end());
  rows.label_sizes.push_back(static_cast<std::uint32_t>(label.size()));
  return find_invalid_utf8(label) == std::string_view::npos ? after : nullptr;
}

// Returns the end of the row, or nullptr if the row is incomplete or faulty (rows.fault).
const char* CsvChunkParser::parse_any_row(const char* record, const char* end, bool at_end_of_file,
                                          CsvRows& rows) {
  const RecordState state = splitter_.split(record, end, at_end_of_file);
  if (state == RecordState::incomplete) return nullptr;
  remedy_ = InputError::Remedy::none;
  if (state == RecordState::refused) fault_ = splitter_.fault();
  if (state == RecordState::complete && splitter_.num_fields() != schema_.names.size()) {
    refuse_ragged(rows);
    return nullptr;
  }
  if (state == RecordState::refused || !parse_cells(rows)) {
    const auto lines_before = static_cast<std::uint64_t>(std::count(record, fault_.position, '\n'));
    rows.fault = {rows.num_lines + lines_before, fault_.field + 1, fault_.what, remedy_};
    return nullptr;
  }
  end_row(splitter_.num_lines(), rows);
  return splitter_.next();
}

// Parses the cells of the current record. Returns false if one is refused (fault_).
bool CsvChunkParser::parse_cells(CsvRows& rows) {
  begin_row(rows);
  for (const Target& target : targets_) {
    if (parse_cell(target, rows)) continue;
    undo_row(rows);
    return false;
  }
  return true;
}

void CsvChunkParser::begin_row(CsvRows& rows) {
  const std::size_t width = schema_.selection.columns.size();
  rows.values.resize((rows.num_rows + 1) * width);
  row_values_ = rows.values.data() + rows.num_rows * width;
  label_bytes_before_ = rows.label_bytes.size();
  row_has_null_ = false;
}

void CsvChunkParser::end_row(std::uint64_t num_lines, CsvRows& rows) const {
  if (row_has_null_) {
    rows.dropped_at.push_back(rows.num_rows);
    undo_row(rows);
  } else {
    rows.lines.add(rows.num_rows, rows.num_lines);
    ++rows.num_rows;
  }
  rows.num_lines += num_lines;
}

void CsvChunkParser::undo_row(CsvRows& rows) const {
  rows.values.resize(rows.num_rows * schema_.selection.columns.size());
  rows.label_bytes.resize(label_bytes_before_);
  if (schema_.selection.id) rows.ids.resize(rows.num_rows);
  if (schema_.selection.label) rows.label_sizes.resize(rows.num_rows);
}

bool CsvChunkParser::parse_cell(const Target& target, CsvRows& rows) {
  switch (target.use) {
    case Use::attribute:
      return parse_attribute(target);
    case Use::id:
      return parse_id(target, rows);
    case Use::label:
      return parse_label(target, rows);
    case Use::none:
      break;
  }
  return true;
}

bool CsvChunkParser::parse_attribute(const Target& target) {
  const std::string_view text = field_value(splitter_.fields()[target.column], scratch_);
  const ParsedNumber number = parse_number(text);
  row_values_[target.slot] = number.value;
  return number.kind == NumberKind::finite || take_null(number.kind) ||
         refuse(target, "a number", number.kind, text);
}

bool CsvChunkParser::parse_id(const Target& target, CsvRows& rows) {
  const std::string_view text = field_value(splitter_.fields()[target.column], scratch_);
  const ParsedInteger id = parse_integer(text);
  rows.ids.push_back(id.value);
  return id.kind == NumberKind::finite || take_null(id.kind) ||
         refuse(target, "a 64-bit integer", id.kind, text);
}

bool CsvChunkParser::parse_label(const Target& target, CsvRows& rows) {
  const std::string_view text = field_value(splitter_.fields()[target.column], scratch_);
  if (find_invalid_utf8(text) != std::string_view::npos) {
    return refuse(target, "UTF-8 text", NumberKind::finite, text);
  }
  rows.label_bytes.insert(rows.label_bytes.end(), text.begin(), text.end());
  rows.label_sizes.push_back(static_cast<std::uint32_t>(text.size()));
  return true;
}

// Returns true if the cell is a null and its row is to be dropped.
bool CsvChunkParser::take_null(NumberKind kind) {
  const bool is_null = kind == NumberKind::empty || kind == NumberKind::not_finite;
  const bool drop = is_null && schema_.nulls == NullPolicy::drop;
  row_has_null_ |= drop;
  return drop;
}

bool CsvChunkParser::refuse(const Target& target, const char* expected, NumberKind kind,
                            std::string_view text) {
  fault_.position = splitter_.fields()[target.column].text.data();
  fault_.field = target.column;
  fault_.what = std::string("expected ") + expected + " in column " +
                quote_excerpt(schema_.names[target.column]) + ", found " +
                (kind == NumberKind::empty ? "an empty cell" : quote_excerpt(text)) + reason(target, kind);
  remedy_ = remedy(target, kind);
  return false;
}

// The end of the text about a number that is too large.
const char* CsvChunkParser::reason(const Target& target, NumberKind kind) {
  if (kind == NumberKind::out_of_range)
    return target.use == Use::id ? ", beyond the range of int64" : ", beyond the range of float64";
  if (kind == NumberKind::inexact_integer) return ", an integer beyond 2^53 that float64 cannot hold exactly";
  return "";
}

InputError::Remedy CsvChunkParser::remedy(const Target& target, NumberKind kind) const {
  if (kind == NumberKind::empty || kind == NumberKind::not_finite) return InputError::Remedy::drop_nulls;
  const bool taken_unasked =
      target.use == Use::attribute && schema_.selection.took_all && schema_.selection.columns.size() > 1;
  return kind == NumberKind::not_a_number && taken_unasked ? InputError::Remedy::choose_columns
                                                           : InputError::Remedy::none;
}

void CsvChunkParser::refuse_ragged(CsvRows& rows) const {
  const std::size_t expected = schema_.names.size();
  const std::size_t found = splitter_.num_fields();
  rows.fault = {
      rows.num_lines, std::min(expected, found) + 1,
      "expected " + std::to_string(expected) + " fields as in the header, found " + std::to_string(found)};
}

}  // namespace culmen::io
