// Helpers for text from files: trimming, UTF-8, and excerpts that are safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace culmen::io {

std::string_view trim_blanks(std::string_view text);  // blanks: space and tab

// The length of the well-formed UTF-8 sequence at the front of `text`, 1 to 4 bytes; 0 if there is none (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_sequence_bytes(std::string_view text);

// Position of the first byte that is not UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

// `text` in double quotes for an error message: shortened, with control and broken bytes as \xNN.
std::string quote_excerpt(std::string_view text);

// "a", "b", "c": names for an error message, at most the first 20.
std::string quote_list(const auto& names) {
  constexpr std::size_t kMaxShown = 20;
  std::string list;
  std::size_t num_shown = 0;
  for (const auto& name : names) {
    if (num_shown == kMaxShown) return list + ", ...";
    if (num_shown++ > 0) list += ", ";
    list += quote_excerpt(name);
  }
  return list;
}

}  // namespace culmen::io
