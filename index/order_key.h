// Order keys, and the arithmetic that leads from a row to its key, for host and device alike: both put a
// row into the same place. index/partitioner.h says what the levels of a partitioner are.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/host_device.h"

namespace culmen {

// Where a row stands: ascending by key, then by id. From the top bit: partition (20 bits), largest scaled
// attribute (30, descending), sum of scaled attributes, none of them above 1 (14, descending). The sum puts alike rows together
// where the largest attribute is the same for many, as in tables full of ties.
using OrderKey = std::uint64_t;
inline constexpr int kPartitionBits = 20;
inline constexpr int kLargestBits = 30;
inline constexpr int kSumBits = 14;
static_assert(kPartitionBits + kLargestBits + kSumBits == 64);
inline constexpr std::uint32_t kMaxPartitions = 1u << kPartitionBits;
inline constexpr OrderKey kOrderMask = ~OrderKey{0} >> kPartitionBits;

CULMEN_HOST_DEVICE inline std::uint32_t partition_of(OrderKey key) {
  return static_cast<std::uint32_t>(key >> (64 - kPartitionBits));
}

CULMEN_HOST_DEVICE inline OrderKey key_in(std::uint32_t partition, OrderKey order) {
  return (OrderKey{partition} << (64 - kPartitionBits)) | (order & kOrderMask);
}

// Floats in [0, 2) are ordered as their bits, which end below 2^30.
CULMEN_HOST_DEVICE inline std::uint64_t descending_bits(float zero_to_two) {
  constexpr std::uint32_t kLast = (std::uint32_t{1} << kLargestBits) - 1;
  const auto bits = __builtin_bit_cast(std::uint32_t, zero_to_two);
  return kLast - (bits < kLast ? bits : kLast);
}

// Where a row stands within its partition: ascending. `largest` is the largest scaled attribute, from 0 on, `mean` that
// of all of them, each cut off at 1. What lies beyond the range, as the values of a column that always rises, is ordered
// too: by 2 - 1 / largest, which is below 2.
CULMEN_HOST_DEVICE inline OrderKey pack_order(double largest, double mean) {
  const double zero_to_two = largest > 1.0 ? 2.0 - 1.0 / largest : largest;
  const auto sum_level = static_cast<std::uint64_t>(mean * ((1 << kSumBits) - 1));
  return (descending_bits(static_cast<float>(zero_to_two)) << kSumBits) | (((1 << kSumBits) - 1) - sum_level);
}

// `value`, with the range from `minimum` on scaled to 0..1; inverse = 1 / (half the range). Halves: the range
// itself may overflow.
CULMEN_HOST_DEVICE inline double scaled_value(double value, double minimum, double inverse) {
  return (value * 0.5 - minimum * 0.5) * inverse;
}
CULMEN_HOST_DEVICE inline double cut_off_at_one(double x) {
  return x < 0.0 ? 0.0 : x < 1.0 ? x : 1.0;
}
CULMEN_HOST_DEVICE inline double scaled_to_one(double value, double minimum, double inverse) {
  return cut_off_at_one(scaled_value(value, minimum, inverse));
}

// One level of a partitioner: each part so far is cut into `parts`, by `coordinate`, or by one of its own: of attribute
// i, or, from kFirstAngle on, of angle i - kFirstAngle.
inline constexpr std::uint32_t kOwnCoordinate = ~0u;
inline constexpr std::uint8_t kFirstAngle = 128;
struct PartitionLevel {
  std::uint32_t parts;
  std::uint32_t first_step;  // of the bisection: the largest power of two that is not above parts - 1
  std::uint32_t coordinate;
  std::uint64_t first_cut;  // of all levels' cuts

  // Where the cuts of part `partition`, numbered as on the level before, begin among those of this level.
  CULMEN_HOST_DEVICE std::size_t cuts_of(std::uint32_t partition) const {
    return static_cast<std::size_t>(partition) * (parts - 1);
  }
};

// 0: the sum. The angles take turns after it, from 1 to num_attributes - 1.
CULMEN_HOST_DEVICE inline std::uint32_t coordinate_of_level(std::size_t level, std::size_t num_attributes) {
  return level == 0 ? 0 : static_cast<std::uint32_t>(1 + (level - 1) % (num_attributes - 1));
}

// Where cut `part` of `parts` stands among sorted rows. Each shell takes half of what the ones below it left:
// most answers come from the highest sums, so the cells are smallest there.
CULMEN_HOST_DEVICE inline std::uint64_t rank_of_cut(std::size_t level, std::uint64_t part,
                                                    std::uint64_t parts, std::uint64_t num_rows) {
  return level == 0 ? num_rows - (num_rows >> part) : part * num_rows / parts;
}

// What is cut of a row; infinity where both are 0.
CULMEN_HOST_DEVICE inline double cut_ratio(double upper, double lower) {
  const double ratio = upper / lower;
  return ratio >= 0 ? ratio : HUGE_VAL;
}

// The number, on this level, of the part of a row that was in `partition` so far.
// cuts: of the level; part p's are cuts[p * (parts - 1)] and on, ascending.
CULMEN_HOST_DEVICE inline std::uint32_t refined(std::uint32_t partition, const PartitionLevel& level,
                                                const double* cuts, double upper, double lower) {
  const std::uint32_t num_cuts = level.parts - 1;
  const double* first = cuts + level.cuts_of(partition);
  // Bisection without a branch, which nobody could predict.
  std::uint32_t part = 0;
  for (std::uint32_t step = level.first_step; step > 0; step /= 2)
    if (part + step <= num_cuts) part = upper >= first[part + step - 1] * lower ? part + step : part;
  // Every other run is numbered backwards: neighbours in number are neighbours in the table.
  return partition * level.parts + (partition % 2 == 0 ? part : num_cuts - part);
}

}  // namespace culmen
