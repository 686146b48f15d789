// Text from a file, as people see it.
#pragma once

#include <algorithm>
#include <string>

namespace culmen {

// Line ends and terminal escapes become spaces.
inline std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
      ' ');
  return text;
}

}  // namespace culmen
