#include "table/cell_type.h"

#include <algorithm>
#include <array>
#include <utility>

#include "table/number.h"
#include "table/text.h"

namespace culmen::io {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kBooleans = {
    {{"yes", "no"}, {"y", "n"}, {"t", "f"}, {"on", "off"}, {"1", "0"}, {"ja", "nein"}, {"oui", "non"}}};

bool equals_in_any_case(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
}

// Whether most texts can be told from a date at once.
bool begins_like_a_date(std::string_view text) {
  constexpr std::size_t kYearDigits = 4;
  if (text.size() <= kYearDigits) return false;
  if (text[0] != '+' && text[0] != '-') return text[kYearDigits] == '-' && text[0] >= '0' && text[0] <= '9';
  const std::size_t end = text.find_first_not_of("0123456789", 1);  // of a year with a sign
  return end != std::string_view::npos && end > kYearDigits && text[end] == '-';
}

}  // namespace

std::optional<bool> parse_boolean(std::string_view text, bool in_words) {
  if (equals_in_any_case(text, "true")) return true;
  if (equals_in_any_case(text, "false")) return false;
  if (!in_words) return std::nullopt;
  for (const auto& [yes, no] : kBooleans) {
    if (equals_in_any_case(text, yes)) return true;
    if (equals_in_any_case(text, no)) return false;
  }
  return std::nullopt;
}

void CellKinds::add(const CellForm& form, std::string_view text, bool quoted, bool ranked) {
  const std::string_view trimmed = trim_blanks(text);
  const bool is_text = quoted && form.quoted_are_texts;
  if (!is_text && (trimmed.empty() || form.is_null_word(trimmed))) return add_missing(text, quoted);
  std::string scratch;
  if (const std::string_view iso = form.iso_time(trimmed, scratch); begins_like_a_date(iso)) {
    if (parse_date(iso)) {
      set_first(CellType::date);
      has_dates_ = true;
      return;
    }
    if (const auto timestamp = parse_timestamp(iso)) return add_timestamp(*timestamp);
  }
  if (is_text) {
    set_first(CellType::text);
    has_texts_ = true;
    return;
  }
  if (parse_boolean(trimmed)) {
    set_first(CellType::boolean);
    has_booleans_ = true;
    return;
  }
  const CellNumber number = form.read_number(text, scratch);
  has_refused_ |= number.is_ambiguous;
  switch (!ranked && number.has_zero ? NumberKind::not_a_number : number.number.kind) {
    case NumberKind::finite:
      return add_number(!number.is_integer || !is_in_int64(number.number.value), number.unit);
    case NumberKind::inexact_integer:
      if (parse_integer(form.plain_number(text, scratch)).kind == NumberKind::finite) {
        has_wide_integers_ = true;
        return add_number(!number.is_integer, number.unit);
      }
      set_first(CellType::text);
      has_texts_ = true;  // more digits than any number type holds
      return;
    case NumberKind::infinite:
    case NumberKind::out_of_range:
      has_refused_ = true;
      return add_number(true);
    case NumberKind::empty:
    case NumberKind::nan:
      return add_missing(text, quoted);
    case NumberKind::not_a_number:
      set_first(CellType::text);
      has_texts_ = true;
  }
}

void CellKinds::add_missing(std::string_view text, bool quoted) {
  has_words_ |= quoted || !text.empty();
}

void CellKinds::add_timestamp(const ParsedTimestamp& timestamp) {
  set_first(CellType::timestamp);
  if (!has_times()) is_first_time_zoned_ = timestamp.has_zone;
  if (timestamp.has_zone) {
    min_offset_ =
        has_zoned_times_ ? std::min(min_offset_, timestamp.offset_minutes) : timestamp.offset_minutes;
    max_offset_ =
        has_zoned_times_ ? std::max(max_offset_, timestamp.offset_minutes) : timestamp.offset_minutes;
    has_zoned_times_ = true;
  } else {
    has_local_times_ = true;
  }
  num_fraction_digits_ = std::max(num_fraction_digits_, timestamp.num_fraction_digits);
  is_beyond_nanoseconds_ |= !count_in_unit(timestamp, TimeUnit::nanosecond);
}

void CellKinds::merge(const CellKinds& other) {
  if (is_empty()) first_ = other.first_;
  if (!has_times()) is_first_time_zoned_ = other.is_first_time_zoned_;
  mixes_units_ |=
      other.mixes_units_ || (first_unit_ && other.first_unit_ && first_unit_ != other.first_unit_);
  if (!first_unit_) first_unit_ = other.first_unit_;
  if (other.has_zoned_times_) {
    min_offset_ = has_zoned_times_ ? std::min(min_offset_, other.min_offset_) : other.min_offset_;
    max_offset_ = has_zoned_times_ ? std::max(max_offset_, other.max_offset_) : other.max_offset_;
  }
  has_numbers_ |= other.has_numbers_;
  has_fractions_ |= other.has_fractions_;
  has_wide_integers_ |= other.has_wide_integers_;
  has_refused_ |= other.has_refused_;
  has_words_ |= other.has_words_;
  has_booleans_ |= other.has_booleans_;
  has_dates_ |= other.has_dates_;
  has_local_times_ |= other.has_local_times_;
  has_zoned_times_ |= other.has_zoned_times_;
  is_beyond_nanoseconds_ |= other.is_beyond_nanoseconds_;
  has_texts_ |= other.has_texts_;
  num_fraction_digits_ = std::max(num_fraction_digits_, other.num_fraction_digits_);
}

bool CellKinds::is_empty() const {
  return !has_numbers_ && !has_booleans_ && !has_dates_ && !has_local_times_ && !has_zoned_times_ &&
         !has_texts_;
}

CellType CellKinds::type() const {
  const int num_kinds =
      (has_numbers_ ? 1 : 0) + (has_booleans_ ? 1 : 0) + (has_dates_ || has_times() ? 1 : 0);
  if (has_texts_ || num_kinds != 1 || mixes_units_) return CellType::text;
  if (has_numbers_) return has_wide_integers_ && !has_fractions_ ? CellType::integer : CellType::number;
  if (has_booleans_) return CellType::boolean;
  if (!has_times()) return CellType::date;
  const bool mixes_zones = has_zoned_times_ && (has_local_times_ || has_dates_);
  const bool is_out_of_range =
      unit_of_digits(num_fraction_digits_) == TimeUnit::nanosecond && is_beyond_nanoseconds_;
  return mixes_zones || is_out_of_range ? CellType::text : CellType::timestamp;
}

ColumnFormat CellKinds::format() const {
  switch (type()) {
    case CellType::number:
      return {has_fractions_ ? ColumnType::floating : ColumnType::integer};
    case CellType::integer:
      return {ColumnType::integer};
    case CellType::boolean:
      return {ColumnType::boolean};
    case CellType::date:
      return {ColumnType::date};
    case CellType::timestamp:
      return timestamp_format();
    case CellType::text:
      break;
  }
  return {ColumnType::text};
}

ColumnFormat CellKinds::timestamp_format() const {
  ColumnFormat format = {ColumnType::timestamp, unit_of_digits(num_fraction_digits_)};
  if (is_first_time_zoned_) format.time_zone = zone_name(min_offset_ == max_offset_ ? min_offset_ : 0);
  return format;
}

}  // namespace culmen::io
