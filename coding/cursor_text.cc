#include "coding/cursor_text.h"

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/number_text.h"
#include "culmen/error.h"

namespace culmen {
namespace {

// All of the text is a number.
template <typename Number>
bool read_all(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string cursor_text(const Hit& hit) {
  return number_text(hit.score) + ',' + std::to_string(hit.id);
}

Cursor parse_cursor(std::string_view text, std::string_view what) {
  Cursor cursor;
  const std::size_t comma = text.rfind(',');
  const bool is_good = comma != std::string_view::npos && read_all(text.substr(0, comma), cursor.score) &&
                       std::isfinite(cursor.score) && read_all(text.substr(comma + 1), cursor.id);
  if (!is_good)
    throw InvalidArgument(std::string(what) + ": expected SCORE,ID of the last row before, found \"" +
                          std::string(text) + '"');
  return cursor;
}

}  // namespace culmen
