#include "base/excerpt.h"

#include <cstddef>

#include "base/utf8.h"

namespace culmen {
namespace {

constexpr std::size_t kMaxExcerptBytes = 40;

void append_escaped(std::string& out, char c) {
  constexpr char kHex[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  out += "\\x";
  out += kHex[byte >> 4];
  out += kHex[byte & 15u];
}

}  // namespace

std::string quote_excerpt(std::string_view text) {
  std::string out = "\"";
  for (std::size_t pos = 0; pos < text.size();) {
    if (pos >= kMaxExcerptBytes) {
      out += "...";
      break;
    }
    const std::size_t num_bytes = utf8_sequence_bytes(text.substr(pos, 4));
    const auto byte = static_cast<unsigned char>(text[pos]);
    if (num_bytes == 0 || byte < 0x20 || byte == 0x7F) {
      append_escaped(out, text[pos++]);
    } else {
      out += text.substr(pos, num_bytes);
      pos += num_bytes;
    }
  }
  return out + '"';
}

}  // namespace culmen
