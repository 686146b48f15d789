// Formats a number for a message: the shortest text that parses to the same number. std::to_string would print 1e300
// with 301 digits, and 1e-30 as 0.000000.
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace culmen {

inline std::string number_text(double value) {
  std::array<char, 32> text{};  // the longest text has 24
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace culmen
