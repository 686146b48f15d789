// BoundRow: one bound of every child of an inner node, a byte each: how far it lies behind the farthest of them.
//
//   maxima   bound = base - least * n      minima   bound = base + least * n
//   n        of code c:  c itself if codes are linear, or if c < 64; else (32 + c % 32) * 2^(c / 32 - 1)
//
// So what lies near the base, where the answers are, is told apart by 1/4000 of the row's range, and the far end by
// 1/64. Where most children are at the far end, one of them being an outlier, codes are linear, by 1/255.
//
// `least` is a power of two, not below 2 ulp of the base, and the base a multiple of least / 2048 or of these 2 ulp, if
// that is more. Hence every bound is a float without rounding, and if all bounds to be coded are multiples of one power
// of two, so are the coded ones: what is finer than that is hit exactly.
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
  if (!(static_cast<double>(nearest) < value)) return nearest + 0.0f;  // not -0
  if (nearest == 0) return 0x1p-149f;
  const auto bits = __builtin_bit_cast(std::uint32_t, nearest);
  return __builtin_bit_cast(float, nearest > 0 ? bits + 1 : bits - 1) + 0.0f;
}

// The same from below, for rows of minima.
CULMEN_HOST_DEVICE inline float bound_below(double value) {
  return 0.0f - bound_above(-value);
}

// What the codes of a row stand for. Of minima everything is negated here: then it is the same for both.
struct BoundScale {
  double base;
  double least;  // 0: all children are at the base
  bool is_linear;

  CULMEN_HOST_DEVICE static std::uint32_t steps_of(std::uint8_t code, bool is_linear) {
    const std::uint32_t octave = code / 32u;
    return is_linear || octave < 2 ? code : (32u + code % 32u) << (octave - 1);
  }
  CULMEN_HOST_DEVICE double largest_steps() const { return is_linear ? 255 : 63 << 6; }

  // Below this a child is at the far end. An eighth: the product is exact, so that fused or not it is the same.
  CULMEN_HOST_DEVICE static double far(double highest, double lowest) {
    return lowest + 0.125 * (highest - lowest);
  }
  // For a row whose highest and lowest bounds are these, and of which num_far are at the far end.
  CULMEN_HOST_DEVICE static BoundScale choose(double highest, double lowest, int num_far, int num_children) {
    BoundScale scale = {highest, 0, 2 * num_far > num_children};
    if (highest == lowest || highest == HUGE_VAL) return scale;
    scale.least = power_of_two((highest - lowest) / scale.largest_steps());
    const double finest = std::fmax(0x1p-22 * power_of_two(std::fabs(highest)), 0x1p-126);
    scale.least = std::fmax(scale.least, finest);
    const double grid = std::fmax(0x1p-11 * scale.least, finest);
    scale.base = std::ceil(highest / grid) * grid;
    return scale;
  }

  CULMEN_HOST_DEVICE double bound_of(std::uint8_t code) const {
    return base - least * static_cast<double>(steps_of(code, is_linear));
  }
  // The least that is not below `bound`, which is at most the base.
  CULMEN_HOST_DEVICE std::uint8_t code_of(double bound) const {
    if (!(least > 0)) return 0;
    std::uint8_t code = code_of_steps(std::fmin((base - bound) / least, largest_steps()));
    while (code > 0 && bound_of(code) < bound) --code;  // the difference may have been rounded
    return code;
  }

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
    std::uint32_t octave = 1;
    while (n >> octave >= 64) ++octave;
    return static_cast<std::uint8_t>((octave + 1) * 32 + (n >> octave) % 32);
  }
};

struct BoundRow {
  float base = 0;
  std::uint32_t scale = 0;  // the float least, of maxima -least; its last bit: codes are linear
  std::uint8_t codes[kFanOut] = {};

  static constexpr std::uint32_t kLinear = 1;

  CULMEN_HOST_DEVICE float signed_least() const { return __builtin_bit_cast(float, scale & ~kLinear); }
  CULMEN_HOST_DEVICE bool is_linear() const { return (scale & kLinear) != 0; }
  CULMEN_HOST_DEVICE float bound_of(std::uint8_t code) const {
    const auto steps = static_cast<double>(BoundScale::steps_of(code, is_linear()));
    return static_cast<float>(static_cast<double>(base) + static_cast<double>(signed_least()) * steps);
  }
  float operator[](std::uint32_t child) const { return bound_of(codes[child]); }

  CULMEN_HOST_DEVICE void set_scale(const BoundScale& s, Extreme extreme) {
    const bool is_maximum = extreme == Extreme::maximum;
    base = static_cast<float>(is_maximum ? s.base : -s.base) + 0.0f;
    const auto least = static_cast<float>(is_maximum ? -s.least : s.least);
    scale = __builtin_bit_cast(std::uint32_t, least) | (s.is_linear ? kLinear : 0);
  }

  // Codes the bounds of all children, 1 to kFanOut. Where they were in the row before, it may be asked to begin no
  // nearer than some base.
  void encode(std::span<const float> bounds, Extreme extreme, float least_base);
  void encode(std::span<const float> bounds, Extreme extreme) { encode(bounds, extreme, bounds[0]); }

  // Codes the bound of one of num_children, which may be the bound of no rows. Those of the others are what they were, or a little looser where the row's
  // range grows; by not more than 1/16 of the range, however often.
  void set(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme);

 private:
  BoundScale decoded_scale(Extreme extreme) const;
};
static_assert(sizeof(BoundRow) == 8 + kFanOut);

}  // namespace culmen
