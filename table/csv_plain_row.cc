// CsvChunkParser's fast path: rows without quotes, blanks or other rare characters, in one pass.
#include <charconv>
#include <system_error>

#include "base/utf8.h"
#include "table/csv_chunk.h"

namespace culmen::io {

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

// Whether an integer is an id for certain: no code with leading zeros, and no word for missing values, such as -1.
bool CsvChunkParser::is_plain_id(std::string_view text) const {
  return keeps_id(text) && !(schema_.form.null_words && schema_.form.is_null_word(text));
}

// An id without blanks and marks. Returns its end, or nullptr.
const char* CsvChunkParser::parse_plain_id(const char* cell, const char* end, CsvRows& rows) {
  rows.ids.push_back(0);
  row_has_large_id_ = false;
  if (schema_.id_type != IdType::uint64) {
    const auto [after, error] = std::from_chars(cell, end, rows.ids.back());
    if (error == std::errc{}) return is_plain_id({cell, after}) ? after : nullptr;
    if (schema_.id_type || error != std::errc::result_out_of_range) return nullptr;
  }
  std::uint64_t number = 0;
  const auto [after, error] = std::from_chars(cell, end, number);
  if (error != std::errc{} || !is_plain_id({cell, after})) return nullptr;
  rows.ids.back() = schema_.id_type ? id_of_uint64(number) : static_cast<std::int64_t>(number);
  row_has_large_id_ = true;
  return after;
}

// A cell of another use. Returns its end, or nullptr.
const char* CsvChunkParser::parse_plain_cell(const Target& target, const char* cell, const char* end,
                                             CsvRows& rows, std::uint8_t& seen) {
  if (target.use == Use::id) return parse_plain_id(cell, end, rows);
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
    if (schema_.texts_are_ids() && is_missing_text(text)) return nullptr;
    rows.labels.add(text);
    return after;
  }
  const bool is_missing = is_missing_text(text);
  rows.texts[target.slot].add(is_missing ? std::string_view() : text);
  if (is_missing) rows.missing.push_back({rows.num_rows, target.column});
  return after;
}

// A quoted cell of text on one line, without quotes in it. Returns its end, or nullptr.
const char* CsvChunkParser::parse_plain_quoted(const Target& target, const char* cell, const char* end,
                                               CsvRows& rows) const {
  if (target.use != Use::text && target.use != Use::label && target.use != Use::none) return nullptr;
  const char* after = cell + 1;
  while (after != end && *after != '"' && *after != '\n' && *after != '\0') ++after;
  const bool is_closed = after != end && *after == '"' && (after + 1 == end || after[1] != '"');
  if (!is_closed) return nullptr;
  const std::string_view text(cell + 1, static_cast<std::size_t>(after - cell - 1));
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

}  // namespace culmen::io
