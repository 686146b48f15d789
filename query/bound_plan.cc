#include "query/bound_plan.h"

#include <cmath>

#include "base/rounding.h"

namespace culmen {

BoundPlan make_bound_plan(const ScoreChain& chain, const Snapshot& snapshot) {
  const BoundBasis basis = {&snapshot.layout, snapshot.units.data(), snapshot.stats.data(),
                            snapshot.exact_sums};
  BoundPlan plan{bound_start(chain, basis), {}, {}};
  append_bound_terms(chain, basis, plan.terms);
  return plan;
}

RangeBound make_range_bound(const RangePredicate& range, const Snapshot& snapshot) {
  const BoundUnit& unit = snapshot.units[static_cast<std::size_t>(range.attribute)];
  // Changing units rounds once; a NaN from infinities compares false, which keeps the block.
  const auto slack = [](double x) { return 4 * 0x1p-53 * std::fabs(x) + 0x1p-1000; };
  const double lowest = unit.to_units(range.minimum);
  const double highest = unit.to_units(range.maximum);
  return {snapshot.layout.maximum_row(range.attribute), snapshot.layout.minimum_row(range.attribute),
          round_down_to_float(lowest - slack(lowest)), round_up_to_float(highest + slack(highest))};
}

}  // namespace culmen
