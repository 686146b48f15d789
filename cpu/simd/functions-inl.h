// add_values, value_of and add_tangent of cpu/simd/kernels.h: the functions of base/elementary.h and query/function_terms.h in
// vectors, step by step as there. Compiled once per target (see cpu/simd/vectors-inl.h).
#if defined(CULMEN_CPU_SIMD_FUNCTIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CULMEN_CPU_SIMD_FUNCTIONS_INL_H_
#undef CULMEN_CPU_SIMD_FUNCTIONS_INL_H_
#else
#define CULMEN_CPU_SIMD_FUNCTIONS_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "base/elementary.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/vectors-inl.h"
#include "index/score.h"
#include "query/function_terms.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::simd::HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<D>;

// 2^-h of whole numbers 0 <= h <= 1022: written into the exponent by way of a sum whose last bits are the number.
HWY_INLINE V PowerOfMinus(V h) {
  const D d;
  const V biased = hn::Sub(hn::Set(d, 0x1p52 + 1023), h);
  return hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(Words(), biased)));
}

HWY_INLINE V Exp2OfMinus(V t) {
  const D d;
  const V whole = hn::Round(hn::Min(t, hn::Set(d, kNothingLeftOfExp2)));
  const V z = hn::Mul(hn::Sub(whole, t), hn::Set(d, kLn2));
  V sum = hn::Zero(d);
  for (int i = 0; i < kTermsOfExp; ++i) sum = Fma(sum, z, hn::Set(d, term_of_exp(i)));
  // In two steps, of which only the second can round, as 2^-1022 is the smallest power that is a normal number.
  const V most = hn::Min(whole, hn::Set(d, 1000));
  const V power = hn::Mul(hn::Mul(sum, PowerOfMinus(most)), PowerOfMinus(hn::Sub(whole, most)));
  return hn::IfThenElseZero(hn::Lt(t, hn::Set(d, kNothingLeftOfExp2)), power);
}

HWY_INLINE V LogOf(V x) {
  const D d;
  const Words words;
  const auto is_tiny = hn::Lt(x, hn::Set(d, 0x1p-1022));
  const V scaled = hn::IfThenElse(is_tiny, hn::Mul(x, hn::Set(d, 0x1p54)), x);
  const auto bits = hn::BitCast(words, scaled);
  const auto exponent_bits = hn::Or(hn::ShiftRight<52>(bits), hn::Set(words, 0x4330000000000000));
  V e = hn::Sub(hn::BitCast(d, exponent_bits), hn::Set(d, 0x1p52 + 1022));
  e = hn::Sub(e, hn::IfThenElseZero(is_tiny, hn::Set(d, 54)));
  V m = hn::BitCast(
      d, hn::Or(hn::And(bits, hn::Set(words, 0x000FFFFFFFFFFFFF)), hn::Set(words, 0x3FE0000000000000)));
  const auto is_small = hn::Lt(m, hn::Set(d, kRootOfHalf));
  m = hn::IfThenElse(is_small, hn::Add(m, m), m);
  e = hn::Sub(e, hn::IfThenElseZero(is_small, hn::Set(d, 1)));
  const V f = hn::Sub(m, hn::Set(d, 1));
  const V s = hn::Div(f, hn::Add(hn::Set(d, 2), f));
  const V square = hn::Mul(s, s);
  V sum = hn::Set(d, 1.0 / kLastOfLog);
  for (int odd = kLastOfLog - 2; odd >= 3; odd -= 2) sum = Fma(sum, square, hn::Set(d, 1.0 / odd));
  const V rest = Fma(hn::Neg(f), s, hn::Mul(e, hn::Set(d, kLn2Low)));
  const V small = Fma(hn::Mul(hn::Add(s, s), square), sum, rest);
  return hn::Add(Fma(e, hn::Set(d, kLn2High), f), small);
}

template <TermFunction kFunction>
HWY_INLINE V ValueOf(V x, V origin, V scale) {
  const D d;
  const V distance = hn::Abs(hn::Sub(x, origin));
  if constexpr (kFunction == TermFunction::near) return hn::Neg(distance);
  if constexpr (kFunction == TermFunction::log) return LogOf(x);
  if constexpr (kFunction == TermFunction::log1p) return LogOf(hn::Add(hn::Set(d, 1), x));
  if constexpr (kFunction == TermFunction::sqrt) return hn::Sqrt(x);
  if constexpr (kFunction == TermFunction::saturate) return hn::Div(x, hn::Add(x, scale));
  const V scaled = hn::Div(distance, scale);
  if constexpr (kFunction == TermFunction::decay_linear)
    return hn::Max(hn::Zero(d), hn::Sub(hn::Set(d, 1), hn::Mul(scaled, hn::Set(d, 0.5))));
  if constexpr (kFunction == TermFunction::decay_exp) return Exp2OfMinus(scaled);
  return Exp2OfMinus(hn::Mul(scaled, scaled));
}

