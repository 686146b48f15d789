#include "table/csv_chunk.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/utf8.h"
#include "table/json_lines.h"
#include "table/text.h"

namespace culmen::io {
namespace {

constexpr double kMissingNumber = std::numeric_limits<double>::quiet_NaN();

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
  dropped_ids.clear();
  dropped_texts.cut(0);
  num_lines = 0;
  next = nullptr;
  values.clear();
  texts.resize(schema.num_texts);
  for (TextCells& cells : texts) cells.cut(0);
  missing.clear();
  ids.clear();
  id_range = {};
  lines.clear();
  labels.cut(0);
  kinds.assign(schema.columns.size(), {});
  faults.clear();
  has_stray_quotes = false;
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
  refused_.clear();
  parse_rows(begin, end, at_end_of_file, rows);
  if (schema_.lists_refused && (!rows.faults.empty() || rows.next != end)) {
    // Cells of refused rows must not decide what a column holds, nor those of a record that ends elsewhere and may be refused.
    std::vector<CsvFault> faults = std::move(rows.faults);
    const bool has_stray_quotes = rows.has_stray_quotes;
    parse_rows(begin, rows.next, at_end_of_file, rows);
    rows.faults = std::move(faults);
    rows.has_stray_quotes = has_stray_quotes;
  }
  for (std::size_t column = 0; column < schema_.columns.size(); ++column)
    for (const Unit unit : kAllUnits)
      if ((seen_numbers_[column] & seen_bit(unit)) != 0)
        rows.kinds[column].add_number((seen_numbers_[column] & kSeenFraction) != 0, unit);
}

void CsvChunkParser::parse_rows(const char* begin, const char* end, bool at_end_of_file, CsvRows& rows) {
  // In a file where most rows have a quoted cell, say, the fast path would only cost time.
  constexpr std::size_t kMaxMisses = 8;
  constexpr std::size_t kRetryPeriod = 16;
  next_refused_ = 0;
  std::ranges::fill(seen_numbers_, std::uint8_t{0});
  rows.clear(schema_);
  rows.next = begin;
  while (rows.next != end) {
    if (const char* const behind = skip_refused(rows.next, rows)) {
      rows.next = behind;
      continue;
    }
    const bool try_plain = num_misses_ < kMaxMisses || num_misses_ % kRetryPeriod == 0;
    const char* next = try_plain ? parse_plain_row(rows.next, end, rows) : nullptr;
    num_misses_ = next ? 0 : num_misses_ + 1;
    if (!next) next = parse_any_row(rows.next, end, at_end_of_file, rows);
    if (!next) break;
    rows.next = next;
    if (!schema_.lists_refused && rows.faults.size() == RefusedRows::kMaxFaults) break;
  }
}

// Returns the end of a record that is known to be refused, or nullptr.
const char* CsvChunkParser::skip_refused(const char* record, CsvRows& rows) {
  if (next_refused_ == refused_.size() || refused_[next_refused_].begin != record) return nullptr;
  const char* const next = refused_[next_refused_++].next;
  rows.dropped_at.push_back(rows.num_rows);
  rows.num_lines += schema_.is_json_lines ? 1 : static_cast<std::uint64_t>(std::count(record, next, '\n'));
  return next;
}

// Returns the end of the row, or nullptr if the row is incomplete.
const char* CsvChunkParser::parse_any_row(const char* record, const char* end, bool at_end_of_file,
                                          CsvRows& rows) {
  const RecordState state = splitter_.split(record, end, at_end_of_file);
  if (state == RecordState::incomplete) return nullptr;
  if (state == RecordState::refused) return refuse_unsplit(record, end, rows);
  if (is_blank_line(splitter_, schema_)) {
    ++rows.num_lines;
    return splitter_.next();
  }
  if (splitter_.num_fields() != schema_.names.size()) {
    refuse_ragged();
    return refuse_row(record, splitter_.next(), rows);
  }
  if (!parse_cells(rows)) return refuse_row(record, splitter_.next(), rows);
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
  row_has_null_ = row_lacks_id_ = false;
}

void CsvChunkParser::end_row(std::uint64_t num_lines, CsvRows& rows) const {
  const bool only_checks = !schema_.lists_refused && !rows.faults.empty();
  if (row_has_null_ || only_checks) {
    if (!only_checks) drop_row(rows);
    undo_row(rows);
  } else {
    rows.lines.add(rows.num_rows, rows.num_lines);
    if (schema_.id && !schema_.id_type) rows.id_range.add(rows.num_rows, rows.ids.back(), row_has_large_id_);
    ++rows.num_rows;
  }
  rows.num_lines += num_lines;
}

void CsvChunkParser::drop_row(CsvRows& rows) const {
  const std::size_t drop = rows.dropped_at.size();
  rows.dropped_at.push_back(rows.num_rows);
  if (row_lacks_id_ || !schema_.lists_dropped) return;
  if (schema_.texts_are_ids()) {
    rows.dropped_ids.push_back({drop});
    rows.dropped_texts.add(rows.labels[rows.num_rows]);
  } else if (schema_.id && schema_.id_type) {
    rows.dropped_ids.push_back({drop, rows.ids.back()});
  }
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
  const std::string_view trimmed = trim_blanks(text);
  if (trimmed.empty() || schema_.form.is_null_word(trimmed)) return take_missing(target, text, rows);
  const CellNumber cell = schema_.form.read_number(text, number_scratch_);
  const ParsedNumber& number = cell.number;
  const CsvColumn& column = schema_.columns[target.column];
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
    // The row may not decide what other columns hold.
    if (schema_.lists_refused && column.is_only_unit_open && !parse_time_of_zone(column, trimmed))
      return refuse_cell(target, kind, text);
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
      // Units that differ make the column one of texts.
      kinds.add_number(false, is_integer_literal(text)
                                  ? Unit::none
                                  : schema_.form.read_number(text, number_scratch_).unit);
      text = schema_.form.plain_number(text, number_scratch_);
      if (column.is_found() && has_leading_zero(text)) return std::nullopt;
      if (column.is_fixed) return parse_whole(text);
      const ParsedInteger integer = parse_integer(text);
      if (integer.kind != NumberKind::finite || !is_integer_literal(text)) return std::nullopt;
      return integer.value;
    }
    case CellType::boolean:
      return parse_boolean(text, !column.is_found());
    case CellType::date:
      return parse_date(schema_.form.iso_time(text, number_scratch_));
    case CellType::timestamp:
      return parse_time(column, text, kinds);
    case CellType::number:
    case CellType::text:
      break;
  }
  return std::nullopt;
}

