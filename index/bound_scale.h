// BoundScale: what the codes of a BoundRow stand for.
//
//   maxima   bound = base - least * n      minima   bound = base + least * n
//   n        of code c:  c itself if codes are linear, or if c < 64; else (32 + c % 32) * 2^(c / 32 - 1)
//   255      is an outlier instead: base + gap (minima: base - gap)
//
// A row's span is the distance from its base to its innermost child when the scale is fitted. `least` is a power of
// two, at most 1/1984 of the span, so codes are finest next to the base, where the answers are. A code lifts a bound by
// less than one such step or 1/32 of the bound's distance from the base, whichever is larger. If most children are at
// the far end, codes are linear, and `least` is at most 1/127 of the span. A few children that lie so far out that all
// others would be at the far end are outliers: they share one bound beyond the base of the others.
//
// `least` is no smaller than 2 ulp of the base, even if the span is small. The base is a multiple of finest_of() or of
// least / 2048, whichever is larger. Hence every bound but that of outliers is a float without rounding. And if all
// bounds to be coded are multiples of one power of two, so are the coded ones: steps that are finer than it code them
// exactly.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/host_device.h"

namespace culmen {

// Bounds of minima are negated here, so that more is farther out for both.
struct BoundScale {
  double base = 0;   // of all but outliers
  double least = 0;  // the step next to the base; 0: all are at the base
  bool is_linear = false;
  float gap = 0;  // from the base to the outliers, a number of 15 bits

  static constexpr std::uint8_t kFarthest = 254, kOutlier = 255;  // codes

  // The scale of a row with the bounds of 1 to 32 children. If a bound is finite, the base is not below least_base.
  static BoundScale fit(std::span<const double> bounds, double least_base);

  // The parts of the range by which fit() decides. Children are at the far end below kFarPart of it.
  static constexpr double kFarPart = 0x1p-3;
  // Outliers lie beyond kOutlierPart, and all others below kUsualPart. In a heavy tail, with bounds of every order of
  // magnitude, nothing is an outlier.
  static constexpr double kUsualPart = 0x1p-10, kOutlierPart = 0x1p-2;
  // Up to a quarter of the children, rounded up, may be outliers.
  CULMEN_HOST_DEVICE static bool may_be_outliers(int num, int num_children) {
    return 4 * num <= num_children + 3;
  }
  // A bound that moves beyond the base by more than 1 / kJumpPart times the row's span becomes an outlier at once:
  // coding the others again would loosen them more.
  static constexpr double kJumpPart = 0x1p-2;
  // `part` is a power of two, so the product is exact and fused multiply-add gives the same.
  CULMEN_HOST_DEVICE static double between(double lowest, double highest, double part) {
    return lowest + part * (highest - lowest);
  }

  // For bounds from `lowest` to `highest`.
  CULMEN_HOST_DEVICE static BoundScale choose(double highest, double lowest, bool is_linear) {
    BoundScale scale = {highest, 0, is_linear, 0};
    if (highest == lowest) return scale;
    scale.least = power_of_two((highest - lowest) / scale.largest_steps());
    const double finest = finest_of(highest);
    scale.least = std::fmax(scale.least, finest);
    const double grid = std::fmax(0x1p-11 * scale.least, finest);
    scale.base = std::ceil(highest / grid) * grid;
    return scale;
  }
  // No `least` is smaller.
  CULMEN_HOST_DEVICE static double finest_of(double base) {
    return std::fmax(0x1p-22 * power_of_two(std::fabs(base)), 0x1p-126);
  }
  // The smallest gap that covers an outlier.
  CULMEN_HOST_DEVICE static float gap_to(double outlier, double base) {
    if (outlier == HUGE_VAL) return HUGE_VALF;
    const auto from = static_cast<float>(base), wanted = static_cast<float>(outlier);
    auto bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(outlier - base));
    bits -= bits >= kGapUnit ? kGapUnit : bits;  // the difference may have been rounded up
    bits = bits / kGapUnit * kGapUnit;
    while (from + __builtin_bit_cast(float, bits) < wanted) bits += kGapUnit;
    return __builtin_bit_cast(float, bits);
  }

  CULMEN_HOST_DEVICE static constexpr std::uint32_t steps_of(std::uint8_t code, bool is_linear) {
    const std::uint32_t octave = code / 32u;
    return is_linear || octave < 2 ? code : (32u + code % 32u) << (octave - 1);
  }
  CULMEN_HOST_DEVICE double largest_steps() const { return steps_of(kFarthest, is_linear); }

  CULMEN_HOST_DEVICE double bound_of(std::uint8_t code) const {
    return base - least * static_cast<double>(steps_of(code, is_linear));
  }
  // The code of the smallest bound that is not below `bound`.
  CULMEN_HOST_DEVICE std::uint8_t code_of(double bound) const {
    if (bound > base) return kOutlier;
    if (!(least > 0)) return 0;
    const double steps = (base - bound) * (1 / least), most = largest_steps();  // least is a power of two
    std::uint8_t code = code_of_steps(steps < most ? steps : most);
    while (code > 0 && bound_of(code) < bound) --code;  // the difference may have been rounded
    return code;
  }

  // Returns true if coding does not lift `bound`. Outliers at infinity are exact.
  CULMEN_HOST_DEVICE bool is_exact(double bound) const {
    return bound == HUGE_VAL || (bound <= base && bound_of(code_of(bound)) == bound);
  }

  // All but the first 14 bits of a gap's fraction are 0.
  static constexpr std::uint32_t kGapUnit = 1u << 9;

 private:
  // The smallest power of two that is not below `value` > 0; 0 for 0.
  CULMEN_HOST_DEVICE static double power_of_two(double value) {
    const auto bits = __builtin_bit_cast(std::uint64_t, value);
    constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;
    return __builtin_bit_cast(double, (bits & kFraction) == 0 ? bits : (bits | kFraction) + 1);
  }
  CULMEN_HOST_DEVICE std::uint8_t code_of_steps(double steps) const {
    const auto n = static_cast<std::uint32_t>(steps);
    if (is_linear || n < 64) return static_cast<std::uint8_t>(n);
#ifdef __CUDA_ARCH__
    const int leading_zeros = __clz(static_cast<int>(n));
#else
    const int leading_zeros = __builtin_clz(n);
#endif
    const auto octave = static_cast<std::uint32_t>(26 - leading_zeros);  // n >> octave is from 32 to 63
    return static_cast<std::uint8_t>((octave + 1) * 32 + (n >> octave) % 32);
  }
};

// For loops over many rows on a host: steps_of() of each code, [0] as they usually are, [1] linear.
inline constexpr auto kStepsOfCodes = [] {
  std::array<std::array<double, 256>, 2> steps = {};
  for (unsigned code = 0; code < 256; ++code)
    for (const bool is_linear : {false, true})
      steps[is_linear][code] = BoundScale::steps_of(static_cast<std::uint8_t>(code), is_linear);
  return steps;
}();

}  // namespace culmen
