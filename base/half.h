// Half: binary16, in which a device mirror stores the bounds of level-1 nodes, which every query reads.
//
// Conversions round up or down, as the caller asks, never to nearest. Too large a bound becomes infinity, which is
// loose but never wrong. Host and device round by the same code.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "base/host_device.h"

namespace culmen {

struct Half {
  std::uint16_t bits = 0;

  CULMEN_HOST_DEVICE operator float() const {  // exact: every binary16 number is a binary32 number
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t rest = bits & 0x7fffu;
    if (rest < 0x400)  // subnormal
      return __builtin_bit_cast(
          float, __builtin_bit_cast(std::uint32_t, static_cast<float>(rest) * 0x1p-24f) | sign);
    // The exponent's offset is 15 here and 127 there; infinities and NaN have all of its bits set in both.
    const std::uint32_t offset = rest < 0x7c00 ? (127u - 15u) << 23 : (255u - 31u) << 23;
    return __builtin_bit_cast(float, ((rest << 13) + offset) | sign);
  }
};
static_assert(sizeof(Half) == 2);

inline constexpr Half kHalfInfinity{0x7c00};
inline constexpr double kHalfMaximum = 65504;
inline constexpr double kHalfMinimum = 0x1p-24;  // the smallest above 0

// The smallest Half that is not below `value`; infinity for NaN.
CULMEN_HOST_DEVICE inline Half round_up_to_half(double value) {
  if (!(value <= kHalfMaximum)) return {0x7c00};  // device code cannot use kHalfInfinity
  if (value < -kHalfMaximum) return {0xfbff};
  // value = n * 2^(field - 24) with n rounded up. n is in [1024, 2048] unless field is 0: subnormal.
  const double magnitude = std::fabs(value);
  const int exponent = static_cast<int>(__builtin_bit_cast(std::uint64_t, magnitude) >> 52) - 1023;
  const int field = exponent < -14 ? 0 : exponent + 14;
  const double scale = __builtin_bit_cast(double, static_cast<std::uint64_t>(1023 + 24 - field) << 52);
  const double exact = magnitude * scale;
  int n = static_cast<int>(exact);
  if (value > 0 && n < exact) ++n;
  // With n = 2048 the sum carries into the exponent, which is right.
  const auto bits = static_cast<std::uint16_t>((field << 10) + n);
  return {static_cast<std::uint16_t>(value < 0 ? bits | 0x8000 : bits)};
}

// The largest Half that is not above `value`; -infinity for NaN.
CULMEN_HOST_DEVICE inline Half round_down_to_half(double value) {
  return {static_cast<std::uint16_t>(round_up_to_half(-value).bits ^ 0x8000)};
}

}  // namespace culmen
