#include "index/storage/log_format.h"

#include <cstring>

namespace culmen::storage {

std::uint64_t checksum_of(const LogHeader& header) {
  return checksum_of(std::as_bytes(std::span(&header, 1)).subspan(sizeof header.checksum));
}

std::uint64_t checksum_of(const LogFrameHeader& header, std::uint64_t seed) {
  return checksum_of(std::as_bytes(std::span(&header, 1)).subspan(sizeof header.checksum), seed);
}

std::uint64_t frame_seed(const Uuid& uuid) {
  std::uint64_t halves[2];
  std::memcpy(halves, uuid.data(), sizeof halves);
  return halves[0] ^ halves[1];
}

}  // namespace culmen::storage
