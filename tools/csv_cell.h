// Cells of CSV, as in RFC 4180.
#pragma once

#include <string>
#include <string_view>

#include "base/quoted.h"
#include "table/text.h"

namespace culmen::tools {

// Readers trim blanks around names that are not in quotes.
inline std::string quoted_if_needed(std::string_view text) {
  const bool is_trimmed = io::trim_blanks(text).size() == text.size();
  if (is_trimmed && text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  return in_quotes(text);
}

// Of a text that is there: an empty one is two quotes, since an empty cell is a missing value.
inline std::string text_cell(std::string_view text) {
  return text.empty() ? "\"\"" : quoted_if_needed(text);
}

}  // namespace culmen::tools
