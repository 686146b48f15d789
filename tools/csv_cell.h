// Cells of CSV, as in RFC 4180.
#pragma once

#include <string>
#include <string_view>

namespace culmen::tools {

inline std::string quoted_if_needed(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace culmen::tools
