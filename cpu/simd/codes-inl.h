// rows_by_codes of cpu/simd/kernels.h: lists the rows of a leaf that their codes cannot exclude. Weights are rounded up
// to 16-bit integers, so that a vector sums up the products of 8 to 32 code words, 4 rows each. Compiled once per
// target (see cpu/simd/vectors-inl.h).
#if defined(CULMEN_CPU_SIMD_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_CODES_INL_H_
#undef CULMEN_CPU_SIMD_CODES_INL_H_
#else
#define CULMEN_CPU_SIMD_CODES_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cpu/simd/kernels.h"
#include "cpu/simd/vectors-inl.h"
#include "index/leaf_codes.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {

// The integer form of a query over one leaf's codes. A row whose sum of weight * code over the terms is at most
// `too_low` scores less than the k-th score bound.
struct CodePlan {
  std::int16_t weights[kMaxAttributes];
  std::int32_t too_low;
};
struct LeafCodesRef {
  const std::uint16_t* codes;
  std::size_t num_words;
  std::uint32_t num_rows;
};
// Which rows of a leaf may reach the k-th score bound.
enum class CodeVerdict { none, some, all };

// The zone vector's values for the attributes of terms t, t + 1, … (one vector of them).
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
  for (std::size_t t = 0; t < num_terms; t += lanes) {  // weights are 0 after the last term
    const V weight = hn::LoadU(d, terms.weights.data() + t);
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
  // At least the sum of the coefficients of any kCodeTermsAtOnce terms.
  const double largest = hn::GetLane(hn::SumOfLanes(d, parts));
  // Covers the rounding of codes, of the sums above and of the score itself, each over at most kMaxAttributes terms.
  const double error_bound = size * (num_terms <= kTermsInPlace ? 0x1p-44 : 0x1p-40) + 0x1p-1040;
  if (low + kCodeIntervals * rise + error_bound < kth_bound) return CodeVerdict::none;
  if (!(largest > 0x1p-900 && size < 0x1p1000 && largest < 0x1p1000)) return CodeVerdict::all;
  const double unit = static_cast<double>(kLargestCodeWeights) / largest;
  const double least = std::ceil((kth_bound - error_bound - low - rise) * unit -
                                 0.5);  // weights are rounded up, but for 2^-50
  const std::size_t num_parts = (num_terms - 1) / kCodeTermsAtOnce + 1;  // each sum in 16 bits
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

// Sums of weight * code over terms [first, end), at most kCodeTermsAtOnce of them, for the rows of kVectors * Lanes(d)
// words. Plane p holds the rows at bit 4 * p of each word.
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

  // Adds to the totals [plane][word]. Returns true if one of them exceeds `limit`.
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

// Writes the rows of kVectors * Lanes(d) words from first_word on whose sums exceed plan.too_low. Words after the
// attribute's last are read and ignored.
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

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
