// One CSV cell to a number, with the reason when it cannot be.
#pragma once

#include <cstdint>
#include <string_view>

namespace culmen::io {

// The largest magnitude up to which float64 holds every integer.
inline constexpr std::int64_t kMaxExactInteger = std::int64_t{1} << 53;

enum class NumberKind : std::uint8_t {
  finite,
  empty,            // nothing, or blanks alone
  not_finite,       // nan, inf, infinity in any case
  not_a_number,     // text
  out_of_range,     // beyond the largest float64
  inexact_integer,  // written as an integer and beyond 2^53
};

struct ParsedNumber {
  NumberKind kind = NumberKind::not_a_number;
  double value = 0;  // when finite; never -0
};

// Decimal text to the nearest float64, whatever the locale. Blanks around it and a leading + are allowed. A
// literal too small for a denormal is the nearest value too: zero. Hexadecimal and digit separators are not
// numbers.
ParsedNumber parse_number(std::string_view text);

// The fast way for the common case: reads the number at the front of [begin, end), where a delimiter or a
// line end stops it, and returns its end. nullptr: cut out the cell and ask parse_number, which takes more
// kinds of text and knows what is wrong. What it does accept has the same value.
const char* parse_leading_number(const char* begin, const char* end, double& value);

struct ParsedInteger {
  NumberKind kind = NumberKind::not_a_number;  // finite, empty, not_a_number or out_of_range
  std::int64_t value = 0;
};

// Decimal int64, never by way of a float: "7.0" and "1e3" are refused.
ParsedInteger parse_integer(std::string_view text);

}  // namespace culmen::io
