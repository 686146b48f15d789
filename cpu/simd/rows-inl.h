// score_rows, score_listed and score_apart of cpu/simd/kernels.h: score all rows of a leaf in groups of vectors, listed
// rows one by one, or rows of many leaves. Compiled once per target (see cpu/simd/vectors-inl.h).
#if defined(CULMEN_CPU_SIMD_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_ROWS_INL_H_
#undef CULMEN_CPU_SIMD_ROWS_INL_H_
#else
#define CULMEN_CPU_SIMD_ROWS_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/simd/kernels.h"
#include "cpu/simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {

// Returns a bit for each lane: 1 if the row's score reaches the k-th score bound.
HWY_INLINE std::uint64_t ReachingRows(V score, double kth_bound) {
  const D d;
  std::uint8_t bits[8] = {};
  hn::StoreMaskBits(d, hn::Ge(score, hn::Set(d, kth_bound)), bits);
  return bits[0];
}

// Scores kVectors vectors of rows at once: independent fma chains hide the latency of fma. Sets bit
// v * lanes + l of the result if the row in lane l of vector v reaches the k-th score bound. Writes `scores` only if
// one does, which is rare.
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
  std::uint64_t reaching = 0;
  for (std::size_t v = 0; v < kVectors; ++v) {
    const V score = hn::Add(accumulator[v], hn::Zero(d));  // score_finish
    hn::Store(score, d, scores + v * lanes);
    reaching |= ReachingRows(score, kth_bound) << (v * lanes);
  }
  return reaching;
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
    std::uint64_t reaching = whole ? ScoreGroup<kVectors>(values + first, stride, query, kth_bound, scores)
                                   : ScoreGroup<1>(values + first, stride, query, kth_bound, scores);
    for (; reaching != 0; reaching &= reaching - 1) {
      const auto bit = static_cast<std::size_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(reaching));
      if (first + bit >= num_rows) break;  // the rest is padding after the last row
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

template <typename T>
HWY_INLINE std::size_t ScoreListed(const T* values, std::size_t stride, std::span<const std::uint32_t> rows,
                                   const ResolvedQuery& query, double kth_bound, ScoredRow* out) {
  const auto value = [&](std::int32_t attribute, std::uint32_t row) {
    return static_cast<double>(values[static_cast<std::size_t>(attribute) * stride + row]);
  };
  for (const std::uint32_t row : rows)  // a listed row rarely shares cache lines with the next
    for (const Term& term : query.terms)
      __builtin_prefetch(values + static_cast<std::size_t>(term.attribute) * stride + row);
  std::size_t count = 0;
  for (const std::uint32_t row : rows) {
    double score = query.offset;
    for (const Term& term : query.terms) score = std::fma(term.weight, value(term.attribute, row), score);
    score += 0.0;  // score_finish
    out[count] = {score, row};
    count += score >= kth_bound ? 1 : 0;
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

// kRows rows at once, since each fma of a row has to wait for the one before it.
template <std::size_t kRows, typename T>
HWY_INLINE void ScoreTogether(const T* const* starts, std::size_t stride, std::span<const Term> terms,
                              double offset, double* scores) {
  double sums[kRows];
  for (double& sum : sums) sum = offset;
  for (const Term& term : terms) {
    const std::size_t place = static_cast<std::size_t>(term.attribute) * stride;
    for (std::size_t r = 0; r < kRows; ++r)
      sums[r] = std::fma(term.weight, static_cast<double>(starts[r][place]), sums[r]);
  }
  for (std::size_t r = 0; r < kRows; ++r) scores[r] = sums[r] + 0.0;  // score_finish
}

template <typename T>
HWY_INLINE void ScoreApart(std::span<const T* const> starts, std::size_t stride, std::span<const Term> terms,
                           double offset, double* scores) {
  constexpr std::size_t kRows = 8;
  std::size_t r = 0;
  for (; r + kRows <= starts.size(); r += kRows)
    ScoreTogether<kRows>(starts.data() + r, stride, terms, offset, scores + r);
  for (; r < starts.size(); ++r) ScoreTogether<1>(starts.data() + r, stride, terms, offset, scores + r);
}

template <typename T>
HWY_INLINE double PlainScore(const T* values, std::span<const double> weights, double offset) {
  const D d;
  constexpr std::size_t kSums = 4;  // to hide the latency of fma
  const std::size_t lanes = hn::Lanes(d);
  V sums[kSums];
  for (V& sum : sums) sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kSums * lanes <= weights.size(); i += kSums * lanes)
    for (std::size_t s = 0; s < kSums; ++s)
      sums[s] = hn::MulAdd(hn::LoadU(d, weights.data() + i + s * lanes), LoadAsDouble(values + i + s * lanes),
                           sums[s]);
  double score =
      offset + hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]))));
  for (; i < weights.size(); ++i) score += weights[i] * static_cast<double>(values[i]);
  return score;
}

inline double PlainScoreFloat(const float* values, std::span<const double> weights, double offset) {
  return PlainScore(values, weights, offset);
}

inline double PlainScoreDouble(const double* values, std::span<const double> weights, double offset) {
  return PlainScore(values, weights, offset);
}

inline void ScoreApartFloat(std::span<const float* const> starts, std::size_t stride,
                            std::span<const Term> terms, double offset, double* scores) {
  ScoreApart(starts, stride, terms, offset, scores);
}

inline void ScoreApartDouble(std::span<const double* const> starts, std::size_t stride,
                             std::span<const Term> terms, double offset, double* scores) {
  ScoreApart(starts, stride, terms, offset, scores);
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
