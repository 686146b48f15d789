// Which bytes are UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace culmen {

// The length of the well-formed UTF-8 sequence at the front of `text`, 1 to 4 bytes; 0 if there is none (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF).
std::size_t utf8_sequence_bytes(std::string_view text);

// Position of the first byte that is not UTF-8, or npos.
std::size_t find_invalid_utf8(std::string_view text);

// Continues a sequence that bytes before it began.
inline bool is_utf8_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u;
}

}  // namespace culmen
