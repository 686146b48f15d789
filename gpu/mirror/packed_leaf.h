// The rows of a leaf on a device in few bytes (DeviceMemory::compressed): the forms of index/encoding/packed_column.h, but without deltas, so that
// each value can be read alone, and in whole words.
//
//   ColumnHead [1 + num_attributes]   of the ids and of the attributes
//   words of 8 bytes, for each column: the rows of its exceptions (u16), their values (double), the packed numbers
//   kReadAheadWords more
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/host_device.h"
#include "index/encoding/packed_column.h"

namespace culmen {
struct Snapshot;
}

namespace culmen::gpu {

struct alignas(16) ColumnHead {
  std::uint64_t base;        // modulo 2^64
  std::uint32_t first_word;  // of the leaf
  std::uint8_t bits;         // of a packed number
  std::uint8_t exponent;     // a power of ten, or encoding::kBits
  std::uint16_t num_exceptions;
};

inline constexpr std::size_t kPackedLeafAlignment = alignof(ColumnHead);
inline constexpr std::uint32_t kFirstAttribute = 1;  // among the columns
// Two words are loaded for each number.
inline constexpr std::size_t kReadAheadWords = 2;

// As CUDA's and the host's compilers compute it: products of exact powers up to 10^22 are exact.
CULMEN_HOST_DEVICE inline double power_of_ten(int exponent) {
  double power = 1;
  if ((exponent & 1) != 0) power *= 1e1;
  if ((exponent & 2) != 0) power *= 1e2;
  if ((exponent & 4) != 0) power *= 1e4;
  if ((exponent & 8) != 0) power *= 1e8;
  if ((exponent & 16) != 0) power *= 1e16;
  return power;
}

// Columns of decimals with more digits after the point are stored as their bits (see quotient).
inline constexpr int kMostPackedExponent = 21;

// number / power, rounded once, with few instructions; number: an integer from -2^49 to 2^49; power: of ten, up to
// kMostPackedExponent. The product with the reciprocal is off by less than two units in its last place, and one step of Newton's
// method brings it within 2^-52 of such a unit of the quotient. That is at least 1 / (2 * 5^21) of one away from the middle
// between two doubles.
CULMEN_HOST_DEVICE inline double quotient(double number, double power, double reciprocal) {
  const double near = number * reciprocal;
  return std::fma(std::fma(-near, power, number), reciprocal, near);
}

// Where the parts of a column are.
struct PackedWords {
  const std::uint64_t* first;
  std::uint32_t num_exceptions;

  CULMEN_HOST_DEVICE const std::uint16_t* exception_rows() const {
    return reinterpret_cast<const std::uint16_t*>(first);
  }
  CULMEN_HOST_DEVICE const double* exceptions() const {
    return reinterpret_cast<const double*>(first + (num_exceptions + 3) / 4);
  }
  CULMEN_HOST_DEVICE const std::uint64_t* numbers() const {
    return first + (num_exceptions + 3) / 4 + num_exceptions;
  }
};

// The packed number that begins `shift` bits after the first of two words.
CULMEN_HOST_DEVICE inline std::uint64_t packed_number(std::uint64_t first, std::uint64_t second,
                                                      std::uint32_t shift, std::uint64_t mask) {
  return (first >> shift | second << 1 << (63 - shift)) & mask;
}

// Reads rows one by one. This is what a packed leaf means.
struct PackedLeaf {
  const std::byte* bytes;

  CULMEN_HOST_DEVICE const ColumnHead& head(std::uint32_t column) const {
    return reinterpret_cast<const ColumnHead*>(bytes)[column];
  }
  CULMEN_HOST_DEVICE PackedWords words(const ColumnHead& head) const {
    return {reinterpret_cast<const std::uint64_t*>(bytes) + head.first_word, head.num_exceptions};
  }
  CULMEN_HOST_DEVICE std::uint64_t number(const ColumnHead& head, std::uint32_t row) const {
    const std::uint32_t at = row * head.bits;
    const std::uint64_t* from = words(head).numbers() + at / 64;
    return head.base + packed_number(from[0], from[1], at % 64, encoding::low_bits(head.bits));
  }
  // T: the index's value type.
  template <typename T>
  CULMEN_HOST_DEVICE T value(std::uint32_t attribute, std::uint32_t row) const {
    const ColumnHead& column = head(kFirstAttribute + attribute);
    const std::uint64_t packed = number(column, row);
    if (column.exponent == encoding::kBits) return encoding::from_ordered_bits<T>(packed);
    const PackedWords parts = words(column);
    for (std::uint32_t i = 0; i < parts.num_exceptions; ++i)
      if (parts.exception_rows()[i] == row) return static_cast<T>(parts.exceptions()[i]);
    return static_cast<T>(encoding::double_of(packed) / power_of_ten(column.exponent));
  }
  CULMEN_HOST_DEVICE std::int64_t id(std::uint32_t row) const {
    return static_cast<std::int64_t>(number(head(0), row));
  }
};

// Appends the rows of a leaf, a multiple of kPackedLeafAlignment bytes.
void pack_leaf(const Snapshot& snapshot, std::uint32_t slot, std::vector<std::byte>& bytes);

}  // namespace culmen::gpu
