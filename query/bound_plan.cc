#include "query/bound_plan.h"

#include <cmath>

#include "base/rounding.h"

namespace culmen {

RangeBound make_range_bound(const RangePredicate& range, const Snapshot& snapshot) {
  const int maximum_row = snapshot.layout.maximum_row(range.attribute);
  const int minimum_row = snapshot.layout.minimum_row(range.attribute);
  if (range.minimum > range.maximum) return {maximum_row, minimum_row, HUGE_VALF, -HUGE_VALF};
  const BoundUnit& unit = snapshot.units[static_cast<std::size_t>(range.attribute)];
  // Changing units rounds once; a NaN from infinities compares false, which keeps the leaf.
  const auto error_bound = [](double x) { return 4 * 0x1p-53 * std::fabs(x) + 0x1p-1000; };
  const double lowest = unit.to_units(range.minimum);
  const double highest = unit.to_units(range.maximum);
  return {maximum_row, minimum_row, round_down_to_float(lowest - error_bound(lowest)),
          round_up_to_float(highest + error_bound(highest))};
}

BoundPlan make_bound_plan(const ScoreChain& chain, std::span<const RangePredicate> where,
                          const Snapshot& snapshot, std::span<const AttributeStats> stats) {
  BoundBasis basis = {&snapshot.layout, snapshot.units.data(), stats.data(), snapshot.exact_sums};
  BoundPlan plan{bound_start(chain, basis), {}, {}};
  append_bound_terms(chain, plan, basis, plan.terms);
  basis.caps = where.data();
  basis.num_caps = static_cast<int>(where.size());
  if (!is_capped(chain, basis)) return plan;
  const BoundStart start = bound_start(chain, basis);
  append_bound_terms(chain, start, basis, plan.capped.emplace(BoundPlan::Capped{start.base, {}}).terms);
  plan.error_bound = std::fmax(plan.error_bound, start.error_bound);
  return plan;
}

}  // namespace culmen
