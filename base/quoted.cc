#include "base/quoted.h"

#include <cstddef>

namespace culmen {

std::optional<std::string> take_quoted(std::string_view& rest) {
  std::string text;
  for (std::size_t end; (end = rest.find('"')) != std::string_view::npos;) {
    text += rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (!rest.starts_with('"')) return text;
    text += '"';
    rest.remove_prefix(1);
  }
  return std::nullopt;
}

}  // namespace culmen
