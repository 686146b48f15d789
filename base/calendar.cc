#include "base/calendar.h"

#include <algorithm>
#include <array>

namespace culmen {
namespace {

constexpr std::int64_t kSecondsPerDay = 86'400;
constexpr std::int64_t kDaysPerEra = 146'097;   // 400 years, after which the calendar repeats
constexpr std::int64_t kEpochOfEras = 719'468;  // days from 0000-03-01 to 1970-01-01

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

// Rounds down, with a divisor above 0.
constexpr std::int64_t floor_divide(std::int64_t value, std::int64_t divisor) {
  return value / divisor - (value % divisor < 0 ? 1 : 0);
}

// What is left above floor_divide(), which times the divisor may be beyond int64.
constexpr std::int64_t floor_modulo(std::int64_t value, std::int64_t divisor) {
  const std::int64_t rest = value % divisor;
  return rest < 0 ? rest + divisor : rest;
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
  std::int64_t take_digits(std::size_t num_digits) {
    if (rest_.size() < num_digits) return -1;
    std::int64_t value = 0;
    for (const char c : rest_.substr(0, num_digits)) {
      if (c < '0' || c > '9') return -1;
      value = 10 * value + (c - '0');
    }
    rest_.remove_prefix(num_digits);
    return value;
  }

  int take_number(std::size_t num_digits, int most) {
    const std::int64_t value = take_digits(num_digits);
    return value <= most ? static_cast<int>(value) : -1;
  }

  std::size_t count_digits() const { return std::min(rest_.find_first_not_of("0123456789"), rest_.size()); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

struct Day {
  std::int64_t year;
  unsigned month, day;
};

bool is_leap_year(std::int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

bool exists(const Day& date) {
  constexpr std::array<unsigned, 12> kDaysOfMonth = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (date.month < 1 || date.month > 12 || date.day < 1) return false;
  return date.day <= kDaysOfMonth[date.month - 1] + (date.month == 2 && is_leap_year(date.year) ? 1 : 0);
}

// Of years that begin in March, so that a leap day is the last one. (std::chrono's years end with 32767.)
std::int64_t days_of(const Day& date) {
  const std::int64_t year = date.year - (date.month <= 2 ? 1 : 0);
  const std::int64_t era = floor_divide(year, 400);
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * ((date.month + 9) % 12) + 2) / 5 + date.day - 1;
  return era * kDaysPerEra + of_era * 365 + of_era / 4 - of_era / 100 + of_year - kEpochOfEras;
}

Day day_of(std::int64_t days) {
  const std::int64_t shifted = floor_modulo(days, kDaysPerEra) + kEpochOfEras;
  const std::int64_t era = floor_divide(days, kDaysPerEra) + shifted / kDaysPerEra;
  const std::int64_t of_era = shifted % kDaysPerEra;
  const std::int64_t year = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
  const std::int64_t month = (5 * of_year + 2) / 153;  // from March
  return {era * 400 + year + (month >= 10 ? 1 : 0), static_cast<unsigned>(month < 10 ? month + 3 : month - 9),
          static_cast<unsigned>(of_year - (153 * month + 2) / 5 + 1)};
}

std::optional<std::int64_t> take_year(TimeText& text) {
  const bool is_negative = text.take('-');
  if (!is_negative && !text.take('+')) {
    const std::int64_t year = text.take_digits(4);
    return year < 1 ? std::nullopt : std::optional<std::int64_t>(year);
  }
  constexpr std::size_t kMostDigits = 12;  // of the years of int64 seconds
  const std::size_t num_digits = text.count_digits();
  if (num_digits < 4 || num_digits > kMostDigits) return std::nullopt;
  const std::int64_t year = text.take_digits(num_digits);
  if (is_negative && year == 0) return std::nullopt;
  return is_negative ? -year : year;
}

std::optional<std::int64_t> take_date(TimeText& text) {
  const std::optional<std::int64_t> year = take_year(text);
  if (!year || !text.take('-')) return std::nullopt;
  const std::int64_t month = text.take_digits(2);
  if (month < 1 || !text.take('-')) return std::nullopt;
  const std::int64_t day = text.take_digits(2);
  if (day < 1) return std::nullopt;
  const Day date = {*year, static_cast<unsigned>(month), static_cast<unsigned>(day)};
  return exists(date) ? std::optional(days_of(date)) : std::nullopt;
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

// Returns false if int64 does not hold the sum. `seconds` may be those of a day before or after.
bool add_days(std::int64_t days, std::int64_t& seconds) {
  days += floor_divide(seconds, kSecondsPerDay);
  std::int64_t of_day = floor_modulo(seconds, kSecondsPerDay);
  // Before 1970 the time of day is first taken back, so that the product overflows only if the sum does.
  if (days < 0) {
    ++days;
    of_day -= kSecondsPerDay;
  }
  return !__builtin_mul_overflow(days, kSecondsPerDay, &seconds) &&
         !__builtin_add_overflow(seconds, of_day, &seconds);
}

void append_digits(std::uint64_t value, std::size_t num_digits, std::string& text) {
  text.append(num_digits, '0');
  for (std::size_t at = text.size(); num_digits > 0; --num_digits, value /= 10)
    text[--at] = static_cast<char>('0' + value % 10);
}

void append_year(std::int64_t year, std::string& text) {
  constexpr std::int64_t kFirstYear = 1, kLastYear = 9999;
  if (year < kFirstYear || year > kLastYear) text.push_back(year < 0 ? '-' : '+');
  const auto size = static_cast<std::uint64_t>(year < 0 ? -year : year);
  std::size_t num_digits = 4;
  for (std::uint64_t end = 10'000; size >= end; end *= 10) ++num_digits;
  append_digits(size, num_digits, text);
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
  return days && is_day(*days) && rest.at_end() ? days : std::nullopt;
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
  timestamp.seconds = (std::int64_t{60} * hours + minutes) * 60;
  if (!take_seconds(rest, timestamp) || !take_zone(rest, timestamp)) return std::nullopt;
  return add_days(*days, timestamp.seconds) ? std::optional(timestamp) : std::nullopt;
}

std::optional<TimestampCount> count_in_unit(const ParsedTimestamp& timestamp, TimeUnit unit) {
  const std::int64_t ticks = ticks_per_second(unit);
  const std::int64_t tick_nanoseconds = ticks_per_second(TimeUnit::nanosecond) / ticks;
  std::int64_t value = 0;
  // Before 1970 the fraction is first taken back, so that the product overflows only if the sum does.
  const bool carries = timestamp.seconds < 0;
  if (__builtin_mul_overflow(timestamp.seconds + (carries ? 1 : 0), ticks, &value)) return std::nullopt;
  const std::int64_t fraction = timestamp.nanoseconds / tick_nanoseconds - (carries ? ticks : 0);
  if (__builtin_add_overflow(value, fraction, &value) || !is_moment(value)) return std::nullopt;
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
  const Day date = day_of(days);
  append_year(date.year, text);
  text.push_back('-');
  append_digits(date.month, 2, text);
  text.push_back('-');
  append_digits(date.day, 2, text);
}

void append_timestamp(std::int64_t value, const ColumnFormat& format, std::string& text, char separator) {
  const std::int64_t ticks = ticks_per_second(format.unit);
  const int offset = offset_of_zone(format.time_zone);
  const std::int64_t whole_seconds = floor_divide(value, ticks);
  const std::int64_t shifted = floor_modulo(whole_seconds, kSecondsPerDay) + std::int64_t{60} * offset;
  const std::int64_t day_shift = floor_divide(shifted, kSecondsPerDay);
  append_date(floor_divide(whole_seconds, kSecondsPerDay) + day_shift, text);
  text.push_back(separator);
  const auto of_day = static_cast<std::uint64_t>(floor_modulo(shifted, kSecondsPerDay));
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
