// Directed rounding that leaves the processor's rounding mode, which belongs to the host program, as it is.
#pragma once

#include <cmath>
#include <limits>

namespace culmen {

// The smallest float32 that is not below `value`.
inline float round_up_to_float(double value) {
  const float nearest = static_cast<float>(value);
  return static_cast<double>(nearest) < value
             ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
             : nearest;
}

// The largest float32 that is not above `value`.
inline float round_down_to_float(double value) {
  return -round_up_to_float(-value);
}

}  // namespace culmen