template <TermFunction kFunction>
void AddValuesOf(const NumberTerm& term, NumberTerm::Margin margin, const double* x, std::size_t count,
                 double* sums) {
  const D d;
  const V origin = hn::Set(d, term.origin), scale = hn::Set(d, term.scale), weight = hn::Set(d, term.weight);
  const V part = hn::Set(d, margin.part), least = hn::Set(d, margin.least);
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    V value = ValueOf<kFunction>(hn::LoadU(d, x + i), origin, scale);
    if (margin.least != 0) value = hn::Add(value, hn::Add(hn::Mul(part, hn::Abs(value)), least));
    hn::StoreU(Fma(weight, value, hn::LoadU(d, sums + i)), d, sums + i);
  }
}

// Calls act<function>() for the term's function, unless it is one of ranks or conditions.
template <typename Act>
HWY_INLINE void WithFunction(const NumberTerm& term, const Act& act) {
  switch (term.function) {
    case TermFunction::near:
      return act.template operator()<TermFunction::near>();
    case TermFunction::decay_linear:
      return act.template operator()<TermFunction::decay_linear>();
    case TermFunction::decay_exp:
      return act.template operator()<TermFunction::decay_exp>();
    case TermFunction::decay_gauss:
      return act.template operator()<TermFunction::decay_gauss>();
    case TermFunction::log:
      return act.template operator()<TermFunction::log>();
    case TermFunction::log1p:
      return act.template operator()<TermFunction::log1p>();
    case TermFunction::sqrt:
      return act.template operator()<TermFunction::sqrt>();
    case TermFunction::saturate:
      return act.template operator()<TermFunction::saturate>();
    case TermFunction::rank:
    case TermFunction::when:
      break;
  }
}

inline void AddValues(const NumberTerm& term, NumberTerm::Margin margin, const double* x, std::size_t count,
                      double* sums) {
  if (term.function == TermFunction::rank) {
    for (std::size_t i = 0; i < count; ++i) sums[i] = score_step(sums[i], term.weight, term.curve(x[i]));
    return;
  }
  WithFunction(term, [&]<TermFunction kFunction>() { AddValuesOf<kFunction>(term, margin, x, count, sums); });
}

inline double ValueOfOne(const NumberTerm& term, double x) {
  const D d;
  double value = 0;
  WithFunction(term, [&]<TermFunction kFunction>() {
    value = hn::GetLane(ValueOf<kFunction>(hn::Set(d, x), hn::Set(d, term.origin), hn::Set(d, term.scale)));
  });
  return value;
}

// What TangentTerm::highest() computes with.
struct TangentVectors {
  explicit TangentVectors(const TangentTerm& tangent) {
    const D d;
    const NumberTerm& term = tangent.term();
    rest = hn::Set(d, tangent.rest());
    weight = hn::Set(d, term.weight);
    unit = hn::Set(d, term.negated ? -term.ticks : term.ticks);
    origin = hn::Set(d, term.origin);
    scale = hn::Set(d, term.scale);
  }

  V rest, weight, unit, origin, scale;
};

template <TermFunction kFunction>
HWY_INLINE V RiseAt(const TangentVectors& of, V stored) {
  const V value = ValueOf<kFunction>(hn::Div(stored, of.unit), of.origin, of.scale);
  return hn::MulAdd(of.rest, stored, hn::Mul(of.weight, value));
}

// The errors of the bound cover any contraction of these sums.
template <TermFunction kFunction>
void AddTangentOf(const TangentTerm& tangent, const ChildRanges& ranges, double* bounds) {
  const D d;
  const TangentVectors of(tangent);
  const V lowest = hn::Set(d, tangent.lowest()), highest = hn::Set(d, tangent.highest());
  const V peak = hn::Set(d, tangent.peak());
  for (std::size_t c = 0; c < kFanOut; c += hn::Lanes(d)) {
    const V first = hn::Min(hn::Max(hn::LoadU(d, ranges.first + c), lowest), highest);
    const V last = hn::Min(hn::Max(hn::LoadU(d, ranges.last + c), lowest), highest);
    V most = RiseAt<kFunction>(of, tangent.peak_counts() ? hn::Max(hn::Min(peak, last), first) : first);
    if (tangent.ends_count())
      most = hn::Max(most, hn::Max(RiseAt<kFunction>(of, first), RiseAt<kFunction>(of, last)));
    hn::StoreU(hn::Add(hn::LoadU(d, bounds + c), most), d, bounds + c);
  }
}

inline void AddTangent(const TangentTerm& tangent, const ChildRanges& ranges, double* bounds) {
  WithFunction(tangent.term(),
               [&]<TermFunction kFunction>() { AddTangentOf<kFunction>(tangent, ranges, bounds); });
}

}  // namespace culmen::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
