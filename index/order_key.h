// Order keys, and how they are computed from a row. Host and device share the arithmetic, so they agree on every key.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace culmen {

// Rows ascend by key, then by id. From the top bit: partition (20 bits), largest scaled attribute (30, descending), sum
// of the scaled attributes, each clamped to 0..1 (14, descending). If the largest attribute ties, as in tables full of
// ties, the sum keeps similar rows together. With RowOrder::sum the mean of all scaled attributes, not clamped, takes the
// place of the largest one; in wide tables the length of the row (index/partitioner.h) does.
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

// Floats in [0, 2) have the order of their bits, which are below 2^30.
CULMEN_HOST_DEVICE inline std::uint64_t descending_bits(float zero_to_two) {
  constexpr std::uint32_t kLast = (std::uint32_t{1} << kLargestBits) - 1;
  const auto bits = __builtin_bit_cast(std::uint32_t, zero_to_two);
  return kLast - (bits < kLast ? bits : kLast);
}

// The bits of a key below the partition. `largest` >= 0 is the largest scaled attribute, `mean` the mean of all of
// them, each clamped to 0..1. A `largest` above 1, beyond the range of the build, becomes 2 - 1 / largest, so the rows
// of a rising column stay in order as well.
CULMEN_HOST_DEVICE inline OrderKey pack_order(double largest, double mean) {
  const double zero_to_two = largest > 1.0 ? 2.0 - 1.0 / largest : largest;
  const auto sum_level = static_cast<std::uint64_t>(mean * ((1 << kSumBits) - 1));
  return (descending_bits(static_cast<float>(zero_to_two)) << kSumBits) | (((1 << kSumBits) - 1) - sum_level);
}

// The first part of a key in RowOrder::sum: at least 0, also if sums overflow.
CULMEN_HOST_DEVICE inline double mean_in_order(double sum, double num_attributes) {
  const double mean = sum / num_attributes;
  return mean > 0 ? mean : 0.0;
}

// Scales the range that begins at `minimum` to 0..1. inverse = 1 / (half the range): the range itself may overflow.
CULMEN_HOST_DEVICE inline double scaled_value(double value, double minimum, double inverse) {
  return (value * 0.5 - minimum * 0.5) * inverse;
}
CULMEN_HOST_DEVICE inline double cut_off_at_one(double x) {
  return x < 0.0 ? 0.0 : x < 1.0 ? x : 1.0;
}
CULMEN_HOST_DEVICE inline double scaled_to_one(double value, double minimum, double inverse) {
  return cut_off_at_one(scaled_value(value, minimum, inverse));
}

}  // namespace culmen
