// The words of the filter language that its parser and its writer share.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "base/quoted.h"
#include "culmen/filter.h"

namespace culmen {

inline constexpr std::array<std::string_view, 10> kFilterKeywords = {
    "and", "between", "false", "in", "is", "like", "not", "null", "or", "true"};

// What stands for other characters in the patterns of `like`.
inline constexpr std::string_view kPatternWildcards = "%_";

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
  return in_quotes(name);
}
inline std::string quoted_text(std::string_view text) {
  return in_quotes(text, '\'');
}

// As filters and score terms write them.
std::string literal_text(const Literal& literal);
std::string column_text(const Column& column);

}  // namespace culmen
