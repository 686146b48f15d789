#include "table/csv_chunk.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include "base/utf8.h"
#include "table/text.h"

namespace culmen::io {
namespace {

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

// What CsvChunkParser::seen_numbers_ remembers of a column: the units, and whether a number was not written as an integer.
constexpr std::uint8_t kSeenFraction = 1;
constexpr std::uint8_t seen_bit(Unit unit) {
  return static_cast<std::uint8_t>(2 << static_cast<int>(unit));
}

std::string_view expected_text(const CsvColumn& column) {
  switch (column.type) {
    case CellType::number:
      return "a number";
    case CellType::integer:
      return "an integer";
    case CellType::boolean:
      return "true or false";
    case CellType::date:
      return "a date as in 2025-06-01";
    case CellType::timestamp:
      return column.has_zone ? "a timestamp with a zone, as in 2025-06-01 12:30:00Z"
                             : "a timestamp without a zone, as in 2025-06-01 12:30:00";
    case CellType::text:
      break;
  }
  return "UTF-8 text";
}

std::string_view unit_name(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::second:
      return "seconds";
    case TimeUnit::millisecond:
      return "milliseconds";
    case TimeUnit::microsecond:
      return "microseconds";
    case TimeUnit::nanosecond:
      break;
  }
  return "nanoseconds";
}

// Why a cell of the right kind is refused.
std::string reason_of(const CsvColumn& column, const CellForm& form, NumberKind kind, std::string_view text) {
  if (column.type == CellType::number && kind == NumberKind::not_a_number) {
    std::string scratch;
    const CellNumber number = form.read_number(text, scratch);
    if (number.is_ambiguous)
      return ": nothing says whether its mark is a decimal one or one between thousands";
    if (number.number.kind != NumberKind::finite || !column.form.unit || number.unit == *column.form.unit)
      return "";
    const std::string_view unit = unit_sign(*column.form.unit);
    return unit.empty() ? ", and other numbers have no unit"
                        : std::string(", and other numbers are in ").append(unit);
  }
  if (column.type == CellType::timestamp) {
    const auto timestamp = parse_timestamp(trim_blanks(text));
    if (!timestamp || timestamp->has_zone != column.has_zone) return "";
    return std::string(", and the column counts in ").append(unit_name(column.unit));
  }
  if (kind == NumberKind::out_of_range)
    return column.type == CellType::integer ? ", beyond the range of int64" : ", beyond the range of float64";
  if (kind == NumberKind::inexact_integer) return ", an integer beyond 2^53 that float64 cannot hold exactly";
  return "";
}

// An integer, also one written as 7.0.
std::optional<std::int64_t> parse_whole(std::string_view text) {
  const ParsedInteger integer = parse_integer(text);
  if (integer.kind == NumberKind::finite) return integer.value;
  const ParsedNumber number = parse_number(text);
  if (number.kind != NumberKind::finite || !is_in_int64(number.value) ||
      number.value != std::trunc(number.value))
    return std::nullopt;
  return static_cast<std::int64_t>(number.value);
}

}  // namespace

void CsvRows::clear(const CsvSchema& schema) {
  num_rows = 0;
  dropped_at.clear();
  num_lines = 0;
  next = nullptr;
  values.clear();
  texts.resize(schema.num_texts);
  for (TextCells& cells : texts) cells.cut(0);
  missing.clear();
  ids.clear();
  lines.clear();
  labels.cut(0);
  kinds.assign(schema.columns.size(), {});
  fault.reset();
}

CsvChunkParser::CsvChunkParser(const CsvSchema& schema)
    : schema_(schema),
      splitter_(schema.delimiter, schema.names.size(), schema.is_json_lines),
      seen_numbers_(schema.columns.size() + 1) {
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    const CsvColumn& column = schema.columns[i];
    const bool is_formed = column.form.has_groups || column.form.unit.value_or(Unit::none) != Unit::none;
    const Use use = column.is_text()                  ? Use::text
                    : column.type != CellType::number ? Use::value
                    : is_formed                       ? Use::formed
                                                      : Use::number;
    targets_.push_back({column.kept.position, use, i, column.slot});
  }
  if (schema.id) targets_.push_back({*schema.id, Use::id, 0, 0});
  if (schema.label) targets_.push_back({*schema.label, Use::label, 0, 0});
  std::stable_sort(targets_.begin(), targets_.end(),
                   [](const Target& a, const Target& b) { return a.position < b.position; });
  if (schema.is_json_lines && schema.names.size() == 1) return;  // lines of blanks would be cells
  std::vector<Target> by_position;
  for (std::size_t position = 0; position < schema.names.size(); ++position) {
    by_position.push_back({position, Use::none, 0, 0});
  }
  for (const Target& target : targets_) {
    if (by_position[target.position].use != Use::none) return;
    by_position[target.position] = target;
  }
  plain_targets_ = std::move(by_position);
}