// A timestamp with a zone if the column has one, else without; then a date is its midnight.
std::optional<ParsedTimestamp> CsvChunkParser::parse_time_of_zone(const CsvColumn& column,
                                                                  std::string_view text) {
  text = schema_.form.iso_time(text, number_scratch_);
  std::optional<ParsedTimestamp> timestamp = parse_timestamp(text);
  if (!timestamp && !column.has_zone) {
    constexpr std::int64_t kSecondsPerDay = 86'400;
    if (const auto days = parse_date(text)) timestamp = ParsedTimestamp{*days * kSecondsPerDay};
  }
  return timestamp && timestamp->has_zone == column.has_zone ? timestamp : std::nullopt;
}

std::optional<std::int64_t> CsvChunkParser::parse_time(const CsvColumn& column, std::string_view text,
                                                       CellKinds& kinds) {
  const std::optional<ParsedTimestamp> timestamp = parse_time_of_zone(column, text);
  if (!timestamp) return std::nullopt;
  kinds.add_timestamp(*timestamp);
  const auto count = count_in_unit(*timestamp, column.unit);
  return count && count->is_exact ? std::optional(count->value) : std::nullopt;
}

bool CsvChunkParser::parse_text_cell(const Target& target, CsvRows& rows) {
  const CsvField& field = splitter_.fields()[target.position];
  const std::string_view text = field_value(field, scratch_);
  if (find_invalid_utf8(text) != std::string_view::npos) return refuse_encoding(target, text);
  if (!field.quoted && is_missing_text(text)) {
    set_missing(target, rows);
  } else {
    rows.texts[target.slot].add(text);
  }
  return true;
}

