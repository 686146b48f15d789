// A query's bound, from its weights to the terms of the chain, by plain arrays: host and device run this same
// code, so that a plan has the same bits wherever it is made. What the numbers are and why no score is above
// them stands in query/bound_plan.h.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/half.h"
#include "base/host_device.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/score.h"

namespace culmen {

// The score of a query: a chain over oriented weights that are not 0.
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

// What a bound takes from an index: pieces of a snapshot, or of their copy on a device. And ranges outside of which
// there is nothing to cover: attributes whose good end a range cuts off are left to the base.
struct BoundBasis {
  const BoundLayout* layout;
  const BoundUnit* units;       // [num_attributes]
  const AttributeStats* stats;  // [num_attributes]
  bool exact_sums;              // as in index/snapshot.h
  const RangePredicate* caps = nullptr;
  int num_caps = 0;
};

// coefficient * (the leaf's number in bounds row `row`).
struct BoundTerm {
  std::int32_t row;
  double coefficient;
};

// Where the sum of a bound's terms starts, and what is known of it.
struct BoundStart {
  double base = 0;
  // No rounding happens anywhere in this query's scores and bounds: a bound may equal the score it covers.
  bool exact = false;
  double magnitude = 0;  // no score is larger; a measure of its size
  // More than rounding, of stored maxima too, can lift a bound above the score that it is for.
  double error_bound = 0;
};

// sum |w_i| max|a_i|, infinite if a score could overflow on the way. Summed like a score: then no score
// rounds to more.
CULMEN_HOST_DEVICE inline double largest_score(const ScoreChain& chain, const AttributeStats* stats) {
  double size = std::fabs(chain.offset);
  for (int t = 0; t < chain.num_terms; ++t) {
    const Term& term = chain.terms[t];
    size = score_step(size, std::fabs(term.weight), stats[term.attribute].max_abs());
  }
  return size;
}

// The best value of the term's attribute that passes the ranges, if `best` is the best there is.
CULMEN_HOST_DEVICE inline double within_ranges(const RangePredicate* ranges, int num_ranges, const Term& term,
                                               double best) {
  for (int r = 0; r < num_ranges; ++r) {
    if (ranges[r].attribute != term.attribute) continue;
    best = term.weight > 0 ? std::fmin(best, ranges[r].maximum) : std::fmax(best, ranges[r].minimum);
  }
  return best;
}

// The largest w * a is at this value of a: the attribute's best over the index, or where a cap cuts that off.
CULMEN_HOST_DEVICE inline double best_value(const Term& term, const BoundBasis& basis) {
  const AttributeStats& stats = basis.stats[term.attribute];
  const double best =
      within_ranges(basis.caps, basis.num_caps, term, term.weight > 0 ? stats.maximum : stats.minimum);
  return std::fmax(std::fmin(best, stats.maximum), stats.minimum);  // whatever is beyond, no row is there
}

// How a bound covers w * a for one used attribute: by w * anchor, which goes into the base, and by
// unit_weight times what is stored of (a - anchor) / unit, which goes into the chain.
struct Coverage {
  double anchor;
  double unit_weight;  // w * 2^e, exactly; 0: the anchor alone covers every value in the index
  double extent;       // the largest |a - anchor| that the chain has to cover
};

// Units are those of the build, while values have come and gone and weights are anybody's. Where the
// attribute has a place in the chain, unit_weight is normal and w * extent finite; then no stored number can
// make the bound less than it has to be, nor -infinity or NaN. Elsewhere the anchor is the attribute's best
// value over the index, whatever the leaves have stored: where w * 2^e is not a normal number, and where the
// unit has become so large that the least of stored numbers above 0 stands for more than all values are
// apart. Also where a cap is.
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

// Whether there is an attribute in the chain whose good end is cut off.
CULMEN_HOST_DEVICE inline bool is_capped(const ScoreChain& chain, const BoundBasis& basis) {
  BoundBasis uncapped = basis;
  uncapped.num_caps = 0;
  for (int t = 0; t < chain.num_terms; ++t)
    if (best_value(chain.terms[t], basis) != best_value(chain.terms[t], uncapped)) return true;
  return false;
}

CULMEN_HOST_DEVICE constexpr int smaller(int a, int b) {  // std::min is not for devices
  return a < b ? a : b;
}

// Whether every product and sum of the score and of the bound is a multiple of one power of two and small
// enough to be a binary64 number as it is.
CULMEN_HOST_DEVICE inline bool bound_is_exact(const ScoreChain& chain, double magnitude,
                                              const BoundBasis& basis) {
  if (!basis.exact_sums || basis.num_caps > 0) return false;  // a cap is anybody's number
  int weight_quantum = kNoQuantum;
  int value_quantum = kNoQuantum;
  for (int t = 0; t < chain.num_terms; ++t) {
    const Term& term = chain.terms[t];
    const int exponent = basis.units[term.attribute].exponent;
    // Also of what the chain does not cover: w * a and w * anchor are multiples of the two quanta's product.
    weight_quantum = smaller(weight_quantum, quantum_exponent(term.weight) + exponent);
    value_quantum = smaller(value_quantum, basis.stats[term.attribute].quantum - exponent);
  }
  const int quantum = smaller(weight_quantum + value_quantum, quantum_exponent(chain.offset));
  return smaller(quantum, weight_quantum) >= -1074 &&
         2 * magnitude <= std::ldexp(1.0, smaller(quantum + 53, 1023));
}

// The bound's base and sum |w_i| (2 max|a_i| + 2 extent_i), the size of everything that is added up. Where
// that is too large, nothing is known of any block: base and bounds are infinite.
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
  int member[kMaxGroupSize] = {};  // which attribute of the group it is for
  int size = 0;

  CULMEN_HOST_DEVICE void insert(int which, double value) {
    int place = size++;
    for (; place > 0 && weight[place - 1] < value; --place) {
      weight[place] = weight[place - 1];
      member[place] = member[place - 1];
    }
    weight[place] = value;
    member[place] = which;
  }
};

// The chain of positive weights is over maxima; that of negative ones is over minima, and taken off. Terms: has
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

// Appends the total if every attribute has a weight of the same sign in the chain: then returns the smallest size of
// them, which the total takes out of all; else 0.
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

// Appends the terms of the bound that begins at `start`: at most one for each of the chain's, and one for the total; none
// where nothing is known, as they could overflow to the other side.
template <typename Terms>
CULMEN_HOST_DEVICE void append_bound_terms(const ScoreChain& chain, const BoundStart& start,
                                           const BoundBasis& basis, Terms& out) {
  if (start.base == HUGE_VAL) return;
  const double taken_out = append_total(chain, basis, out);
  int t = 0;
  for (int g = 0; g < basis.layout->num_groups(); ++g) {
    const BoundLayout::Group& group = basis.layout->group(g);
    GroupWeights positive, negative;
    for (; t < chain.num_terms && chain.terms[t].attribute < group.first_attribute + group.size; ++t) {
      const double weight = coverage(chain.terms[t], basis).unit_weight;
      const double size = std::fabs(weight) - taken_out;
      if (size > 0)
        (weight > 0 ? positive : negative).insert(chain.terms[t].attribute - group.first_attribute, size);
    }
    append_chain(positive, g, Extreme::maximum, *basis.layout, out);
    append_chain(negative, g, Extreme::minimum, *basis.layout, out);
  }
}

}  // namespace culmen
