#include "index/bound_plan.h"

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cmath>

#include "index/rounding.h"

namespace culmen {
namespace {

struct UnitWeight {
  std::int32_t attribute;
  double weight;  // of the attribute measured in its bound unit
};
using UnitWeights = boost::container::static_vector<UnitWeight, kMaxAttributes>;

// sum |w_i| (2 max|a_i| + 2 max|a_i - origin_i|), the size of everything that is added up.
double magnitude(std::span<const Term> terms, double offset, const Snapshot& snapshot) {
  double sum = std::fabs(offset);
  for (const Term& term : terms) {
    const auto i = static_cast<std::size_t>(term.attribute);
    const AttributeStats& stats = snapshot.stats[i];
    const double origin = snapshot.units[i].origin;
    const double extent = std::fmax(std::fabs(stats.maximum - origin), std::fabs(stats.minimum - origin));
    sum += std::fabs(term.weight) * (2 * stats.max_abs() + 2 * extent);
  }
  return sum;
}

// Whether every product and sum of the score and of the bound is a multiple of one power of two and small
// enough to be a binary64 number as it is.
bool is_exact(std::span<const Term> terms, double offset, double size, const Snapshot& snapshot) {
  if (!snapshot.exact_sums) return false;
  int weight_quantum = kNoQuantum;
  int value_quantum = kNoQuantum;
  for (const Term& term : terms) {
    const auto i = static_cast<std::size_t>(term.attribute);
    const int exponent = snapshot.units[i].exponent;
    // Of the unit weight on paper: the computed one may have lost digits to underflow, which the test below
    // refuses.
    weight_quantum = std::min(weight_quantum, quantum_exponent(term.weight) + exponent);
    value_quantum = std::min(value_quantum, snapshot.stats[i].quantum - exponent);
  }
  const int quantum = std::min(weight_quantum + value_quantum, quantum_exponent(offset));
  return std::min(quantum, weight_quantum) >= -1074 &&
         2 * size <= std::ldexp(1.0, std::min(quantum + 53, 1023));
}

// Appends the chain over `weights`, all of one group and above 0.
void append_chain(UnitWeights& weights, int group, const BoundLayout& layout, BoundPlan& plan) {
  std::sort(weights.begin(), weights.end(),
            [](const UnitWeight& a, const UnitWeight& b) { return a.weight > b.weight; });
  const int first_attribute = layout.groups()[static_cast<std::size_t>(group)].first_attribute;
  unsigned mask = 0;
  for (std::size_t j = 0; j < weights.size(); ++j) {
    mask |= 1u << (weights[j].attribute - first_attribute);
    const double next = j + 1 < weights.size() ? weights[j + 1].weight : 0.0;
    const double step = weights[j].weight - next;
    if (step != 0) plan.terms.push_back({layout.subset_row(group, mask), step});  // 0 * inf would be NaN
  }
}

void append_chains(UnitWeights& weights, const BoundLayout& layout, BoundPlan& plan) {
  if (layout.has_total() && weights.size() == static_cast<std::size_t>(layout.num_attributes())) {
    const double smallest =
        std::min_element(weights.begin(), weights.end(), [](const auto& a, const auto& b) {
          return a.weight < b.weight;
        })->weight;
    plan.terms.push_back({layout.total_row(), smallest});
    for (UnitWeight& weight : weights) weight.weight -= smallest;
  }
  for (std::size_t g = 0; g < layout.groups().size(); ++g) {
    UnitWeights of_group;
    for (const UnitWeight& weight : weights)
      if (weight.weight > 0 && layout.group_of(weight.attribute) == static_cast<int>(g))
        of_group.push_back(weight);
    append_chain(of_group, static_cast<int>(g), layout, plan);
  }
}

}  // namespace

BoundPlan make_bound_plan(std::span<const Term> terms, double offset, const Snapshot& snapshot) {
  BoundPlan plan;
  UnitWeights positive;
  plan.base = offset;
  for (const Term& term : terms) {
    const BoundUnit& unit = snapshot.units[static_cast<std::size_t>(term.attribute)];
    const UnitWeight weight{term.attribute, term.weight * unit.unit};
    plan.base = std::fma(term.weight, unit.origin, plan.base);
    if (weight.weight > 0) positive.push_back(weight);
    if (weight.weight < 0) plan.terms.push_back({snapshot.layout.minimum_row(term.attribute), weight.weight});
  }
  append_chains(positive, snapshot.layout, plan);
  const double size = magnitude(terms, offset, snapshot);
  plan.magnitude = size;
  plan.exact = is_exact(terms, offset, size, snapshot);
  if (!plan.exact) {
    const double roundings = 8.0 * static_cast<double>(terms.size()) + 32.0;
    plan.base += roundings * 0x1p-53 * size + 0x1p-1040;
    plan.looseness = 0x1p-9 * size + 0x1p-1000;
  }
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
