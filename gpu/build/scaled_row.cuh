// A row's scaled attributes and angles, in a thread's registers, with sums in the order of index/row_coordinates.cc.
#pragma once

#include <cstdint>

#include "gpu/build/key_rule.h"
#include "index/order_key.h"

namespace culmen::gpu {

struct ScaledRow {
  double tails[kMaxGroupedAttributes];   // [i > 0]: the sum of the squares of 1 - x_i, ..., the last first
  double lowers[kMaxGroupedAttributes];  // [i > 0]: (1 - x_(i-1))^2
  double sum;                            // of the scaled attributes x
  double largest;                        // may be above 1
  double whole;                          // the sum before values are cut off at 0 and 1

  __device__ double upper(std::uint32_t coordinate) const {
    return coordinate == 0 ? sum : tails[coordinate];
  }
  __device__ double lower(std::uint32_t coordinate) const {
    return coordinate == 0 ? 1.0 : lowers[coordinate];
  }
};

// value(i): attribute i < num_attributes as stored.
template <typename Value>
__device__ void read_row(int num_attributes, const ScaleRef& scale, const Value& value, ScaledRow& scaled) {
  double sum = 0, largest = 0, whole = 0;
  for (int i = 0; i < num_attributes; ++i) {
    const double beyond = scaled_value(static_cast<double>(value(i)), scale.minimum[i], scale.inverse[i]);
    largest = beyond > largest ? beyond : largest;
    whole = whole + beyond;
    const double x = cut_off_at_one(beyond);
    sum = i == 0 ? x : sum + x;
    const double square = (1.0 - x) * (1.0 - x);
    scaled.tails[i] = square;
    if (i + 1 < num_attributes) scaled.lowers[i + 1] = square;
  }
  double tail = 0;
  for (int i = num_attributes - 1; i > 0; --i) {
    tail = tail + scaled.tails[i];
    scaled.tails[i] = tail;
  }
  scaled.sum = sum;
  scaled.largest = largest;
  scaled.whole = whole;
}

// A coordinate of a row, as RowCoordinates::Quotient.
struct Quotient {
  double upper, lower;
};

// The coordinate by which the part of a row is cut at a level. own: that of the part, if the level has kOwnCoordinate.
// value(i): attribute i as stored; scaled(): the row as read_row() reads it, not called for coordinates that are
// attributes.
template <typename Value, typename Scaled>
__device__ Quotient quotient_at(const PartitionLevel& level, Coordinate own, const ScaleRef& scale,
                                const Value& value, const Scaled& scaled) {
  const bool has_own = level.coordinate == kOwnCoordinate;
  if (has_own && own < kFirstAngle)
    return {scaled_to_one(static_cast<double>(value(own)), scale.minimum[own], scale.inverse[own]), 1.0};
  const std::uint32_t coordinate = has_own ? own - kFirstAngle : level.coordinate;
  const ScaledRow& row = scaled();
  return {row.upper(coordinate), row.lower(coordinate)};
}

}  // namespace culmen::gpu
