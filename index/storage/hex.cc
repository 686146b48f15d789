#include "index/storage/hex.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>

namespace culmen::storage {

std::string to_hex(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

std::string to_hex(const Digest& digest) {
  return to_hex(digest.high) + to_hex(digest.low);
}

bool from_hex(std::string_view text, std::uint64_t& value) {
  if (text.size() != 16 || text.find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
  return std::from_chars(text.data(), text.data() + text.size(), value, 16).ec == std::errc();
}

bool from_hex(std::string_view text, Digest& digest) {
  return text.size() == 32 && from_hex(text.substr(0, 16), digest.high) &&
         from_hex(text.substr(16), digest.low);
}

bool from_hex(std::string_view text, Uuid& uuid) {
  Digest halves;
  if (!from_hex(text, halves)) return false;
  for (std::size_t i = 0; i < uuid.size(); ++i)
    uuid[i] = static_cast<std::byte>((i < 8 ? halves.high : halves.low) >> (56 - i % 8 * 8));
  return true;
}

std::string to_hex_float(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::hex).ptr};
}

bool from_hex_float(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, std::chars_format::hex);
  return error == std::errc() && rest == end && std::isfinite(value);
}

}  // namespace culmen::storage
