// The checksums of the format: XXH3, 64 bits for a frame, 128 bits for a whole file.
#pragma once

#define XXH_INLINE_ALL  // header only: nothing to link or to install
#include <xxhash.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/storage/file_system.h"

namespace culmen::storage {

struct Digest {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  friend bool operator==(const Digest&, const Digest&) = default;
};

inline std::uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

// With a seed that whoever chose the bytes did not know, so that they cannot be made to look like a valid frame.
inline std::uint64_t checksum_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

// The checksum of a part of a file, read piece by piece: memory for all of it is not allocated before it is known to be
// valid.
inline std::uint64_t checksum_of(const ReadableFile& file, std::uint64_t offset, std::uint64_t bytes,
                                 std::uint64_t seed) {
  constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;
  XXH3_state_t state = {};
  XXH3_INITSTATE(&state);
  XXH3_64bits_reset_withSeed(&state, seed);
  std::vector<std::byte> piece;
  for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
    piece.resize(std::min(bytes - at, kPieceBytes));
    file.read(offset + at, piece);
    XXH3_64bits_update(&state, piece.data(), piece.size());
  }
  return XXH3_64bits_digest(&state);
}

inline Digest digest_of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

}  // namespace culmen::storage
