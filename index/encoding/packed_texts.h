// The texts of some rows as bytes (docs/format.md, "Texts"): a column of their lengths, then the texts one after the
// other, which zstd compresses if that makes them shorter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "index/encoding/packed_column.h"

namespace culmen::encoding {

// So a short file cannot make a reader allocate any amount of memory. Texts that zstd makes shorter than that are followed by
// zeros.
constexpr std::uint64_t fewest_packed_bytes(std::uint64_t text_bytes) {
  constexpr std::uint64_t kFree = std::uint64_t{1} << 20, kMostRatio = 256;
  return text_bytes <= kFree ? 1 : (text_bytes - kFree + kMostRatio - 1) / kMostRatio;
}

// Appends them. `ends`: of each text, from the first byte of `text` on; at least one.
void encode_texts(std::span<const std::uint32_t> ends, const std::byte* text, std::vector<std::byte>& bytes);

struct PackedTexts {
  std::vector<std::uint32_t> ends;    // of each text
  std::span<const std::byte> packed;  // the texts if it is as long as they are, else a zstd frame of them

  std::uint32_t text_bytes() const { return ends.back(); }
};

// Reads the `count` texts that `bytes` begins with, and takes them away. Returns nothing if they do not lie within the bytes, are 4 GiB, or
// have fewer than fewest_packed_bytes.
std::optional<PackedTexts> take_texts(std::span<const std::byte>& bytes, std::size_t count);

// Writes text_bytes() bytes. Returns false if the frame is damaged.
bool unpack(const PackedTexts& texts, std::byte* text);

}  // namespace culmen::encoding
