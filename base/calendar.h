// Dates and timestamps as text: the proleptic Gregorian calendar. A year has four digits, 0001 to 9999. Others have a sign
// and four digits or more, as ISO 8601 expands them: +12345, -0044; +0000 is the year before 0001.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "culmen/schema.h"

namespace culmen {

// Days are what int32 holds, as in Arrow's date32: the years -5877641 to 5881580.
inline bool is_day(std::int64_t days) {
  return days >= std::numeric_limits<std::int32_t>::min() && days <= std::numeric_limits<std::int32_t>::max();
}

// Timestamps are what int64 holds but the least one, which is NumPy's NaT and so would be read as a missing value.
inline bool is_moment(std::int64_t value) {
  return value > std::numeric_limits<std::int64_t>::min();
}

// Parses YYYY-MM-DD as days since 1970-01-01. Returns nullopt for any other text, for days that do not exist, and beyond
// is_day().
std::optional<std::int64_t> parse_date(std::string_view text);

// Whether the text begins with a day, as YYYY-MM-DD, that does not exist.
bool begins_with_no_day(std::string_view text);

struct ParsedTimestamp {
  std::int64_t seconds = 0;       // since 1970-01-01T00:00:00, in UTC if there is a zone; rounded down
  std::uint32_t nanoseconds = 0;  // 0 to 999'999'999, added to the seconds
  int num_fraction_digits = 0;    // as written, 0 to 9
  bool has_zone = false;
  int offset_minutes = 0;  // of the zone, east of UTC
};

// Parses YYYY-MM-DD, T or a blank, HH:MM[:SS[.fraction]], and possibly a zone: Z, +HH, +HH:MM or +HHMM (or with -).
// A fraction has 1 to 9 digits. Returns nullopt for any other text, for times that do not exist, and where int64 does not
// hold the seconds.
std::optional<ParsedTimestamp> parse_timestamp(std::string_view text);

// A timestamp counted in a unit, rounded down.
struct TimestampCount {
  std::int64_t value = 0;
  bool is_exact = true;  // nothing was cut off
};

// Returns nullopt beyond is_moment(): nanoseconds reach from 1677 to 2262.
std::optional<TimestampCount> count_in_unit(const ParsedTimestamp& timestamp, TimeUnit unit);

// The coarsest unit that holds this many digits of a second's fraction.
TimeUnit unit_of_digits(int num_fraction_digits);

// "+02:00"; "UTC" for 0.
std::string zone_name(int offset_minutes);

// Appends a date as YYYY-MM-DD.
void append_date(std::int64_t days, std::string& text);

// Appends a timestamp in the format's unit as "YYYY-MM-DD HH:MM:SS", with the 3, 6 or 9 digits of the fraction that are
// not all zero. With an offset as time zone, it is the time there, and the offset follows; with another zone the time
// in UTC, and Z.
void append_timestamp(std::int64_t value, const ColumnFormat& format, std::string& text,
                      char separator = ' ');

}  // namespace culmen
