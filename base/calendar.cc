#include "base/calendar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

namespace culmen {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kFirstDay = -719'162;  // 0001-01-01
constexpr std::int64_t kLastDay = 2'932'896;  // 9999-12-31

constexpr std::int64_t ticks_per_second(TimeUnit unit) {
  switch (unit) {
    case TimeUnit::second:
      return 1;
    case TimeUnit::millisecond:
      return 1'000;
    case TimeUnit::microsecond:
      return 1'000'000;
    case TimeUnit::nanosecond:
      break;
  }
  return 1'000'000'000;
}

// Takes the parts of a text from its front.
class TimeText {
 public:
  explicit TimeText(std::string_view text) : rest_(text) {}

  bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // Takes exactly this many digits; -1 if there are fewer.
  int take_digits(std::size_t num_digits) {
    if (rest_.size() < num_digits) return -1;
    int value = 0;
    for (const char c : rest_.substr(0, num_digits)) {
      if (c < '0' || c > '9') return -1;
      value = 10 * value + (c - '0');
    }
    rest_.remove_prefix(num_digits);
    return value;
  }

  int take_number(std::size_t num_digits, int most) {
    const int value = take_digits(num_digits);
    return value <= most ? value : -1;
  }

  std::size_t count_digits() const { return std::min(rest_.find_first_not_of("0123456789"), rest_.size()); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

std::optional<std::int64_t> take_date(TimeText& text) {
  const int year = text.take_digits(4);
  if (year < 1 || !text.take('-')) return std::nullopt;
  const int month = text.take_digits(2);
  if (month < 1 || !text.take('-')) return std::nullopt;
  const int day = text.take_digits(2);
  if (day < 1) return std::nullopt;
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date).time_since_epoch().count();
}

// The seconds, and their fraction, behind HH:MM. Returns false if they are wrong.
bool take_seconds(TimeText& text, ParsedTimestamp& timestamp) {
  if (!text.take(':')) return true;
  const int seconds = text.take_number(2, 59);
  if (seconds < 0) return false;
  timestamp.seconds += seconds;
  if (!text.take('.')) return true;
  const std::size_t num_digits = text.count_digits();
  if (num_digits < 1 || num_digits > 9) return false;
  auto fraction = static_cast<std::uint32_t>(text.take_digits(num_digits));
  for (std::size_t digit = num_digits; digit < 9; ++digit) fraction *= 10;
  timestamp.nanoseconds = fraction;
  timestamp.num_fraction_digits = static_cast<int>(num_digits);
  return true;
}

// The zone, if there is one. Returns false if it is wrong.
bool take_zone(TimeText& text, ParsedTimestamp& timestamp) {
  if (text.at_end()) return true;
  timestamp.has_zone = true;
  if (text.take('Z')) return text.at_end();
  const bool is_west = text.take('-');
  if (!is_west && !text.take('+')) return false;
  const int hours = text.take_number(2, 23);
  int minutes = 0;
  if (!text.at_end()) {
    text.take(':');
    minutes = text.take_number(2, 59);
  }
  if (hours < 0 || minutes < 0 || !text.at_end()) return false;
  timestamp.offset_minutes = (is_west ? -1 : 1) * (60 * hours + minutes);
  timestamp.seconds -= std::int64_t{60} * timestamp.offset_minutes;
  return true;
}

// Rounds down, with a divisor above 0.
constexpr std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

void append_digits(std::uint64_t value, std::size_t num_digits, std::string& text) {
  text.append(num_digits, '0');
  for (std::size_t at = text.size(); num_digits > 0; --num_digits, value /= 10)
    text[--at] = static_cast<char>('0' + value % 10);
}

void append_number(std::int64_t value, std::string& text) {
  std::array<char, 24> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

bool is_in_calendar(std::int64_t days) {
  return days >= kFirstDay && days <= kLastDay;
}

void append_fraction(std::uint64_t nanoseconds, std::string& text) {
  if (nanoseconds == 0) return;
  text.push_back('.');
  if (nanoseconds % 1'000'000 == 0) return append_digits(nanoseconds / 1'000'000, 3, text);
  if (nanoseconds % 1'000 == 0) return append_digits(nanoseconds / 1'000, 6, text);
  append_digits(nanoseconds, 9, text);
}

// The offset that a zone's name spells out; 0 for other names.
int offset_of_zone(std::string_view zone) {
  ParsedTimestamp timestamp;
  TimeText text(zone);
  return take_zone(text, timestamp) ? timestamp.offset_minutes : 0;
}

void append_offset(int minutes, std::string& text) {
  const auto size = static_cast<std::uint64_t>(minutes < 0 ? -minutes : minutes);
  text.push_back(minutes < 0 ? '-' : '+');
  append_digits(size / 60, 2, text);
  text.push_back(':');
  append_digits(size % 60, 2, text);
}

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text) {
  TimeText rest(text);
  const std::optional<std::int64_t> days = take_date(rest);
  return rest.at_end() ? days : std::nullopt;
}

bool begins_with_no_day(std::string_view text) {
  TimeText digits(text), date(text);
  const bool is_spelled = digits.take_digits(4) >= 0 && digits.take('-') && digits.take_digits(2) >= 0 &&
                          digits.take('-') && digits.take_digits(2) >= 0;
  return is_spelled && !take_date(date);
}

std::optional<ParsedTimestamp> parse_timestamp(std::string_view text) {
  TimeText rest(text);
  const std::optional<std::int64_t> days = take_date(rest);
  if (!days || !(rest.take('T') || rest.take(' '))) return std::nullopt;
  const int hours = rest.take_number(2, 23);
  if (hours < 0 || !rest.take(':')) return std::nullopt;
  const int minutes = rest.take_number(2, 59);
  if (minutes < 0) return std::nullopt;
  ParsedTimestamp timestamp;
  timestamp.seconds = *days * kSecondsPerDay + (std::int64_t{60} * hours + minutes) * 60;
  if (!take_seconds(rest, timestamp) || !take_zone(rest, timestamp)) return std::nullopt;
  return timestamp;
}

std::optional<TimestampCount> count_in_unit(const ParsedTimestamp& timestamp, TimeUnit unit) {
  const std::int64_t ticks = ticks_per_second(unit);
  const std::int64_t tick_nanoseconds = ticks_per_second(TimeUnit::nanosecond) / ticks;
  std::int64_t value = 0;
  // Before 1970 the fraction is first taken back, so that the product overflows only if the sum does.
  const bool carries = timestamp.seconds < 0;
  if (__builtin_mul_overflow(timestamp.seconds + (carries ? 1 : 0), ticks, &value)) return std::nullopt;
  const std::int64_t fraction = timestamp.nanoseconds / tick_nanoseconds - (carries ? ticks : 0);
  if (__builtin_add_overflow(value, fraction, &value)) return std::nullopt;
  return TimestampCount{value, timestamp.nanoseconds % tick_nanoseconds == 0};
}

TimeUnit unit_of_digits(int num_fraction_digits) {
  if (num_fraction_digits <= 0) return TimeUnit::second;
  if (num_fraction_digits <= 3) return TimeUnit::millisecond;
  return num_fraction_digits <= 6 ? TimeUnit::microsecond : TimeUnit::nanosecond;
}

std::string zone_name(int offset_minutes) {
  if (offset_minutes == 0) return "UTC";
  std::string name;
  append_offset(offset_minutes, name);
  return name;
}

void append_date(std::int64_t days, std::string& text) {
  if (!is_in_calendar(days)) return append_number(days, text);
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  append_digits(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4, text);
  text.push_back('-');
  append_digits(static_cast<unsigned>(date.month()), 2, text);
  text.push_back('-');
  append_digits(static_cast<unsigned>(date.day()), 2, text);
}

void append_timestamp(std::int64_t value, const ColumnFormat& format, std::string& text, char separator) {
  const std::int64_t ticks = ticks_per_second(format.unit);
  const int offset = offset_of_zone(format.time_zone);
  const std::int64_t whole_seconds = floor_divide(value, ticks);
  if (!is_in_calendar(floor_divide(whole_seconds, kSecondsPerDay))) return append_number(value, text);
  const std::int64_t seconds = whole_seconds + std::int64_t{60} * offset;
  const std::int64_t days = floor_divide(seconds, kSecondsPerDay);
  if (!is_in_calendar(days)) return append_number(value, text);
  append_date(days, text);
  text.push_back(separator);
  const auto of_day = static_cast<std::uint64_t>(seconds - days * kSecondsPerDay);
  append_digits(of_day / 3600, 2, text);
  text.push_back(':');
  append_digits(of_day / 60 % 60, 2, text);
  text.push_back(':');
  append_digits(of_day % 60, 2, text);
  // Unsigned: the first second of all begins before the smallest value.
  const auto rest = static_cast<std::uint64_t>(value) -
                    static_cast<std::uint64_t>(whole_seconds) * static_cast<std::uint64_t>(ticks);
  append_fraction(rest * static_cast<std::uint64_t>(ticks_per_second(TimeUnit::nanosecond) / ticks), text);
  if (format.time_zone.empty()) return;
  if (offset == 0) {
    text.push_back('Z');
  } else {
    append_offset(offset, text);
  }
}

}  // namespace culmen
