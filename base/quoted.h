// Texts in quotes, in which quotes are doubled, as in CSV, SQL and lists of names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace culmen {

inline std::string in_quotes(std::string_view text, char quote = '"') {
  std::string result(1, quote);
  for (const char c : text) result.append(c == quote ? 2 : 1, c);
  return result + quote;
}

// The text after an opening double quote. `rest` loses it and the quote that closes it. nullopt: it is not closed.
std::optional<std::string> take_quoted(std::string_view& rest);

}  // namespace culmen
