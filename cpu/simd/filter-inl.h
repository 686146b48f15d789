// mask_of of cpu/simd/kernels.h: sets a bit for each number that lies in one of a few intervals.
// Compiled once per target (see cpu/simd/vectors-inl.h).
#if defined(CULMEN_CPU_SIMD_FILTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_FILTER_INL_H_
#undef CULMEN_CPU_SIMD_FILTER_INL_H_
#else
#define CULMEN_CPU_SIMD_FILTER_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/simd/kernels.h"
#include "cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {

// x >= limit and x <= limit, of numbers that are not NaN. Highway 1.0 has no such comparison of integers.
template <class Vec>
HWY_INLINE auto NotBelow(Vec x, Vec limit) {
  return hn::Not(hn::Lt(x, limit));
}
template <class Vec>
HWY_INLINE auto NotAbove(Vec x, Vec limit) {
  return hn::Not(hn::Gt(x, limit));
}

// Reads whole vectors, and so up to 15 numbers after the last.
template <typename T>
HWY_INLINE void MaskOf(const T* numbers, std::size_t count, std::span<const Interval<T>> intervals,
                       std::uint64_t* mask) {
  const hn::CappedTag<T, 16> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t first = 0; first < count; first += 64) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 64 && first + i < count; i += lanes) {
      const auto x = hn::LoadU(d, numbers + first + i);
      auto inside = hn::MaskFromVec(hn::Zero(d));
      for (const Interval<T>& interval : intervals)
        inside = hn::Or(inside, hn::And(NotBelow(x, hn::Set(d, interval.minimum)),
                                        NotAbove(x, hn::Set(d, interval.maximum))));
      std::uint8_t bits[8] = {};
      hn::StoreMaskBits(d, inside, bits);
      word |= (bits[0] | static_cast<std::uint64_t>(bits[1]) << 8) << i;
    }
    if (count - first < 64) word &= (std::uint64_t{1} << (count - first)) - 1;
    mask[first / 64] = word;
  }
}

inline void MaskOfFloats(const float* values, std::size_t count, std::span<const Interval<float>> intervals,
                         std::uint64_t* mask) {
  MaskOf(values, count, intervals, mask);
}

inline void MaskOfDoubles(const double* values, std::size_t count,
                          std::span<const Interval<double>> intervals, std::uint64_t* mask) {
  MaskOf(values, count, intervals, mask);
}

inline void MaskOfIds(const std::int64_t* ids, std::size_t count,
                      std::span<const Interval<std::int64_t>> intervals, std::uint64_t* mask) {
  MaskOf(ids, count, intervals, mask);
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
