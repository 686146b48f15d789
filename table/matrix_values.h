// Which values of a binary matrix an index can hold.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "base/exact_integer.h"
#include "culmen/table.h"

namespace culmen::io {

inline bool is_valid(float value) {
  return std::isfinite(value);
}
inline bool is_valid(double value) {
  return std::isfinite(value);
}
inline bool is_valid(std::int32_t) {
  return true;
}
inline bool is_valid(std::int64_t value) {
  return is_exact_in_float64(value);
}

// Replaces -0 by +0. Returns true if every value is valid. The loops have no branches, so they become SIMD code. They
// work on bits: if the host program flushes subnormal numbers to zero, arithmetic would do so here too, even with the
// lengths of .fvecs.
template <Element T>
bool clean(std::span<T> values) {
  unsigned invalid = 0;
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
    constexpr auto kMinusZero = std::bit_cast<Bits>(T{-0.0});
    constexpr auto kInfinity = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
    for (T& value : values) {
      const auto bits = std::bit_cast<Bits>(value);
      value = std::bit_cast<T>(bits == kMinusZero ? Bits{0} : bits);
      invalid |= static_cast<unsigned>((bits & kInfinity) == kInfinity);
    }
  } else {
    for (const T value : values) invalid |= static_cast<unsigned>(!is_valid(value));
  }
  return invalid == 0;
}

}  // namespace culmen::io
