// mask_of of cpu/simd/kernels.h: sets a bit for each number that lies in one of a few intervals. children_with_keys: the
// same for the zones of a node's children. Compiled once per target (see cpu/simd/vectors-inl.h).
#if defined(CULMEN_CPU_SIMD_FILTER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_FILTER_INL_H_
#undef CULMEN_CPU_SIMD_FILTER_INL_H_
#else
#define CULMEN_CPU_SIMD_FILTER_INL_H_
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>
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

template <class D, class Mask>
HWY_INLINE std::uint64_t BitsOf(D d, Mask mask) {
  std::uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, sizeof bits);
  return bits;
}

// Reads whole vectors, and so up to a multiple of 64 bytes.
template <typename T>
HWY_INLINE void MaskOf(const T* numbers, std::size_t count, std::span<const Interval<T>> intervals,
                       std::uint64_t* mask) {
  const hn::CappedTag<T, 64 / sizeof(T)> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t first = 0; first < count; first += 64) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 64 && first + i < count; i += lanes) {
      const auto x = hn::LoadU(d, numbers + first + i);
      auto inside = hn::MaskFromVec(hn::Zero(d));
      for (const Interval<T>& interval : intervals)
        inside = hn::Or(inside, hn::And(NotBelow(x, hn::Set(d, interval.minimum)),
                                        NotAbove(x, hn::Set(d, interval.maximum))));
      word |= BitsOf(d, inside) << i;
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

inline void MaskOfKeys8(const std::uint8_t* keys, std::size_t count,
                        std::span<const Interval<std::uint8_t>> intervals, std::uint64_t* mask) {
  MaskOf(keys, count, intervals, mask);
}
inline void MaskOfKeys16(const std::uint16_t* keys, std::size_t count,
                         std::span<const Interval<std::uint16_t>> intervals, std::uint64_t* mask) {
  MaskOf(keys, count, intervals, mask);
}
inline void MaskOfKeys32(const std::uint32_t* keys, std::size_t count,
                         std::span<const Interval<std::uint32_t>> intervals, std::uint64_t* mask) {
  MaskOf(keys, count, intervals, mask);
}
inline void MaskOfKeys64(const std::uint64_t* keys, std::size_t count,
                         std::span<const Interval<std::uint64_t>> intervals, std::uint64_t* mask) {
  MaskOf(keys, count, intervals, mask);
}

inline std::uint32_t ChildrenWithKeys(const ChildZones& zones, const Interval<std::int64_t>& interval,
                                      std::uint64_t set) {
  const hn::CappedTag<std::int64_t, 8> d;
  const auto first = hn::Set(d, interval.minimum), last = hn::Set(d, interval.maximum);
  const auto bits = hn::Set(d, static_cast<std::int64_t>(set));
  std::uint32_t children = 0;
  for (std::size_t c = 0; c < kFanOut; c += hn::Lanes(d)) {
    const auto overlaps = hn::And(NotAbove(hn::LoadU(d, zones.minimum + c), last),
                                  NotBelow(hn::LoadU(d, zones.maximum + c), first));
    const auto common = hn::And(hn::LoadU(d, reinterpret_cast<const std::int64_t*>(zones.set) + c), bits);
    const auto may_pass = hn::And(overlaps, hn::Not(hn::Eq(common, hn::Zero(d))));
    children |= static_cast<std::uint32_t>(BitsOf(d, may_pass)) << c;
  }
  return children;
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
