#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace culmen {

std::size_t utf8_sequence_bytes(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const std::size_t num_bytes = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (num_bytes == 0 || text.size() < num_bytes) return 0;
  for (std::size_t i = 1; i < num_bytes; ++i) {
    if (!is_utf8_continuation(text[i])) return 0;
  }
  const auto second = static_cast<unsigned char>(text[1]);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool beyond_unicode = lead == 0xF4 && second >= 0x90;
  return overlong || surrogate || beyond_unicode ? 0 : num_bytes;
}

std::size_t find_invalid_utf8(std::string_view text) {
  std::size_t pos = 0;
  while (pos < text.size()) {
    std::uint64_t eight_bytes = 0;
    if (text.size() - pos >= sizeof(eight_bytes)) {
      std::memcpy(&eight_bytes, text.data() + pos, sizeof(eight_bytes));
      if ((eight_bytes & 0x8080808080808080u) == 0) {
        pos += sizeof(eight_bytes);
        continue;
      }
    }
    const std::size_t num_bytes = utf8_sequence_bytes(text.substr(pos, 4));
    if (num_bytes == 0) return pos;
    pos += num_bytes;
  }
  return std::string_view::npos;
}

}  // namespace culmen