void CsvChunkParser::parse(const char* begin, const char* end, bool at_end_of_file, CsvRows& rows) {
  // In a file where most rows have a quoted cell, say, the fast path would only cost time.
  constexpr std::size_t kMaxMisses = 8;
  constexpr std::size_t kRetryPeriod = 16;
  rows.clear(schema_);
  rows.next = begin;
  while (rows.next != end) {
    const bool try_plain = num_misses_ < kMaxMisses || num_misses_ % kRetryPeriod == 0;
    const char* next = try_plain ? parse_plain_row(rows.next, end, rows) : nullptr;
    num_misses_ = next ? 0 : num_misses_ + 1;
    if (!next) next = parse_any_row(rows.next, end, at_end_of_file, rows);
    if (!next) break;
    rows.next = next;
  }
  for (std::size_t column = 0; column < schema_.columns.size(); ++column)
    for (const Unit unit : kAllUnits)
      if ((seen_numbers_[column] & seen_bit(unit)) != 0)
        rows.kinds[column].add_number((seen_numbers_[column] & kSeenFraction) != 0, unit);
}

// Returns the end of the cell, or nullptr. `seen` is for seen_numbers_, if the cell ends there.
const char* CsvChunkParser::parse_plain_number(const Target& target, const char* cell, const char* end,
                                               CsvRows& rows, std::uint8_t& seen) {
  bool has_fraction = false;
  const char* const after =
      parse_leading_number(cell, end, row_values_[target.slot], has_fraction, schema_.form.decimal);
  if (has_fraction && !schema_.form.is_settled) return nullptr;
  if (after == nullptr) return parse_plain_gap(target, cell, end, rows);
  seen = seen_bit(Unit::none) | (has_fraction ? kSeenFraction : 0);
  return after;
}