bool CsvChunkParser::parse_id(const Target& target, CsvRows& rows) {
  const std::string_view text = field_value(splitter_.fields()[target.position], scratch_);
  CellId id = parse_cell_id(text, schema_.id_type);
  const bool may_be_null_word = id.kind != NumberKind::finite || schema_.form.null_words;
  if (may_be_null_word && schema_.form.is_null_word(trim_blanks(text))) id = {.kind = NumberKind::empty};
  rows.ids.push_back(id.id);
  row_has_large_id_ = id.is_large;
  if (id.kind == NumberKind::finite && keeps_id(text)) return true;
  const bool drops = id.kind == NumberKind::empty && schema_.nulls == NullPolicy::drop;
  row_has_null_ |= drops;
  row_lacks_id_ = drops;
  return drops || refuse_id(target, id.kind, text);
}

// A code such as 007 is no number unless somebody says so.
bool CsvChunkParser::keeps_id(std::string_view text) const {
  return schema_.id_type.has_value() || !has_leading_zero(trim_blanks(text));
}

bool CsvChunkParser::refuse_id(const Target& target, NumberKind kind, std::string_view text) {
  const bool is_null_word = kind == NumberKind::empty && !trim_blanks(text).empty();
  const std::string_view reason = is_null_word                       ? ", a missing value"
                                  : kind == NumberKind::out_of_range ? reason_of_range(schema_.id_type)
                                  : kind == NumberKind::finite
                                      ? ", whose leading zeros a number does not keep"
                                      : "";
  const InputError::Remedy remedy = kind == NumberKind::empty          ? InputError::Remedy::drop_nulls
                                    : kind == NumberKind::out_of_range ? InputError::Remedy::none
                                                                       : InputError::Remedy::give_id_type;
  return refuse(target.position, expected_id(schema_.id_type), text, reason, remedy);
}

bool CsvChunkParser::parse_label(const Target& target, CsvRows& rows) {
  const CsvField& field = splitter_.fields()[target.position];
  const std::string_view text = field_value(field, scratch_);
  if (find_invalid_utf8(text) != std::string_view::npos)
    return refuse(target.position, "UTF-8 text", text, kOtherEncodingHint, InputError::Remedy::none);
  rows.labels.add(text);
  if (!schema_.texts_are_ids() || field.quoted || !is_missing_text(text)) return true;
  const bool drops = schema_.nulls == NullPolicy::drop;
  row_has_null_ |= drops;
  row_lacks_id_ = drops;
  return drops || refuse(target.position, "a text", text, text.empty() ? "" : ", a missing value",
                         InputError::Remedy::drop_nulls);
}

bool CsvChunkParser::is_missing_text(std::string_view text) const {
  return text.empty() || (schema_.form.null_words && schema_.form.is_null_word(text));
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
  // No text either, whatever the column turns out to hold: the row may not decide that.
  if (schema_.lists_refused && !column.is_fixed && find_invalid_utf8(text) != std::string_view::npos)
    return refuse_encoding(target, text);
  rows.kinds[target.column].add(schema_.form, text, splitter_.fields()[target.position].quoted,
                                column.kept.is_attribute);
  return !column.is_fixed || refuse_cell(target, kind, text);
}

// A number of which nothing says what its mark is. Returns false if it is refused.
bool CsvChunkParser::take_ambiguous(const Target& target, std::string_view text, CsvRows& rows) {
  take_other(target, NumberKind::not_a_number, text, rows);
  if (!schema_.columns[target.column].is_fixed) return true;
  fault_.remedy = InputError::Remedy::give_decimal;
  return false;
}

bool CsvChunkParser::refuse_encoding(const Target& target, std::string_view text) {
  return refuse(target.position, "UTF-8 text", text, kOtherEncodingHint,
                schema_.has_choice ? InputError::Remedy::none : InputError::Remedy::choose_columns);
}

