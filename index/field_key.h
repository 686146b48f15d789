// Field keys: the values of filter columns as int64, in the same order. So ranges, comparisons and packing know one
// type. A boolean, integer, date or timestamp is its own key, a text's key is its code in the column's dictionary.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "base/host_device.h"
#include "culmen/schema.h"

namespace culmen {

// Texts that filters may test are codes of a dictionary; others are in the leaves.
inline bool has_dictionary(const Field& field) {
  return field.is_text() && field.role == FieldRole::filter;
}
inline bool is_stored_text(const Field& field) {
  return field.is_text() && field.role == FieldRole::stored;
}

inline constexpr std::int64_t kAllButSign = 0x7fffffffffffffff;

// Of a number that is not NaN. -0 and 0 have one key.
inline std::int64_t key_of_double(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value + 0.0);
  return bits ^ (bits >> 63 & kAllButSign);
}

CULMEN_HOST_DEVICE inline double double_of_key(std::int64_t key) {
  return __builtin_bit_cast(double, key ^ (key >> 63 & kAllButSign));  // std::bit_cast is no device function
}

// A key as a number that partitions are cut by. In the order of the keys, though integers beyond 2^53 are rounded.
inline double cut_value(const Field& field, std::int64_t key) {
  return field.format.type == ColumnType::floating ? double_of_key(key) : static_cast<double>(key);
}
inline constexpr double kMissingCutValue = -std::numeric_limits<double>::infinity();

// The bit of a key in the small set that a zone keeps. Neighbouring keys have different bits.
CULMEN_HOST_DEVICE inline std::uint64_t key_set_bit(std::int64_t key) {
  return std::uint64_t{1} << (static_cast<std::uint64_t>(key) & 63);
}

CULMEN_HOST_DEVICE inline std::uint64_t key_distance(std::int64_t first, std::int64_t last) {
  return static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
}

// Of the keys `first` to `last`.
CULMEN_HOST_DEVICE inline std::uint64_t key_set_bits(std::int64_t first, std::int64_t last) {
  const std::uint64_t distance = key_distance(first, last);
  if (distance >= 63) return ~std::uint64_t{0};
  const std::uint64_t bits = (std::uint64_t{2} << distance) - 1;
  const auto turn = static_cast<unsigned>(first) & 63;
  return bits << turn | bits >> ((64 - turn) & 63);
}

}  // namespace culmen
