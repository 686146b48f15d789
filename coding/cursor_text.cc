#include "coding/cursor_text.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <system_error>

#include "base/number_text.h"
#include "culmen/error.h"

namespace culmen {
namespace {

// All of the text is a number.
bool read_all(std::string_view text, double& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

bool set_id(std::string_view text, IdType type, Cursor& cursor) {
  if (type == IdType::text) {
    cursor.text = text;
    return true;
  }
  const std::optional<std::int64_t> id = parse_id(text, type);
  cursor.id = id.value_or(0);
  return id.has_value();
}

}  // namespace

std::string cursor_text(const SearchResult& result) {
  const std::size_t last = result.hits.size() - 1;
  return number_text(result.hits[last].score) + ',' + result.id_text(last);
}

Cursor parse_cursor(std::string_view text, std::string_view what, IdType type) {
  Cursor cursor;
  const std::size_t comma = text.find(',');  // ids that are texts may have some, too
  const bool has_id = comma != std::string_view::npos && set_id(text.substr(comma + 1), type, cursor);
  if (!has_id || !read_all(text.substr(0, comma), cursor.score) || !std::isfinite(cursor.score))
    throw InvalidArgument(std::string(what) + ": expected SCORE,ID of the last row before, found \"" +
                          std::string(text) + '"');
  return cursor;
}

}  // namespace culmen
