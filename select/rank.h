// Ranks: a key and an id as one unsigned number. The larger, the better the row, and all are different, so that a
// selection of the k largest ranks orders equal keys by id at no cost, and does not depend on the type of the key.
//
//   Rank64    a 32-bit key, then the row's number, complemented
//   Rank128   a 64-bit key, or two 32-bit keys one after the other, then the id, complemented
//
// No row has the rank 0.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace culmen::select {

using Rank64 = std::uint64_t;
using Rank128 = unsigned __int128;

enum class KeyType : std::uint8_t { float32, float64, int32, uint32, int64 };

constexpr bool is_64_bit(KeyType type) {
  return type == KeyType::float64 || type == KeyType::int64;
}

// Converts the bits of a key to a number that compares as the key does, without a branch on the type. NaN of either
// sign is the largest key; -0 is 0.
template <typename Bits>
struct KeyOrder {
  Bits flip_negative = 0, flip = 0;
  Bits negative_zero = 0;
  Bits infinity = static_cast<Bits>(~Bits{0});  // magnitudes beyond it are NaN

  CULMEN_HOST_DEVICE Bits ordered(Bits bits) const {
    if (bits == negative_zero) bits = 0;
    if ((bits & ~kSign) > infinity) bits = static_cast<Bits>(~kSign);
    return bits ^ ((bits & kSign) != 0 ? flip_negative : Bits{0}) ^ flip;
  }
  // The bits of the key; NaN with all bits but the sign, -0 as 0.
  CULMEN_HOST_DEVICE Bits original(Bits ordered) const {
    const Bits bits = ordered ^ flip;
    return bits ^ ((bits & kSign) != 0 ? flip_negative : Bits{0});
  }

 private:
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
};

// The order of keys of a type of that size.
template <typename Bits>
KeyOrder<Bits> order_of(KeyType type) {
  constexpr Bits kSign = Bits{1} << (8 * sizeof(Bits) - 1);
  KeyOrder<Bits> order;
  if (type == KeyType::uint32) return order;
  order.flip = kSign;
  if (type == KeyType::int32 || type == KeyType::int64) return order;
  order.flip_negative = static_cast<Bits>(~kSign);
  order.negative_zero = kSign;
  order.infinity =
      sizeof(Bits) == 4 ? static_cast<Bits>(0x7f800000u) : static_cast<Bits>(0x7ff0000000000000u);
  return order;
}

inline constexpr std::uint64_t kIdSign = std::uint64_t{1} << 63;

CULMEN_HOST_DEVICE inline Rank64 make_rank(std::uint32_t ordered_key, std::uint32_t row) {
  return Rank64{ordered_key} << 32 | static_cast<std::uint32_t>(~row);
}
CULMEN_HOST_DEVICE inline Rank128 make_rank(std::uint64_t ordered_key, std::int64_t id) {
  return Rank128{ordered_key} << 64 | ~(static_cast<std::uint64_t>(id) ^ kIdSign);
}

CULMEN_HOST_DEVICE inline std::uint32_t ordered_key(Rank64 rank) {
  return static_cast<std::uint32_t>(rank >> 32);
}
CULMEN_HOST_DEVICE inline std::uint64_t ordered_key(Rank128 rank) {
  return static_cast<std::uint64_t>(rank >> 64);
}
CULMEN_HOST_DEVICE inline std::int64_t id_of(Rank64 rank) {
  return static_cast<std::uint32_t>(~rank);
}
CULMEN_HOST_DEVICE inline std::int64_t id_of(Rank128 rank) {
  return static_cast<std::int64_t>(~static_cast<std::uint64_t>(rank) ^ kIdSign);
}

}  // namespace culmen::select
