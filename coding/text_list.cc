#include "coding/text_list.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/excerpt.h"
#include "base/quoted.h"
#include "culmen/error.h"
#include "table/text.h"

namespace culmen {
namespace {

// The text up to the next comma, which may follow one in quotes. `rest` loses it, and not the comma.
std::string take_text(std::string_view& rest, std::string_view what) {
  rest = io::trim_blanks(rest);
  std::optional<std::string> text;
  if (rest.starts_with('"')) {
    rest.remove_prefix(1);
    text = take_quoted(rest);
    if (!text) throw InvalidArgument(fmt::format("{}: {}", what, kNotClosed));
  }
  const std::size_t comma = std::min(rest.find(','), rest.size());
  const std::string_view unquoted = io::trim_blanks(rest.substr(0, comma));
  rest.remove_prefix(comma);
  if (!text && unquoted.empty())  // such as a variable of the shell that is not set
    throw InvalidArgument(fmt::format("{}: expected an id; an empty text is \"\" in quotes", what));
  if (text && !unquoted.empty())
    throw InvalidArgument(fmt::format("{}: expected a comma after {}", what, quote_excerpt(*text)));
  return text ? *std::move(text) : std::string(unquoted);
}

}  // namespace

std::vector<std::string> split_texts(std::string_view list, std::string_view what) {
  std::vector<std::string> texts = {take_text(list, what)};
  while (!list.empty()) {
    list.remove_prefix(1);
    texts.push_back(take_text(list, what));
  }
  return texts;
}

}  // namespace culmen