bool CsvChunkParser::refuse_cell(const Target& target, NumberKind kind, std::string_view text) {
  const CsvColumn& column = schema_.columns[target.column];
  const bool drop_helps = kind == NumberKind::empty || kind == NumberKind::infinite;
  return refuse(target.position, expected_text(column), text, reason_of(column, schema_.form, kind, text),
                drop_helps ? InputError::Remedy::drop_nulls : InputError::Remedy::none);
}

bool CsvChunkParser::refuse(std::size_t position, std::string_view expected, std::string_view found,
                            std::string_view reason, InputError::Remedy remedy) {
  fault_position_ = splitter_.fields()[position].text.data();
  fault_ = {.column = position + 1,
            .expected = std::string("expected ").append(expected) + " in column " +
                        quote_excerpt(schema_.names[position]),
            .found = ", found " + (trim_blanks(found).empty() ? "an empty cell" : quote_excerpt(found)),
            .remedy = remedy};
  fault_.found.append(reason);
  return false;
}

// A record of which nothing says where it ends: reading goes on in the line after the fault. Returns nullptr if that is
// not in the input.
const char* CsvChunkParser::refuse_unsplit(const char* record, const char* end, CsvRows& rows) {
  const RecordFault& fault = splitter_.fault();
  // A field without an end is no text, unless a list of faulty rows is wanted, in which it may be a missing quote.
  const bool is_over =
      splitter_.is_line_too_long() || (splitter_.is_field_too_long() && !schema_.lists_refused);
  const char* const next = splitter_.is_line_too_long() ? end : splitter_.line_after_fault();
  if (next == nullptr) return nullptr;
  fault_position_ = fault.position;
  fault_ = {.column = fault.field + 1, .expected = fault.what, .ends_reading = is_over};
  rows.has_stray_quotes = true;
  if (!schema_.is_json_lines || *record != kRefusedLine) return refuse_row(record, next, rows);
  const std::string_view line(record + 1, static_cast<std::size_t>(next - record - 1));
  const std::size_t begin_of_text = line.find(kRefusedLine);
  fault_.column = 0;
  fault_.expected = line.substr(0, begin_of_text);
  return refuse_row(line.data() + begin_of_text + 1, next, rows);
}

void CsvChunkParser::refuse_ragged() {
  const std::size_t expected = schema_.names.size();
  const std::size_t found = splitter_.num_fields();
  fault_position_ = nullptr;
  fault_ = {.column = std::min(expected, found) + 1,
            .expected = "expected " + std::to_string(expected) + " fields as in the header",
            .found = ", found " + std::to_string(found)};
}

// As it is in the file; of JSON Lines, whose rows are read as CSV, an object again.
std::string CsvChunkParser::text_of_row(const char* record, const char* next) {
  const bool is_csv = schema_.is_json_lines && *record != kRefusedLine && fault_.column > 0;
  if (is_csv && splitter_.split(record, next, true) == RecordState::complete)
    return object_of_row(schema_.names, splitter_.fields());
  const std::string_view text(record, static_cast<std::size_t>(next - record));
  return std::string(text.substr(0, text.find_last_not_of("\r\n") + 1));
}

// Notes the fault. Returns `next`.
const char* CsvChunkParser::refuse_row(const char* record, const char* next, CsvRows& rows) {
  const auto count_lines = [&](const char* end) {
    return static_cast<std::uint64_t>(std::count(record, end, '\n'));
  };
  const bool is_located = fault_position_ != nullptr && !schema_.is_json_lines;
  fault_.line = rows.num_lines + (is_located ? count_lines(fault_position_) : 0);
  if (schema_.lists_refused) {
    fault_.row = text_of_row(record, next);
    refused_.push_back({rows.next, next});
    rows.dropped_at.push_back(rows.num_rows);
  }
  rows.num_lines += schema_.is_json_lines ? 1 : count_lines(next);
  rows.faults.push_back(std::move(fault_));
  return next;
}

}  // namespace culmen::io
