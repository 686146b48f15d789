// Which int64 a float64 holds exactly.
#pragma once

#include <cstdint>

namespace culmen {

// True if at most 53 bits lie between the highest and the lowest set bit. Has no branch, so loops become SIMD code.
constexpr bool is_exact_in_float64(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const std::uint64_t magnitude = value < 0 ? 0 - bits : bits;
  const std::uint64_t lowest_bit =
      magnitude & (0 - magnitude);  // 0 for 0: the right side below then is the maximum
  return (magnitude >> 53) <= lowest_bit - 1;
}

}  // namespace culmen
