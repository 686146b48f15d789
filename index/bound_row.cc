#include "index/bound_row.h"

#include <algorithm>

#include "base/assert.h"

namespace culmen {
namespace {

// Of minima everything is negated: then more is farther out.
double outward(float bound, Extreme extreme) {
  return extreme == Extreme::maximum ? static_cast<double>(bound) : -static_cast<double>(bound);
}

}  // namespace

void BoundRow::encode(std::span<const float> bounds, Extreme extreme, float least_base) {
  CULMEN_ASSERT(!bounds.empty() && bounds.size() <= kFanOut);
  double highest = outward(least_base, extreme), lowest = highest;
  for (const float bound : bounds) {
    highest = std::max(highest, outward(bound, extreme));
    lowest = std::min(lowest, outward(bound, extreme));
  }
  const double far = BoundScale::far(highest, lowest);
  const auto num_far =
      std::count_if(bounds.begin(), bounds.end(), [&](float bound) { return outward(bound, extreme) < far; });
  const BoundScale chosen =
      BoundScale::choose(highest, lowest, static_cast<int>(num_far), static_cast<int>(bounds.size()));
  set_scale(chosen, extreme);
  std::fill(std::begin(codes), std::end(codes), std::uint8_t{0});
  std::transform(bounds.begin(), bounds.end(), codes,
                 [&](float bound) { return chosen.code_of(outward(bound, extreme)); });
}

BoundScale BoundRow::decoded_scale(Extreme extreme) const {
  return {outward(base, extreme), std::fabs(static_cast<double>(signed_least())), is_linear()};
}

void BoundRow::set(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme) {
  const BoundScale old = decoded_scale(extreme);
  const double out = outward(bound, extreme);
  if (out == -HUGE_VAL) {  // a child without rows: anything covers it
    codes[child] = 255;
    return;
  }
  const bool is_in_range = out <= old.base && old.base - out <= old.least * old.largest_steps();
  if (num_children > 1 && is_in_range) {
    codes[child] = old.code_of(out);
    return;
  }
  float bounds[kFanOut];
  for (std::uint32_t c = 0; c < num_children; ++c) bounds[c] = (*this)[c];
  bounds[child] = bound;
  const std::span all(bounds, num_children);
  encode(all, extreme);
  const auto is_kept = [&](std::uint32_t c) { return c == child || (*this)[c] == bounds[c]; };
  std::uint32_t kept = 0;
  while (kept < num_children && is_kept(kept)) ++kept;
  if (kept == num_children || !std::isfinite(base) || !std::isfinite(old.base)) return;
  // The others would lose a little with each step that the base takes. It takes few and large ones, after which their
  // distances, but for the smallest, are as they can be coded.
  const BoundScale fresh = decoded_scale(extreme);
  const double coarsest = fresh.least * (fresh.is_linear ? 1 : 64);
  const double jump = std::ceil(std::max(out - old.base, 0.0) / coarsest) * coarsest;
  encode(all, extreme,
         static_cast<float>(extreme == Extreme::maximum ? old.base + jump : -(old.base + jump)));
}

}  // namespace culmen
