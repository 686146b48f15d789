#include "index/bound_rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "index/bound_rounding.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// after highway.h
#include "index/bound_row.h"

HWY_BEFORE_NAMESPACE();
namespace culmen::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using SumsTag = hn::ScalableTag<double>;
using BoundsTag = hn::Rebind<float, SumsTag>;

// The bounds above `values`, as the scalar function has them. False: a value lies so close to 0 that the next float is not
// one unit in the last place of a normal one away.
HWY_INLINE bool BoundsAbove(hn::Vec<SumsTag> values, hn::Vec<BoundsTag>& bounds) {
  const SumsTag d;
  const BoundsTag f;
  const hn::RebindToUnsigned<SumsTag> u;
  const auto nearest = hn::PromoteTo(d, hn::DemoteTo(f, values));
  const auto rounded_down = hn::Lt(nearest, values);
  const auto is_tiny = hn::Lt(hn::Abs(nearest), hn::Set(d, 0x1p-125));
  // The fraction of a float is 29 bits shorter. Among negative numbers the next one up has the smaller bits.
  const auto bits = hn::BitCast(u, nearest), unit = hn::Set(u, std::uint64_t{1} << 29);
  const auto is_negative = hn::RebindMask(u, hn::Lt(nearest, hn::Zero(d)));
  const auto next = hn::BitCast(d, hn::IfThenElse(is_negative, hn::Sub(bits, unit), hn::Add(bits, unit)));
  auto above = hn::IfThenElse(rounded_down, next, nearest);
  above = hn::IfThenElse(hn::Lt(values, hn::Set(d, -kLargestBound)), hn::Set(d, -kLargestBound), above);
  // Infinity as a float: some instruction sets narrow it to the largest one.
  above = hn::IfThenElse(hn::Le(values, hn::Set(d, kLargestBound)), above, hn::Set(d, 2 * kLargestBound));
  const auto narrow = hn::DemoteTo(f, above);
  const auto is_infinite = hn::Gt(narrow, hn::Set(f, static_cast<float>(kLargestBound)));
  bounds = hn::Add(hn::IfThenElse(is_infinite, hn::Set(f, HUGE_VALF), narrow), hn::Zero(f));  // not -0
  return hn::AllFalse(d, hn::And(rounded_down, is_tiny));
}

void RoundBounds(const double* maxima, const double* minima, const double* errors, std::size_t count,
                 float* upper, float* lower) {
  const SumsTag d;
  const BoundsTag f;
  const auto one_by_one = [&](std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      upper[i] = bound_above(maxima[i] + errors[i]);
      lower[i] = bound_below(minima[i] - errors[i]);
    }
  };
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto error = hn::LoadU(d, errors + i);
    hn::Vec<BoundsTag> above, negated_below;
    const bool has_above = BoundsAbove(hn::Add(hn::LoadU(d, maxima + i), error), above);
    const bool has_below = BoundsAbove(hn::Neg(hn::Sub(hn::LoadU(d, minima + i), error)), negated_below);
    if (!has_above || !has_below) {
      one_by_one(i, i + hn::Lanes(d));
      continue;
    }
    hn::StoreU(above, f, upper + i);
    hn::StoreU(hn::Sub(hn::Zero(f), negated_below), f, lower + i);
  }
  one_by_one(i, count);
}

}  // namespace culmen::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace culmen {

HWY_EXPORT(RoundBounds);

void round_bounds(const double* maxima, const double* minima, const double* errors, std::size_t count,
                  float* upper, float* lower) {
  HWY_DYNAMIC_DISPATCH(RoundBounds)(maxima, minima, errors, count, upper, lower);
}

}  // namespace culmen
#endif  // HWY_ONCE
