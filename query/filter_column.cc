#include "query/filter_column.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/calendar.h"
#include "base/excerpt.h"
#include "base/suggestion.h"
#include "base/text_id.h"
#include "culmen/error.h"
#include "query/filter_words.h"
#include "query/literal.h"
#include "query/resolve.h"

namespace culmen {
namespace {

constexpr std::int64_t kSecondsOfDay = 86400;

// Whether a column is compared with this number. 0 and 1 are false and true, as many dialects of SQL have it; a count of
// days is no date: in `day > 20240101` it is a mistake. An infinity is no limit, whatever the column holds.
bool takes_number(const ColumnFormat& format, const Literal& literal) {
  const double number = nearest_double(literal);
  switch (format.type) {
    case ColumnType::text:
      return false;
    case ColumnType::boolean:
      return number == 0 || number == 1 || std::isinf(number);
    case ColumnType::date:
    case ColumnType::timestamp:
      return std::isinf(number);
    default:
      return true;
  }
}

constexpr std::size_t kDayLetters = 10;  // YYYY-MM-DD

// What a column holds, and how its values are written in a filter.
struct Spelling {
  const char *values, *literal;
};

Spelling spelling_of(const ColumnFormat& format) {
  switch (format.type) {
    case ColumnType::boolean:
      return {"true and false", "true or false"};
    case ColumnType::date:
      return {"dates", "a date in single quotes, such as '2025-06-01'"};
    case ColumnType::timestamp:
      return {"timestamps", format.time_zone.empty()
                                ? "a timestamp in single quotes, such as '2025-06-01 12:30:00'"
                                : "a timestamp in single quotes, such as '2025-06-01 12:30:00Z'"};
    case ColumnType::text:
      return {"texts", "a text in single quotes"};
    default:
      return {"numbers", "a number"};
  }
}

bool holds_times(const ColumnFormat& format) {
  return format.type == ColumnType::date || format.type == ColumnType::timestamp;
}

// A day is its midnight. It may be one that no column of dates holds: it is compared as any other.
std::optional<ParsedTimestamp> parse_day_or_time(const std::string& text) {
  const std::optional<ParsedTimestamp> day = parse_timestamp(text + " 00:00");
  return day ? day : parse_timestamp(text);
}

// An instant that a date or timestamp is compared with.
std::optional<ParsedTimestamp> parse_instant(const std::string& text, const ColumnFormat& format) {
  const std::optional<ParsedTimestamp> timestamp = parse_day_or_time(text);
  const bool takes_zones = format.type == ColumnType::timestamp && !format.time_zone.empty();
  if (timestamp && timestamp->has_zone && !takes_zones) return {};
  return timestamp;
}

bool takes_text(const ColumnFormat& format, const std::string& text) {
  return format.type == ColumnType::text || (holds_times(format) && parse_instant(text, format));
}

// Five digits or more, and a dash.
bool begins_with_a_long_year(std::string_view text) {
  const std::size_t end = text.find_first_not_of("0123456789");
  return end != std::string_view::npos && end > 4 && text[end] == '-';
}

// Of a text that no date or timestamp of the column is compared with.
std::string fault_of_instant(const FilterColumn& column, const std::string& text, const Snapshot& snapshot) {
  if (begins_with_no_day(text)) return "there is no day '" + text.substr(0, kDayLetters) + "'";
  const std::string name = shown_column(column, snapshot);
  if (begins_with_a_long_year(text))
    return name + ": years of more than four digits have a sign, as in '+12345-01-01', which " +
           quote_excerpt(text) + " lacks";
  if (const std::optional<ParsedTimestamp> timestamp = parse_timestamp(text);
      timestamp && timestamp->has_zone)
    return name + " has no time zone, and " + quote_excerpt(text) + " has one: write the time without it";
  const Spelling spelling = spelling_of(format_of(column, snapshot));
  return name + " holds " + spelling.values + ", and " + quote_excerpt(text) + " is none: compare it with " +
         spelling.literal;
}

TimestampCount count_days(const ParsedTimestamp& instant) {
  const std::int64_t into_day = (instant.seconds % kSecondsOfDay + kSecondsOfDay) % kSecondsOfDay;
  return {(instant.seconds - into_day) / kSecondsOfDay, into_day == 0 && instant.nanoseconds == 0};
}

ParsedTimestamp instant_of(const std::string& text, const ColumnFormat& format) {
  const std::optional<ParsedTimestamp> instant = parse_instant(text, format);
  if (!instant) throw InvalidArgument("\"" + text + "\" is no date or time");
  return *instant;
}

// Of an instant among whole days, or units of time.
Limits<std::int64_t> limits_of_instant(const std::string& text, const ColumnFormat& format) {
  const ParsedTimestamp instant = instant_of(text, format);
  const std::optional<TimestampCount> count =
      format.type == ColumnType::date ? count_days(instant) : count_in_unit(instant, format.unit);
  using Domain = IntervalDomain<std::int64_t>;
  if (!count)  // beyond all that the column can hold
    return instant.seconds < 0 ? Limits<std::int64_t>{{}, Domain::kLowest}
                               : Limits<std::int64_t>{Domain::kHighest, {}};
  if (count->is_exact) return {count->value, count->value};
  if (count->value == Domain::kHighest) return {count->value, {}};
  return {count->value, count->value + 1};
}

}  // namespace

double number_of_instant(const std::string& text, const ColumnFormat& format) {
  const ParsedTimestamp instant = instant_of(text, format);
  const double seconds = static_cast<double>(instant.seconds) + instant.nanoseconds / 1e9;
  return format.type == ColumnType::date ? seconds / kSecondsOfDay : seconds;
}

std::optional<FilterColumn> find_filter_column(std::string_view name, const Snapshot& snapshot) {
  const auto attribute = std::ranges::find(snapshot.attributes, name, &Attribute::name);
  if (attribute != snapshot.attributes.end())
    return FilterColumn{FilterColumn::Kind::attribute,
                        static_cast<std::int32_t>(attribute - snapshot.attributes.begin())};
  const auto field = std::ranges::find(snapshot.fields, name, &Field::name);
  if (field != snapshot.fields.end())
    return FilterColumn{FilterColumn::Kind::field,
                        static_cast<std::int32_t>(field - snapshot.fields.begin())};
  if (name == kIdName || (!name.empty() && name == snapshot.id_name))
    return FilterColumn{FilterColumn::Kind::id, 0};
  return {};
}

FilterColumn filter_column(const Column& column, const Snapshot& snapshot) {
  if (!column.attribute()) return {FilterColumn::Kind::id, 0};
  const std::string* name = std::get_if<std::string>(&*column.attribute());
  if (name == nullptr) return {FilterColumn::Kind::attribute, position_of(*column.attribute(), snapshot)};
  const std::optional<FilterColumn> found = find_filter_column(*name, snapshot);
  if (!found) throw InvalidArgument(unknown_filter_column(*name, snapshot));
  if (const std::string fault = fault_of_column(*found, snapshot); !fault.empty())
    throw InvalidArgument(fault);
  return *found;
}

std::string unknown_filter_column(std::string_view name, const Snapshot& snapshot) {
  if (!name.empty() && name == snapshot.label_name)
    return quoted_name(name) + " holds the labels: answers show them, filters cannot test them";
  std::vector<std::string> known;
  for (const Attribute& attribute : snapshot.attributes) known.push_back(attribute.name);
  for (const Field& field : snapshot.fields)
    if (field.role == FieldRole::filter) known.push_back(field.name);
  const char* kind = snapshot.fields.empty() ? "attribute" : "column";
  return std::string("no ") + kind + " " + quoted_name(name) +
         known_columns(std::string(name), known, "; id is that of the row");
}

std::string fault_of_column(const FilterColumn& column, const Snapshot& snapshot) {
  if (column.kind != FilterColumn::Kind::field ||
      snapshot.fields[static_cast<std::size_t>(column.position)].role == FieldRole::filter)
    return {};
  return shown_column(column, snapshot) + " is a stored column: answers show it, filters cannot test it";
}

std::string fault_of_literal(const FilterColumn& column, const Literal& literal, const Snapshot& snapshot) {
  const double* number = std::get_if<double>(&literal);
  if (number != nullptr && std::isnan(*number)) return "a filter compares with NaN";
  const ColumnFormat& format = format_of(column, snapshot);
  const bool fits =
      is_number(literal) ? takes_number(format, literal) : takes_text(format, std::get<std::string>(literal));
  const bool is_text_id = column.kind == FilterColumn::Kind::id && format.type == ColumnType::text;
  if (fits) return is_text_id ? fault_of_text_id(std::get<std::string>(literal)) : std::string();
  if (const std::string* text = std::get_if<std::string>(&literal); text != nullptr && holds_times(format))
    return fault_of_instant(column, *text, snapshot);
  return type_clash(column, snapshot);
}

std::string type_clash(const FilterColumn& column, const Snapshot& snapshot) {
  const Spelling spelling = spelling_of(format_of(column, snapshot));
  return shown_column(column, snapshot) + " holds " + spelling.values + ": compare it with " +
         spelling.literal;
}

std::string_view literal_of(const FilterColumn& column, const Snapshot& snapshot) {
  return spelling_of(format_of(column, snapshot)).literal;
}

std::string fault_of_comparison(const FilterColumn& column, Comparison comparison, const Snapshot& snapshot) {
  const ColumnFormat& format = format_of(column, snapshot);
  if (comparison != Comparison::starts_with || format.type == ColumnType::text) return {};
  return shown_column(column, snapshot) + " holds " + spelling_of(format).values +
         ", and only texts have prefixes";
}

const ColumnFormat& format_of(const FilterColumn& column, const Snapshot& snapshot) {
  static const ColumnFormat id_format = {.type = ColumnType::integer},
                            text_id_format = {.type = ColumnType::text};
  const auto position = static_cast<std::size_t>(column.position);
  switch (column.kind) {
    case FilterColumn::Kind::attribute:
      return snapshot.attributes[position].format;
    case FilterColumn::Kind::field:
      return snapshot.fields[position].format;
    case FilterColumn::Kind::id:
      break;
  }
  return snapshot.id_type == IdType::text ? text_id_format : id_format;
}

template <>
Limits<std::int64_t> limits_of(const Literal& literal, const ColumnFormat& format) {
  return is_number(literal) ? limits_of_number<std::int64_t>(literal)
                            : limits_of_instant(std::get<std::string>(literal), format);
}

template <>
Limits<double> limits_of(const Literal& literal, const ColumnFormat& format) {
  if (is_number(literal)) return limits_of_number<double>(literal);
  const Limits<std::int64_t> whole = limits_of_instant(std::get<std::string>(literal), format);
  Limits<double> limits;
  if (whole.at_most) limits.at_most = IntervalDomain<double>::at_most(*whole.at_most);
  if (whole.at_least) limits.at_least = IntervalDomain<double>::at_least(*whole.at_least);
  return limits;
}

std::string shown_column(const FilterColumn& column, const Snapshot& snapshot) {
  const auto position = static_cast<std::size_t>(column.position);
  if (column.kind == FilterColumn::Kind::id) return std::string(kIdName);
  return quoted_name(column.kind == FilterColumn::Kind::attribute ? snapshot.attributes[position].name
                                                                  : snapshot.fields[position].name);
}

}  // namespace culmen
