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

// The rows of one vector, as bits, that pass k-th score bound and ranges.
template <typename T>
HWY_INLINE std::uint64_t PassingRows(const T* values, std::size_t stride, const ResolvedQuery& query, V score,
                                     double kth_bound) {
  const D d;
  auto mask = hn::Ge(score, hn::Set(d, kth_bound));
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
// the rows that pass k-th score bound and ranges, bit v * lanes + l; `scores` is written only if there are any, which is
// rare.
template <std::size_t kVectors, typename T>
HWY_INLINE std::uint64_t ScoreGroup(const T* values, std::size_t stride, const ResolvedQuery& query,
                                    double kth_bound, double* scores) {
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
  if (hn::AllFalse(d, hn::Ge(highest, hn::Set(d, kth_bound)))) return 0;
  std::uint64_t passing = 0;
  for (std::size_t v = 0; v < kVectors; ++v) {
    const V score = hn::Add(accumulator[v], hn::Zero(d));  // score_finish
    hn::Store(score, d, scores + v * lanes);
    passing |= PassingRows(values + v * lanes, stride, query, score, kth_bound) << (v * lanes);
  }
  return passing;
}

template <typename T>
HWY_INLINE std::size_t ScoreRows(const T* values, std::size_t stride, std::uint32_t num_rows,
                                 const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  constexpr std::size_t kVectors = 4;
  HWY_ALIGN double scores[kVectors * 8];
  std::size_t count = 0;
  for (std::size_t first = 0; first < num_rows;) {
    const bool whole = first + kVectors * lanes <= stride;
    std::uint64_t passing = whole ? ScoreGroup<kVectors>(values + first, stride, query, kth_bound, scores)
                                  : ScoreGroup<1>(values + first, stride, query, kth_bound, scores);
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
                                  const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  return ScoreRows(values, stride, num_rows, query, kth_bound, out);
}

inline std::size_t ScoreRowsDouble(const double* values, std::size_t stride, std::uint32_t num_rows,
                                   const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  return ScoreRows(values, stride, num_rows, query, kth_bound, out);
}

// What a leaf's codes say of scores: a row whose sum of weight * code over the query's terms is `too_low` or less scores
// less than the k-th score bound.
struct CodePlan {
  std::int16_t weights[kMaxAttributes];
  std::int32_t too_low;
};
struct LeafCodesRef {
  const std::uint16_t* codes;
  std::size_t num_words;
  std::uint32_t num_rows;
};
enum class CodeVerdict { none, some, all };  // of the rows that may reach the k-th score bound

// Where terms `t` and those that follow it look up their attributes in a zone vector.
template <typename T>
HWY_INLINE V ZoneValues(const T* zone_vector, const CodeTerms& terms, std::size_t t, std::size_t num_terms) {
  const D d;
  if (terms.are_neighbours && t + hn::Lanes(d) <= num_terms)
    return LoadAsDouble(zone_vector + terms.attributes[t]);
  HWY_ALIGN double values[8];
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) values[i] = zone_vector[terms.attributes[t + i]];
  return hn::Load(d, values);
}

template <typename T>
HWY_INLINE CodeVerdict PlanCodes(const T* highest, const T* lowest, const ResolvedQuery& query,
                                 double kth_bound, CodePlan& plan) {
  const D d;
  const CodeTerms& terms = query.codes;
  const std::size_t num_terms = query.terms.size(), lanes = hn::Lanes(d);
  HWY_ALIGN double coefficients[kMaxAttributes];
  V lows = hn::Zero(d), rises = lows, sizes = lows, part = lows, parts = lows;
  for (std::size_t t = 0; t < num_terms; t += lanes) {  // weights are 0 behind the last
    const V weight = hn::LoadU(d, terms.weights + t);
    const V high = ZoneValues(highest, terms, t, num_terms), low = ZoneValues(lowest, terms, t, num_terms);
    const V step = hn::MulAdd(hn::Sub(high, low), hn::Set(d, 1.0 / kCodeIntervals), hn::Set(d, kMinCodeStep));
    const V coefficient = hn::Mul(weight, step);
    hn::Store(coefficient, d, coefficients + t);
    lows = hn::MulAdd(weight, low, lows);
    rises = hn::Add(rises, hn::Max(coefficient, hn::Zero(d)));
    sizes = hn::MulAdd(hn::Abs(weight), hn::Max(hn::Abs(low), hn::Abs(high)), sizes);
    part = hn::Add(part, hn::Abs(coefficient));
    if ((t + lanes) % kCodeTermsAtOnce != 0 && t + lanes < num_terms) continue;
    parts = hn::Max(parts, part);
    part = hn::Zero(d);
  }
  const double low = query.offset + hn::GetLane(hn::SumOfLanes(d, lows));
  const double rise = hn::GetLane(hn::SumOfLanes(d, rises));
  const double size = std::fabs(query.offset) + hn::GetLane(hn::SumOfLanes(d, sizes));
  // No less than the coefficients of any kCodeTermsAtOnce terms together.
  const double largest = hn::GetLane(hn::SumOfLanes(d, parts));
  // Of codes, of these sums, and of the score itself, each of at most 64 terms.
  const double error_bound = size * 0x1p-44 + 0x1p-1040;
  if (low + kCodeIntervals * rise + error_bound < kth_bound) return CodeVerdict::none;
  if (!(largest > 0x1p-900 && size < 0x1p1000 && largest < 0x1p1000)) return CodeVerdict::all;
  const double unit = static_cast<double>(kLargestCodeWeights) / largest;
  const double least = std::ceil((kth_bound - error_bound - low - rise) * unit -
                                 0.5);  // weights are rounded up, but for 2^-50
  const std::size_t num_parts = (num_terms - 1) / kCodeTermsAtOnce + 1;  // each summed up in 16 bits
  const double furthest = 32767.0 * static_cast<double>(num_parts);
  if (least > furthest) return CodeVerdict::none;
  if (!(least > -furthest)) return CodeVerdict::all;
  plan.too_low = static_cast<std::int32_t>(least - 1);
  const hn::Rebind<std::int32_t, D> words;
  const hn::Rebind<std::int16_t, D> halves;
  for (std::size_t t = 0; t < num_terms; t += lanes) {
    const V weight = hn::Ceil(hn::Mul(hn::Load(d, coefficients + t), hn::Set(d, unit)));
    hn::StoreU(hn::DemoteTo(halves, hn::DemoteTo(words, weight)), halves, plan.weights + t);
  }
  return CodeVerdict::some;
}

// The sums of weight * code of the rows in kVectors * Lanes(d) words, over terms [first, end), of which there are at most
// kCodeTermsAtOnce.
template <std::size_t kVectors, class DI>
struct CodeSums {
  static constexpr std::size_t kPlanes = 4;
  hn::Vec<DI> of[kVectors][kPlanes];

  HWY_INLINE void add_up(DI d, const std::uint16_t* codes, std::size_t num_words, const CodeTerms& terms,
                         const CodePlan& plan, std::size_t first, std::size_t end) {
    const hn::RebindToUnsigned<DI> du;
    const auto mask = hn::Set(du, std::uint16_t{kCodeIntervals - 1});
    for (auto& planes : of)
      for (auto& sum : planes) sum = hn::Zero(d);
    for (std::size_t t = first; t < end; ++t) {
      const std::uint16_t* const from = codes + static_cast<std::size_t>(terms.attributes[t]) * num_words;
      const auto weight = hn::Set(d, plan.weights[t]);
      const auto add = [&](auto& sum, auto code)
                           HWY_ATTR { sum = hn::Add(sum, hn::Mul(hn::BitCast(d, code), weight)); };
      for (std::size_t v = 0; v < kVectors; ++v) {
        const auto words = hn::LoadU(du, from + v * hn::Lanes(d));
        add(of[v][0], hn::And(words, mask));
        add(of[v][1], hn::And(hn::ShiftRight<4>(words), mask));
        add(of[v][2], hn::And(hn::ShiftRight<8>(words), mask));
        add(of[v][3], hn::ShiftRight<12>(words));
      }
    }
  }

  HWY_INLINE bool exceed(DI d, std::int16_t limit) const {
    auto highest = of[0][0];
    for (const auto& planes : of)
      for (const auto& sum : planes) highest = hn::Max(highest, sum);
    return !hn::AllFalse(d, hn::Gt(highest, hn::Set(d, limit)));
  }

  // to[plane][word]; adds to what is there. Returns whether a total is more than `limit`.
  template <std::size_t kWords>
  HWY_INLINE bool add_to(DI d, std::int32_t (&to)[kPlanes][kWords], std::int32_t limit) const {
    const hn::CappedTag<std::int32_t, (hn::MaxLanes(d) + 1) / 2> wide;
    const hn::Rebind<std::int16_t, decltype(wide)> narrow;
    auto highest = hn::Set(wide, std::numeric_limits<std::int32_t>::min());
    HWY_ALIGN std::int16_t stored[hn::MaxLanes(d)];
    for (std::size_t plane = 0; plane < kPlanes; ++plane)
      for (std::size_t v = 0; v < kVectors; ++v) {
        hn::Store(of[v][plane], d, stored);
        std::int32_t* const total = to[plane] + v * hn::Lanes(d);
        for (std::size_t i = 0; i < hn::Lanes(d); i += hn::Lanes(wide)) {
          const auto sum = hn::PromoteTo(wide, hn::Load(narrow, stored + i));
          const auto next = hn::Add(hn::LoadU(wide, total + i), sum);
          hn::StoreU(next, wide, total + i);
          highest = hn::Max(highest, next);
        }
      }
    return !hn::AllFalse(wide, hn::Gt(highest, hn::Set(wide, limit)));
  }
};

// Looks at the rows of kVectors * Lanes(d) words from first_word on, of which not all need be the attribute's. Writes
// those of which the sum is more than plan.too_low.
template <std::size_t kVectors, class DI>
HWY_INLINE std::size_t RowsOfWords(DI d, const LeafCodesRef& leaf, std::size_t first_word,
                                   const ResolvedQuery& query, const CodePlan& plan, std::uint32_t* rows) {
  constexpr std::size_t kWords = kVectors * hn::MaxLanes(d);
  const std::size_t num_terms = query.terms.size();
  CodeSums<kVectors, DI> sums;
  HWY_ALIGN std::int32_t totals[CodeSums<kVectors, DI>::kPlanes][kWords] = {};
  bool exceed = false;
  for (std::size_t t = 0; t < num_terms; t += kCodeTermsAtOnce) {
    const std::size_t end = std::min(t + kCodeTermsAtOnce, num_terms);
    sums.add_up(d, leaf.codes + first_word, leaf.num_words, query.codes, plan, t, end);
    if (num_terms <= kCodeTermsAtOnce && !sums.exceed(d, static_cast<std::int16_t>(plan.too_low))) return 0;
    exceed = sums.add_to(d, totals, plan.too_low);
  }
  if (!exceed) return 0;
  const std::size_t num_words = std::min(kWords, leaf.num_words - first_word);
  std::size_t count = 0;
  for (std::size_t plane = 0; plane < std::size(totals); ++plane)
    for (std::size_t i = 0; i < num_words; ++i) {
      const std::size_t row = plane * leaf.num_words + first_word + i;
      rows[count] = static_cast<std::uint32_t>(row);
      count += totals[plane][i] > plan.too_low && row < leaf.num_rows ? 1 : 0;
    }
  return count;
}

// Where all may reach it, kAllRows.
template <typename T>
HWY_INLINE std::size_t RowsByCodes(const LeafCodes<T>& leaf, const ResolvedQuery& query, double kth_bound,
                                   std::uint32_t* rows) {
  CodePlan plan;  // NOLINT(cppcoreguidelines-pro-type-member-init): PlanCodes writes what is read
  const CodeVerdict verdict = PlanCodes(leaf.highest, leaf.lowest, query, kth_bound, plan);
  if (verdict == CodeVerdict::none) return 0;
  if (verdict == CodeVerdict::all) return kAllRows;
  const hn::CappedTag<std::int16_t, kCodeWordsReadAtOnce> d;
  constexpr std::size_t kVectors = hn::MaxLanes(d) < kCodeWordsReadAtOnce ? 2 : 1;
  std::size_t count = 0;
  for (std::size_t word = 0; word < leaf.num_words; word += kVectors * hn::Lanes(d))
    count += RowsOfWords<kVectors>(d, {leaf.codes, leaf.num_words, leaf.num_rows}, word, query, plan,
                                   rows + count);
  return count;
}

inline std::size_t RowsByCodesFloat(const LeafCodes<float>& leaf, const ResolvedQuery& query,
                                    double kth_bound, std::uint32_t* rows) {
  return RowsByCodes(leaf, query, kth_bound, rows);
}

inline std::size_t RowsByCodesDouble(const LeafCodes<double>& leaf, const ResolvedQuery& query,
                                     double kth_bound, std::uint32_t* rows) {
  return RowsByCodes(leaf, query, kth_bound, rows);
}

// As score_rows, of listed rows alone.
template <typename T>
HWY_INLINE std::size_t ScoreListed(const T* values, std::size_t stride, std::span<const std::uint32_t> rows,
                                   const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  const auto value = [&](std::int32_t attribute, std::uint32_t row) {
    return static_cast<double>(values[static_cast<std::size_t>(attribute) * stride + row]);
  };
  for (const std::uint32_t row : rows)  // all at once: each lies in other lines
    for (const Term& term : query.terms)
      __builtin_prefetch(values + static_cast<std::size_t>(term.attribute) * stride + row);
  std::size_t count = 0;
  for (const std::uint32_t row : rows) {
    double score = query.offset;
    for (const Term& term : query.terms) score = std::fma(term.weight, value(term.attribute, row), score);
    score += 0.0;  // score_finish
    bool passes = score >= kth_bound;
    for (const RangePredicate& range : query.where) {
      const double x = value(range.attribute, row);
      passes = passes && x >= range.minimum && x <= range.maximum;
    }
    out[count] = {score, row};
    count += passes ? 1 : 0;
  }
  return count;
}

inline std::size_t ScoreListedFloat(const float* values, std::size_t stride,
                                    std::span<const std::uint32_t> rows, const ResolvedQuery& query,
                                    double kth_bound, ScoredRow* out) {
  return ScoreListed(values, stride, rows, query, kth_bound, out);
}

inline std::size_t ScoreListedDouble(const double* values, std::size_t stride,
                                     std::span<const std::uint32_t> rows, const ResolvedQuery& query,
                                     double kth_bound, ScoredRow* out) {
  return ScoreListed(values, stride, rows, query, kth_bound, out);
}

// The plan's error bound covers any order and any contraction here, so MulAdd may or may not be fused.
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
