// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as 1, 2, 3", SC'11).
//
// A counter-based generator: the 128 random bits are a pure function of a 128-bit counter and a 64-bit key. So any
// thread, on any machine or device, can draw the numbers of any row without those before it.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace culmen {

struct PhiloxBlock {
  std::uint32_t word[4];
};

struct PhiloxKey {
  std::uint32_t word[2];
};

CULMEN_HOST_DEVICE constexpr PhiloxKey philox_key(std::uint64_t seed) {
  return {{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)}};
}

CULMEN_HOST_DEVICE constexpr PhiloxBlock philox_round(PhiloxBlock x, PhiloxKey key) {
  const std::uint64_t product_0 = std::uint64_t{0xD2511F53u} * x.word[0];
  const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57u} * x.word[2];
  return {{static_cast<std::uint32_t>(product_1 >> 32) ^ x.word[1] ^ key.word[0],
           static_cast<std::uint32_t>(product_1),
           static_cast<std::uint32_t>(product_0 >> 32) ^ x.word[3] ^ key.word[1],
           static_cast<std::uint32_t>(product_0)}};
}

CULMEN_HOST_DEVICE constexpr PhiloxBlock philox4x32(PhiloxBlock counter, PhiloxKey key) {
  constexpr int kRounds = 10;
  for (int round = 0; round < kRounds; ++round) {
    counter = philox_round(counter, key);
    key.word[0] += 0x9E3779B9u;  // golden ratio
    key.word[1] += 0xBB67AE85u;  // sqrt(3) - 1
  }
  return counter;
}

}  // namespace culmen
