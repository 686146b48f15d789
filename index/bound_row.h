// BoundRow: one bound of every child of an inner node, a byte each: how far it lies behind the farthest of them.
//
//   maxima   bound = base - least * n      minima   bound = base + least * n
//   n        of code c:  c itself if codes are linear, or if c < 64; else (32 + c % 32) * 2^(c / 32 - 1)
//   255      stands for outliers instead: base + gap (minima: base - gap)
//
// So what lies near the base, where the answers are, is told apart by 1/4000 of the row's range, and the far end by
// 1/64. A few children that lie so far out that the others would all be at the far end share one bound, beyond the base
// of the others. Where still most children are at the far end, codes are linear, by 1/254.
//
// `least` is a power of two, not below 2 ulp of the base, and the base a multiple of least / 2048 or of these 2 ulp, if
// that is more. Hence every bound but that of outliers is a float without rounding, and if all bounds to be coded are
// multiples of one power of two, so are the coded ones: what is finer than that is hit exactly.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/host_device.h"
#include "index/bound_layout.h"

namespace culmen {

// Children of an inner node.
inline constexpr int kFanOut = 32;

// No bound is larger: what is beyond becomes infinite, which excludes nothing.
inline constexpr double kLargestBound = 0x1p100;

// The smallest float that is not below `value`, for rows of maxima; infinity beyond what they hold, and for NaN.
CULMEN_HOST_DEVICE inline float bound_above(double value) {
  if (!(value <= kLargestBound)) return HUGE_VALF;
  if (value < -kLargestBound) return -0x1p100f;
  const auto nearest = static_cast<float>(value);
  // Every second value is rounded down, in no order: a branch would be mispredicted.
  const std::uint32_t step = static_cast<double>(nearest) < value ? 1 : 0;
  if (nearest == 0) return __builtin_bit_cast(float, step);
  const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  const std::uint32_t sign = 0u - (bits >> 31);  // all bits if negative: then bits - step is the next one up
  return __builtin_bit_cast(float, bits + ((step ^ sign) - sign)) + 0.0f;  // not -0
}

// The same from below, for rows of minima.
CULMEN_HOST_DEVICE inline float bound_below(double value) {
  return 0.0f - bound_above(-value);
}

// What the codes of a row stand for. Of minima everything is negated here: then it is the same for both.
struct BoundScale {
  double base = 0;   // of all but outliers
  double least = 0;  // 0: they are all at the base
  bool is_linear = false;
  float gap = 0;  // from the base to the outliers, a number of 15 bits

  // Up to a quarter of the children may be outliers, if all others are in this part of the range, and they themselves in
  // the outer part from kOutlierPart on: of a heavy tail, where sizes are of every order, none is.
  static constexpr double kUsualPart = 0x1p-10, kOutlierPart = 0x1p-2;
  // One that comes to lie beyond the base by more than the span of all others over this part becomes an outlier at once:
  // to code the others anew would cost them more.
  static constexpr double kJumpPart = 0x1p-2;
  CULMEN_HOST_DEVICE static bool may_be_outliers(int num, int num_children) {
    return 4 * num <= num_children + 3;
  }
  // `part` of the way out, a power of two: the product is exact, so that fused or not it is the same.
  CULMEN_HOST_DEVICE static double between(double lowest, double highest, double part) {
    return lowest + part * (highest - lowest);
  }
  // Below this part of their range children are at the far end.
  static constexpr double kFarPart = 0x1p-3;

  // For children whose bounds lie between these, of which the larger part is at the far end or not.
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
  // No step of codes is smaller.
  CULMEN_HOST_DEVICE static double finest_of(double base) {
    return std::fmax(0x1p-22 * power_of_two(std::fabs(base)), 0x1p-126);
  }
  // The least that covers an outlier.
  CULMEN_HOST_DEVICE static float gap_to(double outlier, double base) {
    if (outlier == HUGE_VAL) return HUGE_VALF;
    const auto from = static_cast<float>(base), wanted = static_cast<float>(outlier);
    auto bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(outlier - base));
    bits -= bits >= kGapUnit ? kGapUnit : bits;  // it may have been rounded up
    bits = bits / kGapUnit * kGapUnit;
    while (from + __builtin_bit_cast(float, bits) < wanted) bits += kGapUnit;
    return __builtin_bit_cast(float, bits);
  }

  CULMEN_HOST_DEVICE static std::uint32_t steps_of(std::uint8_t code, bool is_linear) {
    const std::uint32_t octave = code / 32u;
    return is_linear || octave < 2 ? code : (32u + code % 32u) << (octave - 1);
  }
  CULMEN_HOST_DEVICE double largest_steps() const { return steps_of(kFarthest, is_linear); }

  CULMEN_HOST_DEVICE double bound_of(std::uint8_t code) const {
    return base - least * static_cast<double>(steps_of(code, is_linear));
  }
  // The least that is not below `bound`.
  CULMEN_HOST_DEVICE std::uint8_t code_of(double bound) const {
    if (bound > base) return kOutlier;
    if (!(least > 0)) return 0;
    const double steps = (base - bound) * (1 / least), most = largest_steps();  // least is a power of two
    std::uint8_t code = code_of_steps(steps < most ? steps : most);
    while (code > 0 && bound_of(code) < bound) --code;  // the difference may have been rounded
    return code;
  }

