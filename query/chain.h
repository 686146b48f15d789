// Computes the chain bound of a query from its weights, in plain arrays: host and device run the same code, so a plan
// has the same bits wherever it is made. query/bound_plan.h explains the numbers, and why no score exceeds them.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/half.h"
#include "base/host_device.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/score.h"

namespace culmen {

// The score of a query: a chain over the oriented weights that are not 0.
struct ScoreChain {
  const Term* terms;  // [num_terms] in attribute order
  int num_terms;
  double offset;
};

// minimum <= oriented value <= maximum.
struct RangePredicate {
  std::int32_t attribute;
  double minimum;
  double maximum;
};

// The parts of an index that a bound depends on, from a snapshot or from its copy on a device. A bound with caps need
// not cover rows outside of these ranges: the base covers attributes whose good end a range cuts off.
struct BoundBasis {
  const BoundLayout* layout;
  const BoundUnit* units;       // [num_attributes]
  const AttributeStats* stats;  // [num_attributes]
  bool exact_sums;              // as in index/snapshot.h
  const RangePredicate* caps = nullptr;
  int num_caps = 0;
};

// coefficient * (the leaf's bound in bounds row `row`).
struct BoundTerm {
  std::int32_t row;
  double coefficient;
};

// Where the sum of a bound's terms starts, and properties of the bound.
struct BoundStart {
  double base = 0;
  // No operation in this query's scores and bounds rounds: a bound can equal the score that it covers.
  bool exact = false;
  double magnitude = 0;  // at least the absolute value of any score
  // How far rounding, here and of stored maxima, may lift a bound above the score that it covers. Not added to bounds:
  // a node whose bound is within this distance of the k-th score may only tie with it.
  double error_bound = 0;
};

// sum |w_i| max|a_i|, infinite if an intermediate result of a score could overflow. Summed like a score, so that no
// score rounds to more.
CULMEN_HOST_DEVICE inline double largest_score(const ScoreChain& chain, const AttributeStats* stats) {
  double size = std::fabs(chain.offset);
  for (int t = 0; t < chain.num_terms; ++t) {
    const Term& term = chain.terms[t];
    size = score_step(size, std::fabs(term.weight), stats[term.attribute].max_abs());
  }
  return size;
}

// `best`, the best value of the term's attribute, limited to the ranges.
CULMEN_HOST_DEVICE inline double within_ranges(const RangePredicate* ranges, int num_ranges, const Term& term,
                                               double best) {
  for (int r = 0; r < num_ranges; ++r) {
    if (ranges[r].attribute != term.attribute) continue;
    best = term.weight > 0 ? std::fmin(best, ranges[r].maximum) : std::fmax(best, ranges[r].minimum);
  }
  return best;
}

// The value of a with the largest w * a: the attribute's best over the index, limited to the caps.
CULMEN_HOST_DEVICE inline double best_value(const Term& term, const BoundBasis& basis) {
  const AttributeStats& stats = basis.stats[term.attribute];
  const double best =
      within_ranges(basis.caps, basis.num_caps, term, term.weight > 0 ? stats.maximum : stats.minimum);
  const double below = best < stats.maximum ? best : stats.maximum;  // no row lies beyond
  return below > stats.minimum ? below : stats.minimum;
}

// How a bound covers w * a for one used attribute: w * anchor is part of the base, and the chain covers unit_weight
// times (a - anchor) / unit, of which leaves store bounds.
struct Coverage {
  double anchor;
  double unit_weight;  // w * 2^e, exact; 0: not in the chain, the anchor covers every value in the index
  double extent;       // the largest |a - anchor| that the chain has to cover
};

// Units date from the build, values may have changed since, and weights are arbitrary. An attribute is in the chain
// only if unit_weight is a normal number and w * extent is finite: then no stored number can make the bound too low,
// -infinity or NaN. It is also skipped if all values are within kHalfMinimum units of the origin, since a mirror's
// binary16 bounds could not tell them apart, and if a cap applies. The anchor of a skipped attribute is its
// best value over the index, within the caps.
CULMEN_HOST_DEVICE inline Coverage coverage(const Term& term, const BoundBasis& basis) {
  const AttributeStats& stats = basis.stats[term.attribute];
  const BoundUnit& unit = basis.units[term.attribute];
  const double best = best_value(term, basis);
  if (best != (term.weight > 0 ? stats.maximum : stats.minimum)) return {best, 0, 0};
  const double above = stats.maximum - unit.origin, below = unit.origin - stats.minimum;
  const double extent = above > below ? above : below;
  const double unit_weight = term.weight * unit.unit;
  const double size = std::fabs(unit_weight);
  const bool is_normal = size >= 0x1p-1022 && size < HUGE_VAL;
  const bool is_in_range = std::fabs(term.weight) * extent < HUGE_VAL;
  const bool tells_apart = extent == 0 || extent > kHalfMinimum * unit.unit;
  if (is_normal && is_in_range && tells_apart) return {unit.origin, unit_weight, extent};
  return {best, 0, 0};
}

// Returns true if a range cuts off the good end of a used attribute.
CULMEN_HOST_DEVICE inline bool is_capped(const ScoreChain& chain, const BoundBasis& basis) {
  BoundBasis uncapped = basis;
  uncapped.num_caps = 0;
  for (int t = 0; t < chain.num_terms; ++t)
    if (best_value(chain.terms[t], basis) != best_value(chain.terms[t], uncapped)) return true;
  return false;
}

CULMEN_HOST_DEVICE constexpr int smaller(int a, int b) {  // std::min is not a device function
  return a < b ? a : b;
}

// In a wide table the length of a row bounds scores over many attributes, and single attributes bound those over few: with
// values alike, weights w bound a leaf by |w| sqrt(d) or by about 2.5 sum |w_i|.
CULMEN_HOST_DEVICE inline bool is_bounded_by_length(const ScoreChain& chain, const BoundBasis& basis) {
  return basis.layout->is_wide() && 8 * chain.num_terms > basis.layout->num_attributes();
}

// Returns true if every product and sum in scores and bounds is a multiple of one power of two and small enough to be a
// binary64 number without rounding.
CULMEN_HOST_DEVICE inline bool bound_is_exact(const ScoreChain& chain, double magnitude,
                                              const BoundBasis& basis) {
  if (!basis.exact_sums || basis.num_caps > 0) return false;  // caps are arbitrary numbers
  if (is_bounded_by_length(chain, basis)) return false;
  int weight_quantum = kNoQuantum;
  int value_quantum = kNoQuantum;
  for (int t = 0; t < chain.num_terms; ++t) {
    const Term& term = chain.terms[t];
    const int exponent = basis.units[term.attribute].exponent;
    // Attributes outside of the chain count as well: w * a and w * anchor are multiples of the product of the quanta.
    weight_quantum = smaller(weight_quantum, quantum_exponent(term.weight) + exponent);
    value_quantum = smaller(value_quantum, basis.stats[term.attribute].quantum - exponent);
  }
  const int quantum = smaller(weight_quantum + value_quantum, quantum_exponent(chain.offset));
  return smaller(quantum, weight_quantum) >= -1074 &&
         2 * magnitude <= std::ldexp(1.0, smaller(quantum + 53, 1023));
}

// The bound's base, and its magnitude |offset| + sum |w_i| (2 max|a_i| + 2 extent_i), the size of everything that is
// added up. If that is too large, base and bounds are infinite, and nothing is pruned.
CULMEN_HOST_DEVICE inline BoundStart bound_start(const ScoreChain& chain, const BoundBasis& basis) {
  constexpr double kLargestMagnitude = 0x1p1022;
  BoundStart start;
  start.base = chain.offset;
  start.magnitude = std::fabs(chain.offset);
  for (int t = 0; t < chain.num_terms; ++t) {
    const Term& term = chain.terms[t];
    const Coverage cover = coverage(term, basis);
    start.base = std::fma(term.weight, cover.anchor, start.base);
    start.magnitude +=
        std::fabs(term.weight) * (2 * basis.stats[term.attribute].max_abs() + 2 * cover.extent);
  }
  if (!(start.magnitude <= kLargestMagnitude)) {
    start.base = HUGE_VAL;
    start.error_bound = HUGE_VAL;
    return start;
  }
  start.exact = bound_is_exact(chain, start.magnitude, basis);
  if (!start.exact) {
    const double roundings = 8.0 * chain.num_terms + 32.0;
    start.base += roundings * 0x1p-53 * start.magnitude + 0x1p-1040;
    start.error_bound = 0x1p-9 * start.magnitude + 0x1p-1000;
  }
  return start;
}

// The sizes of the weights of one sign in one group of attributes, in bound units, largest first.
struct GroupWeights {
  double weight[kMaxGroupSize] = {};
  int member[kMaxGroupSize] = {};  // the attribute's position in the group
  int size = 0;

