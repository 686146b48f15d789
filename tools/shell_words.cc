#include "tools/shell_words.h"

#include "culmen/error.h"

namespace culmen::tools {

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\r';
    if (quote == '\0' && is_blank) {
      in_word = false;
      continue;
    }
    if (!in_word && c == '#') break;
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') throw InvalidArgument(std::string("the quote ") + quote + " is not closed");
  return words;
}

}  // namespace culmen::tools