  // Infinite bounds are exact as outliers.
  CULMEN_HOST_DEVICE bool is_exact(double bound) const {
    return bound == HUGE_VAL || (bound <= base && bound_of(code_of(bound)) == bound);
  }

  static constexpr std::uint8_t kFarthest = 254, kOutlier = 255;  // codes

  // The last bits of a gap, all but 14 of its fraction, are 0.
  static constexpr std::uint32_t kGapUnit = 1u << 9;

 private:
  // The smallest that is not below `value` >= 0; 0 of 0.
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

struct BoundRow {
  float base = 0;
  // 1 bit sign, that of least, minus of maxima | 8 its exponent | 8 the gap's | 14 the gap's fraction | 1 is linear
  std::uint32_t scale = 0;
  std::uint8_t codes[kFanOut] = {};

  static constexpr std::uint32_t kLinear = 1, kSign = 1u << 31, kGapBits = (1u << 23) - 2;

  CULMEN_HOST_DEVICE static float signed_least_of(std::uint32_t scale) {
    return __builtin_bit_cast(float, scale & ~(kGapBits | kLinear));
  }
  CULMEN_HOST_DEVICE static float signed_gap_of(std::uint32_t scale) {
    return __builtin_bit_cast(float, (~scale & kSign) | (scale & kGapBits) << 8);
  }
  CULMEN_HOST_DEVICE float signed_least() const { return signed_least_of(scale); }
  CULMEN_HOST_DEVICE bool is_linear() const { return (scale & kLinear) != 0; }
  CULMEN_HOST_DEVICE bool has_gap() const { return (scale & kGapBits) != 0; }
  CULMEN_HOST_DEVICE float bound_of_outliers() const { return base + signed_gap_of(scale); }

  CULMEN_HOST_DEVICE float bound_of(std::uint8_t code) const {
    if (code == BoundScale::kOutlier) return bound_of_outliers();
    const auto steps = static_cast<double>(BoundScale::steps_of(code, is_linear()));
    return static_cast<float>(static_cast<double>(base) + static_cast<double>(signed_least()) * steps);
  }
  float operator[](std::uint32_t child) const { return bound_of(codes[child]); }

  // Codes in the order of their bounds, the farthest out first.
  CULMEN_HOST_DEVICE static std::uint8_t rank_of(std::uint8_t code) {
    return static_cast<std::uint8_t>(code + 1);
  }
  CULMEN_HOST_DEVICE static std::uint8_t code_at(std::uint32_t rank) {
    return static_cast<std::uint8_t>(rank - 1);
  }

  // All bits where there is no child: "or", not a branch, lets compilers make vectors of a loop over all codes.
  CULMEN_HOST_DEVICE static std::uint8_t mask_of(std::uint8_t child, std::uint32_t num_children) {
    return child < static_cast<std::uint8_t>(num_children) ? std::uint8_t{0} : std::uint8_t{255};
  }

  // Of the child that lies farthest out.
  CULMEN_HOST_DEVICE std::uint8_t first_code(std::uint32_t num_children) const {
    std::uint8_t first = 255;
    for (std::uint8_t c = 0; c < kFanOut; ++c) {
      const auto rank = static_cast<std::uint8_t>(rank_of(codes[c]) | mask_of(c, num_children));
      first = rank < first ? rank : first;
    }
    return code_at(first);
  }
  // What covers all children.
  CULMEN_HOST_DEVICE float farthest_out(std::uint32_t num_children) const {
    return bound_of(first_code(num_children));
  }

  CULMEN_HOST_DEVICE void set_scale(const BoundScale& s, Extreme extreme) {
    const bool is_maximum = extreme == Extreme::maximum;
    base = static_cast<float>(is_maximum ? s.base : -s.base) + 0.0f;
    scale = __builtin_bit_cast(std::uint32_t, static_cast<float>(is_maximum ? -s.least : s.least)) |
            __builtin_bit_cast(std::uint32_t, s.gap) >> 8 | (s.is_linear ? kLinear : 0);
  }

  // Codes the bounds of all children, 1 to kFanOut. Where they were in the row before, it may be asked to begin no
  // nearer than some base.
  void encode(std::span<const float> bounds, Extreme extreme, float least_base);
  void encode(std::span<const float> bounds, Extreme extreme) {
    encode(bounds, extreme, extreme == Extreme::maximum ? -HUGE_VALF : HUGE_VALF);
  }

  // Returns true if the children, but for outliers, take up a small part of the range, as after one that was far from the
  // others has moved in: coded again from what the children really are, their bounds would be tighter.
  bool is_coarse(std::uint32_t num_children) const;
  bool has_outliers(std::uint32_t num_children) const {
    return has_gap() && first_code(num_children) == BoundScale::kOutlier;
  }

  // Returns true if set() would change nothing, as a rule: it may return false all the same.
  bool is_tight(std::uint32_t child, float bound, Extreme extreme) const;

  // Codes the bound of one of num_children, which may be the bound of no rows. Those of the others are what they were,
  // or a little looser where the row's range grows; by not more than 1/16 of the range, however often. Returns true if
  // the row has changed.
  bool set(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme);

 private:
  BoundScale decoded_scale(Extreme extreme) const;
  void extend_range(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme);
  bool has_room_for_outlier(std::uint32_t child, std::uint32_t num_children) const;
  void set_outlier(std::uint32_t child, double out, std::uint32_t num_children, Extreme extreme);
};
static_assert(sizeof(BoundRow) == 8 + kFanOut);

}  // namespace culmen