  CULMEN_HOST_DEVICE void insert(int which, double value) {
    int i = size++;
    for (; i > 0 && weight[i - 1] < value; --i) {
      weight[i] = weight[i - 1];
      member[i] = member[i - 1];
    }
    weight[i] = value;
    member[i] = which;
  }
};

// Positive weights have a chain over maxima. Negative weights have one over minima, which is subtracted. Terms has
// push_back(BoundTerm).
template <typename Terms>
CULMEN_HOST_DEVICE void append_chain(const GroupWeights& weights, int group, Extreme extreme,
                                     const BoundLayout& layout, Terms& out) {
  unsigned mask = 0;
  for (int j = 0; j < weights.size; ++j) {
    mask |= 1u << weights.member[j];
    const double next = j + 1 < weights.size ? weights.weight[j + 1] : 0.0;
    const double step = weights.weight[j] - next;
    if (step == 0) continue;  // 0 * inf would be NaN
    out.push_back(
        BoundTerm{layout.subset_row(group, mask, extreme), extreme == Extreme::maximum ? step : -step});
  }
}

// If every attribute is in the chain with a weight of the same sign, appends the total with the smallest of their
// sizes. Returns that size, which is to be subtracted from all, or 0.
template <typename Terms>
CULMEN_HOST_DEVICE double append_total(const ScoreChain& chain, const BoundBasis& basis, Terms& out) {
  double smallest = HUGE_VAL;
  int num_positive = 0, num_negative = 0;
  for (int t = 0; t < chain.num_terms; ++t) {
    const double weight = coverage(chain.terms[t], basis).unit_weight;
    if (weight == 0) continue;
    smallest = std::fmin(smallest, std::fabs(weight));
    ++(weight > 0 ? num_positive : num_negative);
  }
  const int num_attributes = basis.layout->num_attributes();
  if (!basis.layout->has_total()) return 0;
  if (num_positive == num_attributes) {
    out.push_back(BoundTerm{basis.layout->total_row(Extreme::maximum), smallest});
  } else if (num_negative == num_attributes) {
    out.push_back(BoundTerm{basis.layout->total_row(Extreme::minimum), -smallest});
  } else {
    return 0;
  }
  return smallest;
}

// Appends the term of the length: by Cauchy and Schwarz sum w_i (a_i - origin_i) is at most the length of the weights in the
// unit of lengths times that of the row. Returns false if the former is too large or too small.
template <typename Terms>
CULMEN_HOST_DEVICE bool append_length(const ScoreChain& chain, const BoundBasis& basis, Terms& out) {
  constexpr double kRounding = 0x1p-40;  // of the sum and of the product
  double unit = 0, squares = 0;
  for (int i = 0; i < basis.layout->num_attributes(); ++i)
    unit = basis.units[i].unit > unit ? basis.units[i].unit : unit;
  for (int t = 0; t < chain.num_terms; ++t) {
    if (coverage(chain.terms[t], basis).unit_weight == 0) continue;
    const double size = chain.terms[t].weight * unit;
    squares += size * size;
  }
  if (!(squares > 0x1p-900 && squares < 0x1p900)) return false;
  out.push_back(BoundTerm{basis.layout->length_row(Extreme::maximum), std::sqrt(squares) * (1 + kRounding)});
  return true;
}

// Appends the terms of the bound that begins at `start`: at most one for each of the chain's, and one for the total. An
// infinite base gets none, because a term could overflow to -infinity.
template <typename Terms>
CULMEN_HOST_DEVICE void append_bound_terms(const ScoreChain& chain, const BoundStart& start,
                                           const BoundBasis& basis, Terms& out) {
  if (start.base == HUGE_VAL) return;
  if (is_bounded_by_length(chain, basis) && append_length(chain, basis, out)) return;
  const double factored_out = append_total(chain, basis, out);
  int t = 0;
  for (int g = 0; g < basis.layout->num_groups(); ++g) {
    const BoundLayout::Group group = basis.layout->group(g);
    GroupWeights positive, negative;
    for (; t < chain.num_terms && chain.terms[t].attribute < group.first_attribute + group.size; ++t) {
      const double weight = coverage(chain.terms[t], basis).unit_weight;
      const double size = std::fabs(weight) - factored_out;
      if (size > 0)
        (weight > 0 ? positive : negative).insert(chain.terms[t].attribute - group.first_attribute, size);
    }
    append_chain(positive, g, Extreme::maximum, *basis.layout, out);
    append_chain(negative, g, Extreme::minimum, *basis.layout, out);
  }
}

}  // namespace culmen
