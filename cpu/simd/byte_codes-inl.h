// byte_codes of cpu/simd/kernels.h. Compiled once per target (see cpu/simd/vectors-inl.h).
#if defined(CULMEN_CPU_SIMD_BYTE_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_BYTE_CODES_INL_H_
#undef CULMEN_CPU_SIMD_BYTE_CODES_INL_H_
#else
#define CULMEN_CPU_SIMD_BYTE_CODES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/simd/kernels.h"
#include "cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {

// The sums of squares of a vector of rows so far.
struct ByteSums {
  V codes, losses;
};

template <typename T>
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, D>> ByteCode(const T* values, const ByteScale& scale,
                                                         ByteSums& sums) {
  const D d;
  const hn::Rebind<std::int32_t, D> integers;
  const V place = hn::Mul(hn::Sub(LoadAsDouble(values), hn::Set(d, scale.middle)), hn::Set(d, scale.inverse));
  const V inside = hn::Min(hn::Max(place, hn::Set(d, -127.0)), hn::Set(d, 127.0));
  const auto code = hn::DemoteTo(integers, hn::Add(inside, hn::Set(d, 128.5)));
  const V rounded = hn::Sub(hn::PromoteTo(d, code), hn::Set(d, 128.0));
  const V loss = hn::Sub(place, rounded);
  sums.codes = hn::Add(sums.codes, hn::Mul(rounded, rounded));
  sums.losses = hn::Add(sums.losses, hn::Mul(loss, loss));
  return code;
}

// Of the first `num_rows` lanes, which may be more than there are.
HWY_INLINE double HighestOfRows(V squares, std::size_t num_rows) {
  const D d;
  num_rows = std::min(num_rows, hn::Lanes(d));
  return hn::GetLane(hn::MaxOfLanes(d, hn::IfThenElseZero(hn::FirstN(d, num_rows), squares)));
}

template <typename T>
HWY_INLINE ByteSquares ByteCodes(const T* values, std::size_t stride, std::uint32_t num_rows,
                                 std::span<const ByteScale> scales, std::uint32_t* words) {
  const D d;
  const hn::Rebind<std::int32_t, D> integers;
  const hn::Rebind<std::uint32_t, D> words_of_rows;
  ByteSquares squares = {0, 0};
  const std::size_t lanes = hn::Lanes(d);
  const std::size_t padded_rows = (std::size_t{num_rows} + 15) / 16 * 16;
  for (std::size_t first = 0; first < padded_rows; first += lanes) {
    ByteSums sums = {hn::Zero(d), hn::Zero(d)};
    for (std::size_t quad = 0; quad < scales.size(); quad += 4) {
      auto word = hn::Zero(integers);
      for (std::size_t a = std::min(quad + 4, scales.size()); a-- > quad;)
        word = hn::Or(hn::ShiftLeft<8>(word), ByteCode(values + a * stride + first, scales[a], sums));
      hn::StoreU(hn::BitCast(words_of_rows, word), words_of_rows, words + quad / 4 * stride + first);
    }
    const std::size_t left = num_rows - std::min<std::size_t>(first, num_rows);
    squares.codes = std::max(squares.codes, HighestOfRows(sums.codes, left));
    squares.losses = std::max(squares.losses, HighestOfRows(sums.losses, left));
  }
  return squares;
}

inline ByteSquares ByteCodesFloat(const float* values, std::size_t stride, std::uint32_t num_rows,
                                  std::span<const ByteScale> scales, std::uint32_t* words) {
  return ByteCodes(values, stride, num_rows, scales, words);
}

inline ByteSquares ByteCodesDouble(const double* values, std::size_t stride, std::uint32_t num_rows,
                                   std::span<const ByteScale> scales, std::uint32_t* words) {
  return ByteCodes(values, stride, num_rows, scales, words);
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
