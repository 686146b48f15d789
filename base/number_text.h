// Writes numbers as the shortest text that parses to the same number: for files, filters and messages. Numbers of usual
// size have no exponent, 100000 and 0.00001; std::to_chars alone would write 1e+05, and std::to_string 1e300 with 301
// digits.
#pragma once

#include <array>
#include <charconv>
#include <cmath>
#include <string>

namespace culmen {

inline constexpr std::size_t kMaxNumberText = 32;  // the longest text has 25 bytes

// Returns the end of the text, which is no longer than kMaxNumberText.
inline char* write_number(double value, char* out) {
  constexpr double kLeastPlain = 1e-5, kMostPlain = 1e15, kMaxExactInteger = 0x1p53;
  const double size = std::fabs(value);
  const bool is_plain =
      (size >= kLeastPlain && size <= kMostPlain) || (size <= kMaxExactInteger && value == std::trunc(value));
  char* const end = out + kMaxNumberText;
  return is_plain ? std::to_chars(out, end, value, std::chars_format::fixed).ptr
                  : std::to_chars(out, end, value).ptr;
}

inline std::string number_text(double value) {
  std::array<char, kMaxNumberText> text{};
  return {text.data(), write_number(value, text.data())};
}

}  // namespace culmen
