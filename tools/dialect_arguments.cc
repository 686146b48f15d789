#include "tools/dialect_options.h"

#include <array>
#include <string_view>
#include <utility>

#include "culmen/error.h"
#include "tools/item_list.h"

namespace culmen::tools {
namespace {

using Names = std::array<std::pair<std::string_view, char>, 8>;
constexpr Names kMarks = {{{"comma", ','},
                           {"semicolon", ';'},
                           {"tab", '\t'},
                           {"bar", '|'},
                           {"point", '.'},
                           {"apostrophe", '\''},
                           {"blank", ' '},
                           {"none", '\0'}}};

// A name, the character itself, or \t.
std::optional<char> parse_mark(const std::string& option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  for (const auto& [name, mark] : kMarks)
    if (text == name) return mark;
  if (text == "\\t") return '\t';
  if (text.size() == 1) return text[0];
  throw InvalidArgument(option + ": expected one character or its name (comma, semicolon, tab, bar, point, " +
                        "apostrophe, blank, none), found '" + text + "'");
}

std::string_view name_of(char mark) {
  for (const auto& [name, known] : kMarks)
    if (known == mark) return name;
  return "none";
}

}  // namespace

CsvDialect parse_dialect(const DialectArguments& arguments) {
  CsvDialect dialect;
  dialect.delimiter = parse_mark("--delimiter", arguments.delimiter);
  dialect.decimal = parse_mark("--decimal", arguments.decimal);
  dialect.thousands = parse_mark("--thousands", arguments.thousands);
  if (arguments.null_words) dialect.null_words = split_names(*arguments.null_words);
  if (!arguments.dates.empty())
    dialect.dates = arguments.dates == "day-first" ? DateOrder::day_first : DateOrder::month_first;
  if (!arguments.header.empty()) dialect.has_header = arguments.header == "yes";
  return dialect;
}

std::string dialect_options(const CsvDialect& dialect) {
  std::string text;
  const auto add = [&](std::string_view option, const std::optional<char>& mark, char usual) {
    if (mark && *mark != usual) text.append(" ").append(option).append(" ").append(name_of(*mark));
  };
  add("--delimiter", dialect.delimiter, ',');
  add("--decimal", dialect.decimal, '.');
  add("--thousands", dialect.thousands, '\0');
  if (dialect.dates)
    text += *dialect.dates == DateOrder::day_first ? " --dates day-first" : " --dates month-first";
  if (dialect.has_header && !*dialect.has_header) text += " --header no";
  return text;
}

}  // namespace culmen::tools
