// Parses a CSV cell as a number, or says why it is none.
#pragma once

#include <cstdint>
#include <string_view>

namespace culmen::io {

enum class NumberKind : std::uint8_t {
  finite,
  empty,            // nothing, or only blanks
  nan,              // in any case
  infinite,         // inf, infinity in any case
  not_a_number,     // text
  out_of_range,     // beyond the largest float64
  inexact_integer,  // written as an integer that float64 does not hold exactly
};

struct ParsedNumber {
  NumberKind kind = NumberKind::not_a_number;
  double value = 0;  // when finite; never -0
};

// Parses decimal text to the nearest float64, whatever the locale. Blanks around it and a leading + are allowed. A
// literal too small for a denormal is zero. Hexadecimal literals and digit separators are refused.
ParsedNumber parse_number(std::string_view text);

// The fast path: parses the number at the front of [begin, end), up to a delimiter or a line end, and returns its end.
// Returns nullptr if it cannot tell: parse_number then parses the cell, accepts more, leading zeros among them, and
// reports errors. What both accept has the same value. Sets has_fraction if the text is not one of an integer, and leaves it alone otherwise.
// `decimal`: the mark before a fraction.
const char* parse_leading_number(const char* begin, const char* end, double& value, bool& has_fraction,
                                 char decimal = '.');

// True for text that is written as an integer: digits, possibly behind a sign.
bool is_integer_literal(std::string_view text);

// True for text whose first digit is a zero that another digit follows, as in zip codes. A number would lose it.
bool has_leading_zero(std::string_view text);

struct ParsedInteger {
  NumberKind kind = NumberKind::not_a_number;  // finite, empty, not_a_number or out_of_range
  std::int64_t value = 0;
};

struct ParsedUnsigned {
  NumberKind kind = NumberKind::not_a_number;  // as ParsedInteger's; a negative integer is out_of_range
  std::uint64_t value = 0;
};

// Parse a decimal int64 or uint64. "7.0" and "1e3" are refused.
ParsedInteger parse_integer(std::string_view text);
ParsedUnsigned parse_unsigned(std::string_view text);

}  // namespace culmen::io
