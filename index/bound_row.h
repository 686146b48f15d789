// BoundRow: one bound of every child of an inner node, a byte each. A code is the bound's distance from the row's base;
// index/bound_scale.h defines codes, and how far they can lift a bound.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <span>

#include "base/host_device.h"
#include "index/bound_layout.h"
#include "index/bound_scale.h"

namespace culmen {

// The most children of an inner node.
inline constexpr int kFanOut = 32;

// Larger bounds become infinite, which excludes nothing.
inline constexpr double kLargestBound = 0x1p100;

// For rows of maxima: the smallest float that is not below `value`; infinity above kLargestBound and for NaN.
CULMEN_HOST_DEVICE inline float bound_above(double value) {
  if (!(value <= kLargestBound)) return HUGE_VALF;
  if (value < -kLargestBound) return -0x1p100f;
  const auto nearest = static_cast<float>(value);
  // Whether a value is rounded down is random, so a branch would be mispredicted.
  const std::uint32_t step = static_cast<double>(nearest) < value ? 1 : 0;
  if (nearest == 0) return __builtin_bit_cast(float, step);
  const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  const std::uint32_t sign =
      0u - (bits >> 31);  // all ones if negative: then bits - step is the next float up
  return __builtin_bit_cast(float, bits + ((step ^ sign) - sign)) + 0.0f;  // not -0
}

// For rows of minima: the largest float that is not above `value`.
CULMEN_HOST_DEVICE inline float bound_below(double value) {
  return 0.0f - bound_above(-value);
}

struct BoundRow {
  float base = 0;
  // From the top bit: 1 sign of the step (maxima: minus), 8 its exponent, 8 exponent of the gap, 14 its fraction, 1
  // linear
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
#ifdef __CUDA_ARCH__
    const auto steps = static_cast<double>(BoundScale::steps_of(code, is_linear()));
#else
    const double steps = kStepsOfCodes[is_linear()][code];
#endif
    return static_cast<float>(static_cast<double>(base) + static_cast<double>(signed_least()) * steps);
  }
  float operator[](std::uint32_t child) const {
    return bound_of(codes[child]);
  }

  // The rank of codes by their bounds, outermost first: outliers, then the base.
  CULMEN_HOST_DEVICE static std::uint8_t rank_of(std::uint8_t code) {
    return static_cast<std::uint8_t>(code + 1);
  }
  CULMEN_HOST_DEVICE static std::uint8_t code_at(std::uint32_t rank) {
    return static_cast<std::uint8_t>(rank - 1);
  }

  // All ones if there is no such child. To "or" it, instead of branching, lets compilers vectorize loops over all
  // codes.
  CULMEN_HOST_DEVICE static std::uint8_t mask_of(std::uint8_t child, std::uint32_t num_children) {
    return child < static_cast<std::uint8_t>(num_children) ? std::uint8_t{0} : std::uint8_t{255};
  }

  // The outermost child's code.
  CULMEN_HOST_DEVICE std::uint8_t first_code(std::uint32_t num_children) const {
    std::uint8_t first = 255;
    for (std::uint8_t c = 0; c < kFanOut; ++c) {
      const auto rank = static_cast<std::uint8_t>(rank_of(codes[c]) | mask_of(c, num_children));
      first = rank < first ? rank : first;
    }
    return code_at(first);
  }
  // A bound that covers all children.
  CULMEN_HOST_DEVICE float farthest_out(std::uint32_t num_children) const {
    return bound_of(first_code(num_children));
  }

  CULMEN_HOST_DEVICE void set_scale(const BoundScale& s, Extreme extreme) {
    const bool is_maximum = extreme == Extreme::maximum;
    base = static_cast<float>(is_maximum ? s.base : -s.base) + 0.0f;
    scale = __builtin_bit_cast(std::uint32_t, static_cast<float>(is_maximum ? -s.least : s.least)) |
            __builtin_bit_cast(std::uint32_t, s.gap) >> 8 | (s.is_linear ? kLinear : 0);
  }

  // Codes the bounds of all children, 1 to kFanOut. The base is least_base or lies farther out.
  void encode(std::span<const float> bounds, Extreme extreme, float least_base);
  void encode(std::span<const float> bounds, Extreme extreme) {
    encode(bounds, extreme, extreme == Extreme::maximum ? -HUGE_VALF : HUGE_VALF);
  }

  // Returns true if the children, without outliers, occupy a small part of the range, as after one that was far from
  // the others has moved back: coding them again from the children themselves would tighten their bounds.
  bool is_coarse(std::uint32_t num_children) const;
  bool has_outliers(std::uint32_t num_children) const {
    return has_gap() && first_code(num_children) == BoundScale::kOutlier;
  }

  // Returns true if the child's code is the tightest that covers `bound`. May return false all the same.
  bool is_tight(std::uint32_t child, float bound, Extreme extreme) const;

  // Codes the bound of one of num_children; it is infinite, inwards, if the child has no rows. The bounds of the others
  // stay, or loosen if the range grows: by at most 1/16 of the range, however often that happens. Returns true if the
  // row has changed.
  bool set(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme);

 private:
  BoundScale decoded_scale(Extreme extreme) const;
  void extend_range(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme);
  bool has_room_for_outlier(std::uint32_t child, std::uint32_t num_children) const;
  void set_outlier(std::uint32_t child, double out, std::uint32_t num_children, Extreme extreme);
};
static_assert(sizeof(BoundRow) == 8 + kFanOut);

}  // namespace culmen
