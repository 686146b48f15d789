#include "index/bound_row.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace culmen {
namespace {

// Bounds of minima are negated, so that more is farther out.
double outward(float bound, Extreme extreme) {
  return extreme == Extreme::maximum ? static_cast<double>(bound) : -static_cast<double>(bound);
}

}  // namespace

void BoundRow::encode(std::span<const float> bounds, Extreme extreme, float least_base) {
  CULMEN_ASSERT(!bounds.empty() && bounds.size() <= kFanOut);
  const std::size_t num_children = bounds.size();
  double outs[kFanOut];
  for (std::size_t c = 0; c < num_children; ++c) outs[c] = outward(bounds[c], extreme);
  const BoundScale chosen = BoundScale::fit({outs, num_children}, outward(least_base, extreme));
  set_scale(chosen, extreme);
  for (std::size_t c = 0; c < kFanOut; ++c)
    codes[c] = c < num_children ? chosen.code_of(outs[c]) : std::uint8_t{0};
}

BoundScale BoundRow::decoded_scale(Extreme extreme) const {
  return {outward(base, extreme), std::fabs(static_cast<double>(signed_least())), is_linear(),
          std::fabs(signed_gap_of(scale))};
}

bool BoundRow::set(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme) {
  const double out = outward(bound, extreme);
  if (out == -HUGE_VAL)  // any bound covers a child without rows
    return std::exchange(codes[child], BoundScale::kFarthest) != BoundScale::kFarthest;
  const BoundScale old = decoded_scale(extreme);
  const bool is_in_range = out <= old.base && old.base - out <= old.least * old.largest_steps();
  if (num_children > 1 && is_in_range) {
    const std::uint8_t before = std::exchange(codes[child], old.code_of(out));
    return before != codes[child];
  }
  const BoundRow before = *this;
  extend_range(child, bound, num_children, extreme);
  return std::memcmp(this, &before, sizeof before) != 0;
}

bool BoundRow::is_tight(std::uint32_t child, float bound, Extreme extreme) const {
  const std::uint8_t code = codes[child];
  if (code >= BoundScale::kFarthest) return false;
  const double out = outward(bound, extreme);
  return out <= outward(bound_of(code), extreme) &&
         out > outward(bound_of(static_cast<std::uint8_t>(code + 1)), extreme);
}

bool BoundRow::is_coarse(std::uint32_t num_children) const {
  const auto least = static_cast<double>(std::fabs(signed_least()));
  if (!(least > 4 * BoundScale::finest_of(base))) return false;
  std::uint8_t first = 255, last_rank = 0;  // the rank of outliers is 0
  for (std::uint8_t c = 0; c < kFanOut; ++c) {
    const auto code = static_cast<std::uint8_t>(codes[c] | mask_of(c, num_children));
    const std::uint8_t rank = rank_of(code);
    first = code < first ? code : first;
    last_rank = rank > last_rank ? rank : last_rank;
  }
  if (last_rank == 0) return false;
  const std::uint8_t last = code_at(last_rank);
  const std::uint32_t all = BoundScale::steps_of(BoundScale::kFarthest, is_linear());
  return 2 * BoundScale::steps_of(first, is_linear()) >= all ||
         8 * BoundScale::steps_of(last, is_linear()) < all;
}

// Codes all children again, because one is outside of the range.
void BoundRow::extend_range(std::uint32_t child, float bound, std::uint32_t num_children, Extreme extreme) {
  const BoundScale old = decoded_scale(extreme);
  const double out = outward(bound, extreme);
  const BoundRow before = *this;
  float bounds[kFanOut];
  for (std::uint32_t c = 0; c < num_children; ++c) bounds[c] = before[c];
  bounds[child] = bound;
  const std::span all(bounds, num_children);
  encode(all, extreme);
  std::uint32_t kept = 0;
  while (kept < num_children && (kept == child || (*this)[kept] == bounds[kept])) ++kept;
  const bool all_kept = kept == num_children;
  if (all_kept && (*this)[child] == bound) return;
  const double span = old.least * old.largest_steps();
  const bool jumps = span > 0 && (out - old.base) * BoundScale::kJumpPart > span;
  if (jumps && before.has_room_for_outlier(child, num_children)) {
    *this = before;
    set_outlier(child, out, num_children, extreme);
    return;
  }
  if (all_kept || codes[child] == BoundScale::kOutlier) return;
  // Each move of the base loosens the others a little. So it moves seldom, by whole steps of the far end, which keep
  // all but the smallest distances exact.
  const BoundScale fresh = decoded_scale(extreme);
  const double coarsest = fresh.least * (fresh.is_linear ? 1 : 64);
  const double jump = std::ceil(std::max(out - old.base, 0.0) / coarsest) * coarsest;
  encode(all, extreme,
         static_cast<float>(extreme == Extreme::maximum ? old.base + jump : -(old.base + jump)));
}

bool BoundRow::has_room_for_outlier(std::uint32_t child, std::uint32_t num_children) const {
  int num_outliers = 1;
  for (std::uint32_t c = 0; c < num_children; ++c)
    num_outliers += c != child && codes[c] == BoundScale::kOutlier ? 1 : 0;
  return BoundScale::may_be_outliers(num_outliers, static_cast<int>(num_children));
}

// Leaves all that are no outliers as they are, so that a child can become an outlier and return without loss.
void BoundRow::set_outlier(std::uint32_t child, double out, std::uint32_t num_children, Extreme extreme) {
  const double top_of_others = outward(bound_of_outliers(), extreme);
  codes[child] = BoundScale::kOutlier;
  BoundScale with_gap = decoded_scale(extreme);
  const auto is_other_outlier = [&](std::uint32_t c) {
    return c != child && codes[c] == BoundScale::kOutlier;
  };
  double top = out;
  for (std::uint32_t c = 0; c < num_children; ++c)
    if (is_other_outlier(c)) top = std::max(out, top_of_others);
  with_gap.gap = BoundScale::gap_to(top, with_gap.base);
  set_scale(with_gap, extreme);
}

}  // namespace culmen
