// Helpers for text from files: trimming, and lists of excerpts that are safe to print.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/excerpt.h"

namespace culmen::io {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // of UTF-8

std::string_view trim_blanks(std::string_view text);  // blanks: space and tab

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
