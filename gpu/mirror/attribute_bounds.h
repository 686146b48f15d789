// AttributeBounds: which stored bounds are an attribute's extremes, and in which unit.
#pragma once

#include <cstdint>

namespace culmen::gpu {

// Converts stored bounds to an attribute's extremes: origin + unit * the number in the row.
struct AttributeBounds {
  double origin, unit;
  std::int32_t maximum_row, minimum_row;
};

}  // namespace culmen::gpu
