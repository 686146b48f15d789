// Uuid: a universally unique name. All zero: none.
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace culmen {

using Uuid = std::array<std::byte, 16>;

// 32 lower-case hexadecimal digits.
inline std::string hex_of(const Uuid& uuid) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte b : uuid) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text;
}

}  // namespace culmen
