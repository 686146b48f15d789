// child_bounds, child_ranges and highest_children of cpu/simd/kernels.h: decodes bounds rows, sums them up by the plan's coefficients
// and finds the highest bounds. Compiled once per target (see cpu/simd/vectors-inl.h).
#if defined(CULMEN_CPU_SIMD_CHILD_BOUNDS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_CHILD_BOUNDS_INL_H_
#undef CULMEN_CPU_SIMD_CHILD_BOUNDS_INL_H_
#else
#define CULMEN_CPU_SIMD_CHILD_BOUNDS_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cpu/simd/kernels.h"
#include "cpu/simd/vectors-inl.h"
#include "index/bound_row.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {

// Decodes the bounds of all kFanOut children; a second pass fills in outliers. A linear code is the bit pattern of the
// binary16 number 2^-24 * steps; any other code, shifted left by 5, that of 2^-19 * steps. Nothing here rounds.
HWY_INLINE void Decode(const BoundRow& row, float* HWY_RESTRICT bounds) {
#if HWY_NATIVE_FMA  // and so, on the targets we build for, native conversions
  const hn::CappedTag<float, 16> single;
  const hn::Rebind<std::uint16_t, decltype(single)> bits;
  const hn::Rebind<hwy::float16_t, decltype(single)> half;
  const hn::Rebind<std::uint8_t, decltype(single)> bytes;
  const int shift = row.is_linear() ? 0 : 5;
  const auto step = hn::Set(single, row.signed_least() * (row.is_linear() ? 0x1p24F : 0x1p19F));
  const auto base = hn::Set(single, row.base);
  for (std::size_t c = 0; c < kFanOut; c += hn::Lanes(single)) {
    const auto codes = hn::PromoteTo(bits, hn::LoadU(bytes, row.codes + c));
    const auto halves = hn::BitCast(half, hn::ShiftLeftSame(codes, shift));
    hn::Store(hn::MulAdd(step, hn::PromoteTo(single, halves), base), single, bounds + c);
  }
  if (!row.has_gap()) return;
  const auto outliers = hn::Set(single, row.bound_of_outliers());
  const hn::Rebind<std::uint32_t, decltype(single)> words;
  for (std::size_t c = 0; c < kFanOut; c += hn::Lanes(single)) {
    const auto codes = hn::PromoteTo(words, hn::LoadU(bytes, row.codes + c));
    const auto is_outlier = hn::Eq(codes, hn::Set(words, BoundScale::kOutlier));
    const auto others = hn::Load(single, bounds + c);
    hn::Store(hn::IfThenElse(hn::RebindMask(single, is_outlier), outliers, others), single, bounds + c);
  }
#else
  for (std::uint32_t c = 0; c < kFanOut; ++c) bounds[c] = row[c];
#endif
}

// The plan's error bound covers any order and contraction of this sum, so MulAdd may or may not fuse.
inline void ChildBounds(const BoundRow* bounds, double base, const BoundTerms& terms, double* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float row[kFanOut];
  HWY_ALIGN double sums[kFanOut];
  std::fill(sums, sums + kFanOut, base);
  for (const BoundTerm& term : terms) {
    Decode(bounds[term.row], row);
    const V coefficient = hn::Set(d, term.coefficient);
    for (std::size_t c = 0; c < kFanOut; c += lanes)
      hn::Store(hn::MulAdd(coefficient, LoadAsDouble(row + c), hn::Load(d, sums + c)), d, sums + c);
  }
  std::copy(sums, sums + kFanOut, out);
}

// BoundUnit::value_outwards of a whole row.
template <bool kUp>
HWY_INLINE void ValuesOutwards(const BoundRow& bounds, const BoundUnit& unit, double* out) {
  const D d;
  HWY_ALIGN float row[kFanOut];
  Decode(bounds, row);
  const V origin = hn::Set(d, unit.origin), of_unit = hn::Set(d, unit.unit), error = hn::Set(d, 0x1p-51);
  const V least = hn::Set(d, 0x1p-1070);
  for (std::size_t c = 0; c < kFanOut; c += hn::Lanes(d)) {
    const V extent = hn::Mul(LoadAsDouble(row + c), of_unit);
    const V error_bound = hn::Add(hn::Mul(error, hn::Add(hn::Abs(origin), hn::Abs(extent))), least);
    const V value = hn::Add(origin, extent);
    hn::StoreU(kUp ? hn::Add(value, error_bound) : hn::Sub(value, error_bound), d, out + c);
  }
}

inline void FindChildRanges(const BoundRow& minima, const BoundRow& maxima, const BoundUnit& unit,
                            ChildRanges& ranges) {
  ValuesOutwards<false>(minima, unit, ranges.first);
  ValuesOutwards<true>(maxima, unit, ranges.last);
}

inline std::uint64_t HighestChildren(const double* bounds, double& highest) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V largest = hn::LoadU(d, bounds);
  for (std::size_t c = lanes; c < kFanOut; c += lanes) largest = hn::Max(largest, hn::LoadU(d, bounds + c));
  HWY_ALIGN double lane[8];
  hn::Store(largest, d, lane);
  highest = *std::max_element(lane, lane + lanes);
  largest = hn::Set(d, highest);
  std::uint64_t children = 0;
  for (std::size_t c = 0; c < kFanOut; c += lanes) {
    std::uint8_t bits[8] = {};
    hn::StoreMaskBits(d, hn::Eq(hn::LoadU(d, bounds + c), largest), bits);
    children |= static_cast<std::uint64_t>(bits[0]) << c;
  }
  return children;
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
