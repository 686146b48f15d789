// Flags of the benchmarks, written --name=value: whole numbers, words, and lists of either with commas.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace culmen::bench {

inline bool parse_value(std::string_view text, std::integral auto& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

inline bool parse_value(std::string_view text, std::string& value) {
  value = text;
  return !text.empty();
}

template <typename T>
bool parse_value(std::string_view text, std::vector<T>& values) {
  values.clear();
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!parse_value(text.substr(0, comma), values.emplace_back())) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

// Returns whether `argument` is the flag `name`, which ends in =, and sets `value`. An invalid value ends the program.
inline bool take_flag(std::string_view argument, std::string_view name, auto& value) {
  if (!argument.starts_with(name)) return false;
  if (parse_value(argument.substr(name.size()), value)) return true;
  std::cerr << "cannot read " << argument << '\n';
  std::exit(2);
}

}  // namespace culmen::bench
