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

}  // namespace

std::string cursor_text(const Hit& hit, IdType type) {
  return number_text(hit.score) + ',' + id_text(hit.id, type);
}

Cursor parse_cursor(std::string_view text, std::string_view what, IdType type) {
  Cursor cursor;
  const std::size_t comma = text.rfind(',');
  const std::optional<std::int64_t> id =
      comma == std::string_view::npos ? std::nullopt : parse_id(text.substr(comma + 1), type);
  if (!id || !read_all(text.substr(0, comma), cursor.score) || !std::isfinite(cursor.score))
    throw InvalidArgument(std::string(what) + ": expected SCORE,ID of the last row before, found \"" +
                          std::string(text) + '"');
  cursor.id = *id;
  return cursor;
}

}  // namespace culmen
