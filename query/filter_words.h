// The words of the filter language that its parser and its writer share.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

namespace culmen {

inline constexpr std::array<std::string_view, 7> kFilterKeywords = {"and", "between", "in", "is",
                                                                    "not", "null",    "or"};

inline bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || (c & 0x80) != 0;
}

inline bool are_same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

// Whether a column's name can be written without quotes.
inline bool is_plain_name(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, is_name_character) && name[0] != '.' &&
         std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::ranges::none_of(kFilterKeywords,
                              [&](std::string_view word) { return are_same_word(name, word); });
}

inline std::string quoted_name(std::string_view name) {
  std::string quoted = "\"";
  for (const char c : name) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace culmen
