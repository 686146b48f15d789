#include "coding/cursor_text.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/excerpt.h"
#include "base/number_text.h"
#include "base/quoted.h"
#include "culmen/error.h"

namespace culmen {
namespace {

// All of the text is a number.
bool read_all(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

// As it was given, but in quotes, as in CSV, if it begins with a quote or is empty.
std::string named_text(const std::string& text) {
  return text.empty() || text.starts_with('"') ? in_quotes(text) : text;
}

std::optional<std::string> read_named_text(std::string_view named) {
  if (named.empty()) return std::nullopt;                  // the rest may be a variable that is not set
  if (!named.starts_with('"')) return std::string(named);  // with all commas
  named.remove_prefix(1);
  std::optional<std::string> text = take_quoted(named);
  return named.empty() ? text : std::nullopt;
}

bool set_id(std::string_view named, IdType type, Cursor& cursor) {
  if (type == IdType::text) {
    cursor.text = read_named_text(named);
    return cursor.text.has_value();
  }
  const std::optional<std::int64_t> id = parse_id(named, type);
  cursor.id = id.value_or(0);
  return id.has_value();
}

}  // namespace

std::string cursor_text(const SearchResult& result) {
  const std::size_t last = result.hits.size() - 1;
  return number_text(result.hits[last].score) + ',' + named_text(result.id_text(last));
}

Cursor parse_cursor(std::string_view text, std::string_view what, IdType type) {
  Cursor cursor;
  const std::size_t comma = text.find(',');
  const bool has_id = comma != std::string_view::npos && set_id(text.substr(comma + 1), type, cursor);
  if (has_id && read_all(text.substr(0, comma), cursor.score) && std::isfinite(cursor.score)) return cursor;
  const std::string_view hint =
      type == IdType::text ? "; an id that is an empty text, or begins with a quote, is in quotes, as in CSV"
                           : "";
  throw InvalidArgument(fmt::format("{}: expected SCORE,ID of the last row before, found {}{}", what,
                                    quote_excerpt(text), hint));
}

}  // namespace culmen
