// decode() of packed_column.h, compiled once per instruction set.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "index/encoding/decode.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include <algorithm>

#include "index/encoding/packed_column.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::encoding::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using U = hn::RebindToUnsigned<D>;

// Rows at a time: their numbers stay in the first-level cache. A multiple of 8, so that each time begins at a whole byte.
constexpr std::size_t kRowsAtOnce = 256;

// A load, a shift and a mask for each number.
HWY_INLINE void Unpack(const std::byte* packed, std::size_t count, int bits, std::uint64_t base,
                       std::uint64_t* numbers) {
  const std::uint64_t mask = low_bits(bits), step = static_cast<std::uint64_t>(bits);
  for (std::uint64_t i = 0, at = 0; i < count; ++i, at += step)
    numbers[i] = base + ((load<std::uint64_t>(packed + at / 8) >> at % 8) & mask);
}

// `number`: the last one before these, then the last of these.
HWY_INLINE void Add(std::uint64_t* numbers, std::size_t count, std::uint64_t& number) {
  for (std::size_t i = 0; i < count; ++i) numbers[i] = number += numbers[i];
}

HWY_INLINE void Store(hn::Vec<D> values, double* to) {
  hn::StoreU(values, D(), to);
}
HWY_INLINE void Store(hn::Vec<D> values, float* to) {
  const hn::Rebind<float, D> narrow;
  hn::StoreU(hn::DemoteTo(narrow, values), narrow, to);
}

template <typename T>
HWY_INLINE void Decimals(const std::uint64_t* numbers, std::size_t count, int exponent, T* values) {
  const D d;
  const U u;
  const auto shift = hn::Set(d, kDoubleShift), power = hn::Set(d, kPowersOfTen[exponent]);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto shifted = hn::Add(hn::LoadU(u, numbers + i), hn::BitCast(u, shift));
    const auto integers = hn::Sub(hn::BitCast(d, shifted), shift);
    Store(exponent == 0 ? integers : hn::Div(integers, power), values + i);
  }
  for (; i < count; ++i) values[i] = static_cast<T>(double_of(numbers[i]) / kPowersOfTen[exponent]);
}

template <typename T>
HWY_INLINE void ToValues(const PackedColumn& column, const std::uint64_t* numbers, std::size_t count,
                         T* values) {
  if constexpr (std::is_integral_v<T>) {
    std::memcpy(values, numbers, count * sizeof(T));
  } else if (column.is_bits) {
    for (std::size_t i = 0; i < count; ++i) values[i] = from_ordered_bits<T>(numbers[i]);
  } else {
    Decimals(numbers, count, column.exponent, values);
  }
}

template <typename T>
HWY_INLINE void Decode(const PackedColumn& column, T* values) {
  std::uint64_t numbers[kRowsAtOnce];
  std::uint64_t number = column.first;
  std::size_t row = 0;
  if (column.has_deltas) ToValues(column, &number, row = 1, values);
  const std::byte* packed = column.packed;
  while (row < column.count) {
    const std::size_t count = std::min(column.count - row, kRowsAtOnce);
    Unpack(packed, count, column.bits, column.base, numbers);
    if (column.has_deltas) Add(numbers, count, number);
    ToValues(column, numbers, count, values + row);
    row += count;
    packed += packed_bytes(count, column.bits);
  }
  for (std::size_t i = 0; i < column.num_exceptions; ++i)
    values[load<std::uint16_t>(column.exception_rows + i * sizeof(std::uint16_t))] =
        load<T>(column.exceptions + i * sizeof(T));
}

inline void DecodeFloats(const PackedColumn& column, float* values) {
  Decode(column, values);
}
inline void DecodeDoubles(const PackedColumn& column, double* values) {
  Decode(column, values);
}
inline void DecodeIntegers(const PackedColumn& column, std::int64_t* values) {
  Decode(column, values);
}

}  // namespace culmen::encoding::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace culmen::encoding {

HWY_EXPORT(DecodeFloats);
HWY_EXPORT(DecodeDoubles);
HWY_EXPORT(DecodeIntegers);

template <>
void decode(const PackedColumn& column, float* values) {
  HWY_DYNAMIC_DISPATCH(DecodeFloats)(column, values);
}
template <>
void decode(const PackedColumn& column, double* values) {
  HWY_DYNAMIC_DISPATCH(DecodeDoubles)(column, values);
}
template <>
void decode(const PackedColumn& column, std::int64_t* values) {
  HWY_DYNAMIC_DISPATCH(DecodeIntegers)(column, values);
}

}  // namespace culmen::encoding

#endif  // HWY_ONCE
