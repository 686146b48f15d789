// Of a decimal number that std::from_chars finds out of range: whether it is too small for a float64, to which 0 is then
// the nearest one, or too large. std::from_chars does not tell.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace culmen {

// The value is below 1 if its first digit other than 0 is after the decimal point once the exponent has moved the point.
inline bool is_below_one(std::string_view text) {
  const std::size_t exponent_pos = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, exponent_pos);
  const std::size_t first_digit = mantissa.find_first_of("123456789");
  if (first_digit == std::string_view::npos) return true;
  if (exponent_pos == std::string_view::npos) return mantissa.find('.') < first_digit;
  const std::string_view exponent = text.substr(exponent_pos + 1);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const auto distance = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first_digit);
  std::int64_t shift = 0;
  const std::string_view digits =
      exponent.substr(exponent.empty() || (exponent[0] >= '0' && exponent[0] <= '9') ? 0 : 1);
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), shift);
  const bool negative = !exponent.empty() && exponent[0] == '-';
  if (parsed.ec == std::errc::result_out_of_range) return negative;
  return distance + (negative ? -shift : shift) <= 0;
}

}  // namespace culmen