// The fast path: parses a row without quotes, blanks or other rare characters in one pass. Returns the end of the row,
// or nullptr without side effects for any other row.
const char* CsvChunkParser::parse_plain_row(const char* record, const char* end, CsvRows& rows) {
  if (plain_targets_.empty()) return nullptr;
  begin_row(rows);
  const char* pos = record;
  for (const Target& target : plain_targets_) {
    const bool is_last = target.position + 1 == plain_targets_.size();
    if (target.position > 0) ++pos;
    std::uint8_t seen = 0;
    pos = target.use == Use::number ? parse_plain_number(target, pos, end, rows, seen)
                                    : parse_plain_cell(target, pos, end, rows, seen);
    if (pos && is_last && pos != end && *pos == '\r') ++pos;
    if (pos && pos != end && *pos == (is_last ? '\n' : schema_.delimiter)) {
      seen_numbers_[target.column] |= seen;
      continue;
    }
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

// A cell of another use. Returns its end, or nullptr.
const char* CsvChunkParser::parse_plain_cell(const Target& target, const char* cell, const char* end,
                                             CsvRows& rows, std::uint8_t& seen) {
  if (target.use == Use::id) {
    rows.ids.push_back(0);
    const auto [after, error] = std::from_chars(cell, end, rows.ids.back());
    return error == std::errc{} ? after : nullptr;
  }
  if (cell != end && *cell == '"') return parse_plain_quoted(target, cell, end, rows);
  const char* const after = splitter_.find_special(cell, end);
  if (target.use == Use::none) return after;
  const std::string_view text(cell, static_cast<std::size_t>(after - cell));
  if (target.use == Use::formed && text.empty()) return parse_plain_gap(target, cell, end, rows);
  if (target.use == Use::formed) return parse_plain_formed(target, text, seen) ? after : nullptr;
  if (target.use == Use::value) {
    if (text.empty()) return parse_plain_gap(target, cell, end, rows);
    const auto value = parse_value(schema_.columns[target.column], text, rows.kinds[target.column]);
    if (!value) return nullptr;
    row_values_[target.slot] = std::bit_cast<double>(*value);
    return after;
  }
  if (find_invalid_utf8(text) != std::string_view::npos) return nullptr;
  if (target.use == Use::label) {
    rows.labels.add(text);
    return after;
  }
  const bool is_missing = text.empty() || (schema_.form.null_words && schema_.form.is_null_word(text));
  rows.texts[target.slot].add(is_missing ? std::string_view() : text);
  if (is_missing) rows.missing.push_back({rows.num_rows, target.column});
  return after;
}

// A quoted cell of text on one line, without quotes in it. Returns its end, or nullptr.
const char* CsvChunkParser::parse_plain_quoted(const Target& target, const char* cell, const char* end,
                                               CsvRows& rows) const {
  if (target.use != Use::text && target.use != Use::label && target.use != Use::none) return nullptr;
  const std::string_view rest(cell + 1, static_cast<std::size_t>(end - cell - 1));
  const std::string_view text = rest.substr(0, rest.find('"'));
  const bool is_closed = text.size() < rest.size() && !rest.substr(text.size() + 1).starts_with('"');
  const bool is_plain =
      text.find('\n') == std::string_view::npos && text.find('\0') == std::string_view::npos;
  if (!is_closed || !is_plain) return nullptr;
  if (target.use != Use::none && find_invalid_utf8(text) != std::string_view::npos) return nullptr;
  if (target.use == Use::label) rows.labels.add(text);
  if (target.use == Use::text) rows.texts[target.slot].add(text);
  return text.data() + text.size() + 1;
}

// A number that may have a unit and marks between thousands.
bool CsvChunkParser::parse_plain_formed(const Target& target, std::string_view text, std::uint8_t& seen) {
  CellNumber number;
  if (!schema_.form.read_short_number(text, number)) number = schema_.form.read_number(text, number_scratch_);
  if (number.number.kind != NumberKind::finite || number.has_zero || number.is_ambiguous ||
      !fits_unit(schema_.columns[target.column], number.unit))
    return false;
  row_values_[target.slot] = number.number.value;
  const bool has_fraction = !number.is_integer || !is_in_int64(number.number.value);
  seen = seen_bit(number.unit) | (has_fraction ? kSeenFraction : 0);
  return true;
}

// An empty cell where nothing speaks against a missing value.
const char* CsvChunkParser::parse_plain_gap(const Target& target, const char* cell, const char* end,
                                            CsvRows& rows) {
  const bool is_kept = schema_.nulls == NullPolicy::keep || !schema_.columns[target.column].is_ranked();
  const bool is_empty = cell != end && (*cell == schema_.delimiter || *cell == '\n' || *cell == '\r');
  if (!is_kept || !is_empty) return nullptr;
  set_missing(target, rows);
  return cell;
}

// Returns the end of the row, or nullptr if the row is incomplete or faulty (rows.fault).
const char* CsvChunkParser::parse_any_row(const char* record, const char* end, bool at_end_of_file,
                                          CsvRows& rows) {
  const RecordState state = splitter_.split(record, end, at_end_of_file);
  if (state == RecordState::incomplete) return nullptr;
  remedy_ = InputError::Remedy::none;
  if (state == RecordState::refused) fault_ = splitter_.fault();
  if (state == RecordState::complete && is_blank_line(splitter_, schema_)) {
    ++rows.num_lines;
    return splitter_.next();
  }
  if (state == RecordState::complete && splitter_.num_fields() != schema_.names.size()) {
    refuse_ragged(rows);
    return nullptr;
  }
  if (state == RecordState::refused || !parse_cells(rows)) {
    const auto lines_before = schema_.is_json_lines
                                  ? std::uint64_t{0}
                                  : static_cast<std::uint64_t>(std::count(record, fault_.position, '\n'));
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
  const std::size_t width = schema_.num_values;
  rows.values.resize((rows.num_rows + 1) * width);
  row_values_ = rows.values.data() + rows.num_rows * width;
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
  rows.values.resize(rows.num_rows * schema_.num_values);
  for (TextCells& cells : rows.texts) cells.cut(rows.num_rows);
  while (!rows.missing.empty() && rows.missing.back().row == rows.num_rows) rows.missing.pop_back();
  rows.labels.cut(rows.num_rows);
  if (schema_.id) rows.ids.resize(rows.num_rows);
}

bool CsvChunkParser::parse_cell(const Target& target, CsvRows& rows) {
  switch (target.use) {
    case Use::number:
    case Use::formed:
      return parse_number_cell(target, rows);
    case Use::value:
      return parse_value_cell(target, rows);
    case Use::text:
      return parse_text_cell(target, rows);
    case Use::id:
      return parse_id(target, rows);
    case Use::label:
      return parse_label(target, rows);
    case Use::none:
      break;
  }
  return true;
}

bool CsvChunkParser::parse_number_cell(const Target& target, CsvRows& rows) {
  const CsvField& field = splitter_.fields()[target.position];
  const std::string_view text = field_value(field, scratch_);
  if (field.quoted && schema_.form.quoted_are_texts)
    return take_other(target, NumberKind::not_a_number, text, rows);
  const CellNumber cell = schema_.form.read_number(text, number_scratch_);
  const ParsedNumber& number = cell.number;
  const CsvColumn& column = schema_.columns[target.column];
  const std::string_view trimmed = trim_blanks(text);
  if (trimmed.empty() || schema_.form.is_null_word(trimmed)) return take_missing(target, text, rows);
  if (column.is_found() && cell.has_zero) return take_other(target, NumberKind::not_a_number, text, rows);
  if (cell.is_ambiguous) return take_ambiguous(target, text, rows);
  if (number.kind == NumberKind::finite && !fits_unit(column, cell.unit))
    return take_other(target, NumberKind::not_a_number, text, rows);
  if (number.kind == NumberKind::finite) {
    row_values_[target.slot] = number.value;
    rows.kinds[target.column].add_number(!cell.is_integer || !is_in_int64(number.value), cell.unit);
    return true;
  }
  if (number.kind == NumberKind::nan) return take_missing(target, text, rows);
  return take_other(target, number.kind, text, rows);
}

// While the type is a guess, every unit is taken: CellKinds remembers that they differ.
bool CsvChunkParser::fits_unit(const CsvColumn& column, Unit unit) const {
  return !column.is_fixed || !column.form.unit || *column.form.unit == unit;
}

bool CsvChunkParser::parse_value_cell(const Target& target, CsvRows& rows) {
  const CsvField& field = splitter_.fields()[target.position];
  const std::string_view text = field_value(field, scratch_);
  const std::string_view trimmed = trim_blanks(text);
  const bool is_time = schema_.columns[target.column].type == CellType::date ||
                       schema_.columns[target.column].type == CellType::timestamp;
  if (field.quoted && schema_.form.quoted_are_texts && !is_time)
    return take_other(target, NumberKind::not_a_number, text, rows);
  if (trimmed.empty() || schema_.form.is_null_word(trimmed)) return take_missing(target, text, rows);
  const CsvColumn& column = schema_.columns[target.column];
  const auto value = parse_value(column, trimmed, rows.kinds[target.column]);
  if (!value) {
    const NumberKind kind =
        column.type == CellType::integer ? parse_integer(text).kind : NumberKind::not_a_number;
    return take_other(target, kind, text, rows);
  }
  row_values_[target.slot] = std::bit_cast<double>(*value);
  return true;
}

// The value of a cell without blanks around it; nullopt if it does not fit the column.
std::optional<std::int64_t> CsvChunkParser::parse_value(const CsvColumn& column, std::string_view text,
                                                        CellKinds& kinds) {
  switch (column.type) {
    case CellType::integer: {
      text = schema_.form.plain_number(text, number_scratch_);
      if (column.is_found() && has_leading_zero(text)) return std::nullopt;
      if (column.is_fixed) return parse_whole(text);
      const ParsedInteger integer = parse_integer(text);
      if (integer.kind != NumberKind::finite || !is_integer_literal(text)) return std::nullopt;
      return integer.value;
    }
    case CellType::boolean:
      return parse_boolean(text);
    case CellType::date:
      return parse_date(text);
    case CellType::timestamp:
      return parse_time(column, text, kinds);
    case CellType::number:
    case CellType::text:
      break;
  }
  return std::nullopt;
}

std::optional<std::int64_t> CsvChunkParser::parse_time(const CsvColumn& column, std::string_view text,
                                                       CellKinds& kinds) {
  std::optional<ParsedTimestamp> timestamp = parse_timestamp(text);
  if (!timestamp && !column.has_zone) {
    constexpr std::int64_t kSecondsPerDay = 86'400;
    if (const auto days = parse_date(text)) timestamp = ParsedTimestamp{*days * kSecondsPerDay};
  }
  if (!timestamp || timestamp->has_zone != column.has_zone) return std::nullopt;
  kinds.add_timestamp(*timestamp);
  const auto count = count_in_unit(*timestamp, column.unit);
  return count && count->is_exact ? std::optional(count->value) : std::nullopt;
}

bool CsvChunkParser::parse_text_cell(const Target& target, CsvRows& rows) {
  const CsvField& field = splitter_.fields()[target.position];
  const std::string_view text = field_value(field, scratch_);
  if (find_invalid_utf8(text) != std::string_view::npos) {
    return refuse(target.position, "UTF-8 text", text, kOtherEncodingHint,
                  schema_.has_choice ? InputError::Remedy::none : InputError::Remedy::choose_columns);
  }
  const bool is_null_word = schema_.form.null_words && schema_.form.is_null_word(text);
  if (!field.quoted && (text.empty() || is_null_word)) {
    set_missing(target, rows);
  } else {
    rows.texts[target.slot].add(text);
  }
  return true;
}

bool CsvChunkParser::parse_id(const Target& target, CsvRows& rows) {
  const std::string_view text = field_value(splitter_.fields()[target.position], scratch_);
  const ParsedInteger id = parse_integer(text);
  rows.ids.push_back(id.value);
  if (id.kind == NumberKind::finite) return true;
  const bool drops = id.kind == NumberKind::empty && schema_.nulls == NullPolicy::drop;
  row_has_null_ |= drops;
  return drops ||
         refuse(target.position, "a 64-bit integer", text,
                id.kind == NumberKind::out_of_range ? ", beyond the range of int64" : "",
                id.kind == NumberKind::empty ? InputError::Remedy::drop_nulls : InputError::Remedy::none);
}

bool CsvChunkParser::parse_label(const Target& target, CsvRows& rows) {
  const std::string_view text = field_value(splitter_.fields()[target.position], scratch_);
  if (find_invalid_utf8(text) != std::string_view::npos)
    return refuse(target.position, "UTF-8 text", text, kOtherEncodingHint, InputError::Remedy::none);
  rows.labels.add(text);
  return true;
}

void CsvChunkParser::set_missing(const Target& target, CsvRows& rows) {
  if (target.use == Use::number || target.use == Use::formed) {
    row_values_[target.slot] = kMissingNumber;
    return;
  }
  if (target.use == Use::text) {
    rows.texts[target.slot].add("");
  } else {
    row_values_[target.slot] = 0;
  }
  rows.missing.push_back({rows.num_rows, target.column});
}

// A cell that is a missing value, and of no other type than text. Returns false if it is refused.
bool CsvChunkParser::take_missing(const Target& target, std::string_view text, CsvRows& rows) {
  const CsvColumn& column = schema_.columns[target.column];
  set_missing(target, rows);
  CellKinds& kinds = rows.kinds[target.column];
  kinds.add_missing(text, splitter_.fields()[target.position].quoted);
  if (!column.is_ranked() || schema_.nulls == NullPolicy::keep) return true;
  if (schema_.nulls == NullPolicy::drop) {
    row_has_null_ = true;
    return true;
  }
  kinds.add_refused();
  return !column.is_fixed || refuse_cell(target, NumberKind::empty, text);
}

// A cell that does not fit its column. Returns false if it is refused.
bool CsvChunkParser::take_other(const Target& target, NumberKind kind, std::string_view text, CsvRows& rows) {
  const CsvColumn& column = schema_.columns[target.column];
  set_missing(target, rows);
  if (kind == NumberKind::infinite && schema_.nulls == NullPolicy::drop) {
    rows.kinds[target.column].add_number(true);
    row_has_null_ = true;
    return true;
  }
  rows.kinds[target.column].add(schema_.form, text, splitter_.fields()[target.position].quoted,
                                column.kept.is_attribute);
  return !column.is_fixed || refuse_cell(target, kind, text);
}

// A number of which nothing says what its mark is. Returns false if it is refused.
bool CsvChunkParser::take_ambiguous(const Target& target, std::string_view text, CsvRows& rows) {
  take_other(target, NumberKind::not_a_number, text, rows);
  remedy_ = InputError::Remedy::give_decimal;
  return !schema_.columns[target.column].is_fixed;
}

bool CsvChunkParser::refuse_cell(const Target& target, NumberKind kind, std::string_view text) {
  const CsvColumn& column = schema_.columns[target.column];
  const bool drop_helps = kind == NumberKind::empty || kind == NumberKind::infinite;
  return refuse(target.position, expected_text(column), text, reason_of(column, schema_.form, kind, text),
                drop_helps ? InputError::Remedy::drop_nulls : InputError::Remedy::none);
}

bool CsvChunkParser::refuse(std::size_t position, std::string_view expected, std::string_view found,
                            std::string_view reason, InputError::Remedy remedy) {
  fault_.position = splitter_.fields()[position].text.data();
  fault_.field = position;
  fault_.what = std::string("expected ").append(expected) + " in column " +
                quote_excerpt(schema_.names[position]) + ", found " +
                (trim_blanks(found).empty() ? "an empty cell" : quote_excerpt(found));
  fault_.what.append(reason);
  remedy_ = remedy;
  return false;
}

void CsvChunkParser::refuse_ragged(CsvRows& rows) const {
  const std::size_t expected = schema_.names.size();
  const std::size_t found = splitter_.num_fields();
  rows.fault = {
      rows.num_lines, std::min(expected, found) + 1,
      "expected " + std::to_string(expected) + " fields as in the header, found " + std::to_string(found)};
}

}  // namespace culmen::io
