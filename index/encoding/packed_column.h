// A column of numbers as bytes, without losing a bit (docs/format.md, "Columns"): a frame of reference and differences to
// it of as few bits as they need, of the numbers themselves or of the steps from row to row. Floating values become
// numbers in one of two ways: decimals, as integers with a power of ten that all of them share (ALP: Afroozeh, Kuffó and
// Boncz, SIGMOD 2024), or their bits, in an order in which close values are close numbers. Values that are no such
// decimals are stored beside the numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/host_device.h"

namespace culmen::encoding {

// A reader loads 8 bytes at a time, so there must be so many bytes after the last column.
inline constexpr std::size_t kReadAhead = 8;

// Packed numbers have up to 57 bits, so that eight bytes from its first one on hold any of them, or 64.
inline constexpr int kMostOddBits = 57;

// Powers of ten that a double holds exactly.
inline constexpr int kMostExponent = 22;
inline constexpr double kPowersOfTen[kMostExponent + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                           1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                           1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// The first byte of a column: an exponent or kBits; how long the base is, as a power of two; kDeltas or not.
inline constexpr std::uint8_t kBits = 31, kFormMask = 31, kDeltas = 128;
inline constexpr int kBaseShift = 5, kBaseMask = 3;
// The second one: the bits of a packed number, and kExceptions or not.
inline constexpr std::uint8_t kExceptions = 128;

// A column as its bytes say. Every number is base + a packed number; with deltas, the one before it + that, after `first`.
struct PackedColumn {
  std::size_t count = 0;
  int exponent = 0;  // decimals and integers: value = number / 10^exponent
  bool is_bits = false;
  bool has_deltas = false;
  int bits = 0;
  std::uint64_t base = 0, first = 0;  // modulo 2^64
  const std::byte* packed = nullptr;  // kReadAhead bytes after them are readable
  std::size_t num_exceptions = 0;
  const std::byte* exception_rows = nullptr;  // u16, ascending, below count
  const std::byte* exceptions = nullptr;      // values
};

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

constexpr std::uint64_t packed_bytes(std::uint64_t count, int bits) {
  return (count * static_cast<std::uint64_t>(bits) + 7) / 8;
}

CULMEN_HOST_DEVICE constexpr std::uint64_t low_bits(int bits) {
  return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

inline std::uint64_t packed_number(const std::byte* packed, std::uint64_t index, int bits) {
  const std::uint64_t at = index * static_cast<std::uint64_t>(bits);
  return (load<std::uint64_t>(packed + at / 8) >> at % 8) & low_bits(bits);
}

// An integer from -2^51 to 2^51 as a double. The same for all bits on every machine: only writers keep to that range.
inline constexpr double kDoubleShift = 0x1.8p52;
CULMEN_HOST_DEVICE inline double double_of(std::uint64_t number) {
  return __builtin_bit_cast(double, number + __builtin_bit_cast(std::uint64_t, kDoubleShift)) - kDoubleShift;
}

// The bits of a floating value so that they are in its order as signed integers, and back.
template <typename T>
using BitsOf = std::conditional_t<sizeof(T) == sizeof(float), std::int32_t, std::int64_t>;
template <typename T>
std::uint64_t ordered_bits(T value) {
  const auto bits = std::bit_cast<BitsOf<T>>(value);
  constexpr int kSign = 8 * sizeof(T) - 1;
  const auto all_but_sign = static_cast<BitsOf<T>>(low_bits(kSign));
  return static_cast<std::uint64_t>(std::int64_t{bits ^ ((bits >> kSign) & all_but_sign)});
}
template <typename T>
CULMEN_HOST_DEVICE T from_ordered_bits(std::uint64_t number) {
  const auto bits = static_cast<BitsOf<T>>(number);
  constexpr int kSign = 8 * sizeof(T) - 1;
  const auto all_but_sign = static_cast<BitsOf<T>>(low_bits(kSign));
  return __builtin_bit_cast(T, static_cast<BitsOf<T>>(bits ^ ((bits >> kSign) & all_but_sign)));
}

// The most bytes that a column of so many values has.
constexpr std::uint64_t most_column_bytes(std::uint64_t count, std::size_t value_bytes) {
  constexpr std::uint64_t kHeader = 12;
  return kHeader + count * value_bytes;
}

// Reads the column of `count` values that `bytes` begins with, and takes it away from them. Returns nothing if it does not lie within
// them, or is not one that decoders take. T: float, double, std::int64_t.
template <typename T>
std::optional<PackedColumn> take_column(std::span<const std::byte>& bytes, std::size_t count);

// The values. This is what an encoded column means.
template <typename T>
void decode_plainly(const PackedColumn& column, T* values);

// The same by the widest vectors of this machine.
template <typename T>
void decode(const PackedColumn& column, T* values);

}  // namespace culmen::encoding
