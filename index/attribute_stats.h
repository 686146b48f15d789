// Statistics of one attribute over the whole index, and its bound unit. Stored values are oriented: an attribute with
// Preference::low is negated, so that more is usually better.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "base/host_device.h"

namespace culmen {

// The exponent of a quantum that divides only zero.
inline constexpr int kNoQuantum = 1 << 20;

// The exponent q of the largest power of two that divides `value`; kNoQuantum for 0.
CULMEN_HOST_DEVICE inline int quantum_exponent(double value) {
  // std::bit_cast and std::countr_zero are not device functions.
  const auto bits = __builtin_bit_cast(std::int64_t, value);
  const std::int64_t fraction = bits & ((std::int64_t{1} << 52) - 1);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff);
  if (fraction == 0) return exponent == 0 ? kNoQuantum : exponent - 1023;
  const auto lowest_bit = static_cast<double>(fraction & -fraction);
  const int zeros = static_cast<int>(__builtin_bit_cast(std::int64_t, lowest_bit) >> 52) - 1023;
  return zeros + (exponent == 0 ? -1074 : exponent - 1075);
}

struct AttributeStats {
  double minimum = 0;  // of the oriented values; both 0 in an empty index
  double maximum = 0;
  std::int32_t quantum = kNoQuantum;  // every value is a multiple of 2^quantum

  CULMEN_HOST_DEVICE double max_abs() const { return std::fmax(std::fabs(minimum), std::fabs(maximum)); }

  friend bool operator==(const AttributeStats&, const AttributeStats&) = default;
};

inline void add_value(AttributeStats& stats, double value) {
  stats.minimum = std::min(stats.minimum, value);
  stats.maximum = std::max(stats.maximum, value);
  stats.quantum = std::min(stats.quantum, quantum_exponent(value));
}

// Converts a bound in units to a value, rounded outwards: up for a maximum, down for a minimum.
CULMEN_HOST_DEVICE inline double value_outwards(double origin, double unit, double in_units, bool up) {
  const double extent = in_units * unit;
  const double error_bound = 0x1p-51 * (std::fabs(origin) + std::fabs(extent)) + 0x1p-1070;
  return origin + extent + (up ? error_bound : -error_bound);
}

// The units in which bounds measure an attribute: X = (a - origin) / 2^exponent, about 0..1. Bounds on sums of
// attributes are tight only if the attributes are of similar size. A power of two makes the multiplication exact.
struct BoundUnit {
  double origin = 0;
  double unit = 1;     // 2^exponent
  double inverse = 1;  // 2^-exponent
  int exponent = 0;

  CULMEN_HOST_DEVICE double to_units(double value) const { return (value - origin) * inverse; }

  double value_outwards(double in_units, bool up) const {
    return culmen::value_outwards(origin, unit, in_units, up);
  }
};

// Returns true if no sum of attributes in their units can round in binary64: values and origins are multiples of one
// power of two, and their sum is small enough.
inline bool sums_are_exact(std::span<const AttributeStats> stats, std::span<const BoundUnit> units) {
  int quantum = kNoQuantum;
  double extent = 0;
  for (std::size_t i = 0; i < stats.size(); ++i) {
    const int finest = std::min(stats[i].quantum, quantum_exponent(units[i].origin));
    quantum = std::min(quantum, finest - units[i].exponent);
    extent += std::fmax(std::fabs(units[i].to_units(stats[i].minimum)),
                        std::fabs(units[i].to_units(stats[i].maximum)));
  }
  return quantum >= -1000 && 2 * extent <= std::ldexp(1.0, std::min(quantum + 53, 1000));
}

// is_centred: values count from the middle of the range, not from its lower end.
inline BoundUnit bound_unit(const AttributeStats& stats, bool is_centred = false) {
  const double range = stats.maximum - stats.minimum;
  BoundUnit result;
  if (std::isfinite(range))
    result.origin = stats.minimum + (is_centred ? range / 2 : 0);  // else a - origin could overflow
  const double extent = std::isfinite(range) ? range : stats.max_abs();
  if (extent > 0) {
    int exponent = 0;
    const double mantissa =
        std::frexp(extent, &exponent);  // extent = mantissa * 2^exponent, mantissa in [1/2, 1)
    result.exponent = mantissa < 0.70710678 ? exponent - 1 : exponent;
    result.exponent =
        std::min(std::max(result.exponent, -1000), 1000);  // unit and inverse stay normal numbers
  }
  result.unit = std::ldexp(1.0, result.exponent);
  result.inverse = std::ldexp(1.0, -result.exponent);
  return result;
}

}  // namespace culmen
