// The chain bound of a query (docs/how-it-works.md), written as a short list of bounds rows and coefficients.
//
// For unit weights v_i = w_i * 2^e_i >= 0 sorted descending, and S_j the first j attributes in that order,
//   sum_i v_i X_i = sum_j (v_(j) - v_(j+1)) * sum_{i in S_j} X_i  <=  sum_j (v_(j) - v_(j+1)) * m(S_j)
// (telescoping sum: Fagin & Wimmers 2000). Negative weights have a chain over minima. With several groups of attributes
// each has its own chain, after the smallest weight was factored out with the maximum of the total.
//
// If a range of the query cuts off the good end of a weighted attribute, the bound need not cover rows beyond. A second
// chain, `capped`, skips such attributes, and its base has their best values within the range. Large nodes extend
// beyond the range, and get tighter bounds from it.
//
// A bound is a number or +infinity, whatever is stored: the base covers attributes whose unit weight is not a normal
// number (Coverage in query/chain.h).
//
// Rigour: stored maxima are rounded up when they are computed (index/leaf_bounds.h). What scores and bounds can lose by
// rounding in binary64 is bounded once per query and added to `base`. With m used attributes that is
//   (8 m + 32) * 2^-53 * (|offset| + sum |w_i| (2 max|a_i| + 2 max|a_i - origin_i|)) + 2^-1040,
// more than twice the sum of all rounding errors and underflow (docs/how-it-works.md). If the quanta of weights and
// attributes show that no operation rounds, nothing is added and the plan is `exact`. Only then can a bound equal a
// score, which full ties need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/short_list.h"
#include "index/snapshot.h"
#include "query/chain.h"

namespace culmen {

// So many attributes, all that tables with subset bounds have, need no memory of their own.
inline constexpr std::size_t kTermsInPlace = kMaxGroupedAttributes;

// At most one per used attribute, and one for the total.
using BoundTerms = ShortList<BoundTerm, kTermsInPlace + 1>;

// An upper bound on the score of every row of a leaf that passes the ranges: base + the sum of the terms in binary64,
// or that of `capped`, if it is less.
struct BoundPlan : BoundStart {
  struct Capped {
    double base;
    BoundTerms terms;
  };

  BoundTerms terms;
  std::optional<Capped> capped;

  std::size_t num_terms() const { return terms.size() + (capped ? capped->terms.size() : 0); }
};

// A range in bound units: a leaf whose maximum is below `lowest` or whose minimum is above `highest` has no row in it.
struct RangeBound {
  std::int32_t maximum_row;
  std::int32_t minimum_row;
  float lowest;
  float highest;
};

// `stats` cover the rows that the query ranks: the snapshot's, or with stand-ins.
BoundPlan make_bound_plan(const ScoreChain& chain, std::span<const RangePredicate> where,
                          const Snapshot& snapshot, std::span<const AttributeStats> stats);

// A range in bound units, rounded outwards.
RangeBound make_range_bound(const RangePredicate& range, const Snapshot& snapshot);

}  // namespace culmen
