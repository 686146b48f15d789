// Dates and times as people write them.
#include <algorithm>

#include "base/calendar.h"
#include "table/cell_form.h"

namespace culmen::io {
namespace {

constexpr std::string_view kDigits = "0123456789";
constexpr std::string_view kDateMarks = "./-";
constexpr std::size_t kDigitsOfYear = 4;

// The parts of 31.12.2024 14:30, in the order of the cell.
struct WrittenDate {
  std::string_view parts[3];
  char mark = '\0';
  std::string_view time;  // and what is before it
};

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, std::min(text.find_first_not_of(kDigits), text.size()));
  text.remove_prefix(digits.size());
  return digits;
}

std::optional<WrittenDate> split_date(std::string_view cell) {
  WrittenDate date;
  for (std::string_view& part : date.parts) {
    if (&part != date.parts) {
      if (cell.empty() ||
          (date.mark == '\0' ? kDateMarks.find(cell[0]) == std::string_view::npos : cell[0] != date.mark))
        return std::nullopt;
      date.mark = cell[0];
      cell.remove_prefix(1);
    }
    part = take_digits(cell);
    if (part.empty()) return std::nullopt;
  }
  const bool begins_with_year = date.parts[0].size() == kDigitsOfYear;
  const bool has_year = begins_with_year != (date.parts[2].size() == kDigitsOfYear);
  if (!has_year || date.parts[begins_with_year ? 2 : 0].size() > 2 || date.parts[1].size() > 2)
    return std::nullopt;
  if (!cell.empty() && cell[0] != ' ' && cell[0] != 'T') return std::nullopt;
  date.time = cell;
  return date;
}

void append_two_digits(std::string_view number, std::string& out) {
  out.append(number.size() == 1 ? "0" : "").append(number);
}

// As of " 2:30 PM" or "T14:30". What is no time stays as it is.
void append_time(std::string_view text, std::string& out) {
  if (text.empty()) return;
  out += ' ';
  text.remove_prefix(1);
  const std::string_view hour = take_digits(text);
  const auto ends_with = [&](char letter) {
    const std::size_t size = text.size();
    return size > 2 && (text[size - 2] | 0x20) == letter && (text[size - 1] | 0x20) == 'm';
  };
  const bool is_before_noon = ends_with('a'), is_after_noon = ends_with('p');
  if (!is_before_noon && !is_after_noon) {
    append_two_digits(hour, out);
    out.append(text);
    return;
  }
  text.remove_suffix(2);
  if (text.ends_with(' ')) text.remove_suffix(1);
  const int number = hour.empty() || hour.size() > 2 ? 0 : std::stoi(std::string(hour));
  if (number < 1 || number > 12) {  // no hour of such a clock
    out.append("?");
  } else {
    append_two_digits(std::to_string(number % 12 + (is_after_noon ? 12 : 0)), out);
  }
  out.append(text);
}

void write_iso(const WrittenDate& date, bool is_day_first, std::string& out) {
  const bool begins_with_year = date.parts[0].size() == kDigitsOfYear;
  out.assign(date.parts[begins_with_year ? 0 : 2]).append("-");
  append_two_digits(date.parts[begins_with_year || is_day_first ? 1 : 0], out);
  out.append("-");
  append_two_digits(date.parts[begins_with_year ? 2 : is_day_first ? 0 : 1], out);
  append_time(date.time, out);
}

bool is_time(std::string_view iso) {
  return parse_date(iso) || parse_timestamp(iso);
}

}  // namespace

std::string_view CellForm::iso_time(std::string_view cell, std::string& scratch) const {
  const bool is_iso = cell.size() > kDigitsOfYear && cell[kDigitsOfYear] == '-';
  if (is_iso || cell.empty() || kDigits.find(cell[0]) == std::string_view::npos) return cell;
  const std::optional<WrittenDate> date = split_date(cell);
  if (!date) return cell;
  const bool begins_with_year = date->parts[0].size() == kDigitsOfYear;
  if (date->mark != '.' && !begins_with_year && !dates) return cell;
  write_iso(*date, date->mark == '.' || dates == DateOrder::day_first, scratch);
  return scratch;
}

bool looks_like_date(std::string_view cell) {
  return split_date(cell).has_value();
}

DateShape date_shape_of(std::string_view cell) {
  const std::optional<WrittenDate> date = split_date(cell);
  if (!date || date->mark == '.' || date->parts[0].size() == kDigitsOfYear) return {};
  std::string iso;
  DateShape shape;
  write_iso(*date, true, iso);
  shape.may_be_day_first = is_time(iso);
  write_iso(*date, false, iso);
  shape.may_be_month_first = is_time(iso);
  shape.is_date = shape.may_be_day_first || shape.may_be_month_first;
  return shape;
}

}  // namespace culmen::io
