// The checksums of the format: XXH3, 64 bits for a block, 128 bits for a whole file.
#pragma once

#define XXH_INLINE_ALL  // the header alone: nothing to link, and nothing an installed package needs
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace culmen::storage {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend bool operator==(const Digest&, const Digest&) = default;
};

inline std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

// For bytes that stand beside others which a stranger chose: without the seed none of those can be made to
// fit.
inline std::uint64_t checksum_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

inline Digest digest_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace culmen::storage
