// Bodies of cpu/simd/kernels.h, included once per target. No include guard, on purpose: see Highway's
// documentation.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/simd/kernels.h"
#include "index/snapshot.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

inline const char* TargetName() {
  return hwy::TargetName(HWY_TARGET);
}

// One rounding, as the contract wants it: targets without fma do it lane by lane.
HWY_INLINE V Fma(V a, V b, V c) {
#if HWY_NATIVE_FMA
  return hn::MulAdd(a, b, c);
#else
  const D d;
  HWY_ALIGN double x[8], y[8], z[8];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(c, d, z);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) z[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, z);
#endif
}

HWY_INLINE V LoadAsDouble(const double* from) {
  return hn::LoadU(D(), from);
}
HWY_INLINE V LoadAsDouble(const float* from) {
  const D d;
  return hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, D>(), from));
}

// The bounds of all kFanOut children, of outliers in a pass of their own. Where codes are linear they are the bits of binary16 numbers, 2^-24 times their
// steps; else they are so if shifted by 5, 2^-19 times their steps. Nothing here rounds.
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

// The rows of one vector, as bits, that pass floor and ranges.
template <typename T>
HWY_INLINE std::uint64_t PassingRows(const T* values, std::size_t stride, const ResolvedQuery& query, V score,
                                     double floor) {
  const D d;
  auto mask = hn::Ge(score, hn::Set(d, floor));
  for (const RangePredicate& range : query.where) {
    const V value = LoadAsDouble(values + static_cast<std::size_t>(range.attribute) * stride);
    mask = hn::And(
        mask, hn::And(hn::Ge(value, hn::Set(d, range.minimum)), hn::Le(value, hn::Set(d, range.maximum))));
  }
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(d, mask, bits);
  return bits[0];
}

// Scores kVectors vectors of rows at once: as many independent fma chains, which hides their latency. Returns
// the rows that pass floor and ranges, bit v * lanes + l; `scores` is written only if there are any, which is
// rare.
template <std::size_t kVectors, typename T>
HWY_INLINE std::uint64_t ScoreGroup(const T* values, std::size_t stride, const ResolvedQuery& query,
                                    double floor, double* scores) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V accumulator[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) accumulator[v] = hn::Set(d, query.offset);
  for (const Term& term : query.terms) {
    const V weight = hn::Set(d, term.weight);
    const T* column = values + static_cast<std::size_t>(term.attribute) * stride;
    for (std::size_t v = 0; v < kVectors; ++v)
      accumulator[v] = Fma(weight, LoadAsDouble(column + v * lanes), accumulator[v]);
  }
  V highest = accumulator[0];
  for (std::size_t v = 1; v < kVectors; ++v) highest = hn::Max(highest, accumulator[v]);
  if (hn::AllFalse(d, hn::Ge(highest, hn::Set(d, floor)))) return 0;
  std::uint64_t passing = 0;
  for (std::size_t v = 0; v < kVectors; ++v) {
    const V score = hn::Add(accumulator[v], hn::Zero(d));  // score_finish
    hn::Store(score, d, scores + v * lanes);
    passing |= PassingRows(values + v * lanes, stride, query, score, floor) << (v * lanes);
  }
  return passing;
}

template <typename T>
HWY_INLINE std::size_t ScoreRows(const T* values, std::size_t stride, std::uint32_t num_rows,
                                 const ResolvedQuery& query, double floor, ScoredRow* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kVectors = 4;
  HWY_ALIGN double scores[kVectors * 8];
  std::size_t count = 0;
  for (std::size_t first = 0; first < num_rows;) {
    const bool whole = first + kVectors * lanes <= stride;
    std::uint64_t passing = whole ? ScoreGroup<kVectors>(values + first, stride, query, floor, scores)
                                  : ScoreGroup<1>(values + first, stride, query, floor, scores);
    for (; passing != 0; passing &= passing - 1) {
      const auto bit = static_cast<std::size_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(passing));
      if (first + bit >= num_rows) break;  // there is no row
      out[count++] = {scores[bit], static_cast<std::uint32_t>(first + bit)};
    }
    first += whole ? kVectors * lanes : lanes;
  }
  return count;
}

inline std::size_t ScoreRowsFloat(const float* values, std::size_t stride, std::uint32_t num_rows,
                                  const ResolvedQuery& query, double floor, ScoredRow* out) {
  return ScoreRows(values, stride, num_rows, query, floor, out);
}

inline std::size_t ScoreRowsDouble(const double* values, std::size_t stride, std::uint32_t num_rows,
                                   const ResolvedQuery& query, double floor, ScoredRow* out) {
  return ScoreRows(values, stride, num_rows, query, floor, out);
}

// The plan's margin covers any order and any contraction here, so MulAdd may or may not be fused.
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
