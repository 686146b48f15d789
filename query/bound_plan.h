// The chain bound of a query (docs/how-it-works.md), written as a short list of bounds rows and coefficients.
//
// For unit weights v_i = w_i * 2^e_i >= 0 sorted descending, and S_j the first j attributes in that order,
//   sum_i v_i X_i = sum_j (v_(j) - v_(j+1)) * sum_{i in S_j} X_i  <=  sum_j (v_(j) - v_(j+1)) * m(S_j)
// (telescoping sum: Fagin & Wimmers 2000). Negative weights have a chain over minima. With several groups
// of attributes each has its own chain, after the smallest weight was taken out with the maximum of the
// total.
//
// Where a range of the query cuts off the good end of a weighted attribute, the bound does not have to cover what is
// beyond. Such attributes are left out of a second chain, `capped`, and have their best value within the range in its
// base: large nodes, which reach beyond the range, are bounded by it more tightly.
//
// A bound is a number or +infinity, whatever is stored: attributes whose unit weight is no normal number are
// left to the base (Coverage in query/chain.h).
//
// Rigour: stored maxima are rounded up when they are made (index/leaf_bounds.h). What computing scores and
// bounds in binary64 can lose is bounded once per query and added to `base`:
//   (8 d + 32) * 2^-53 * (|offset| + sum |w_i| (2 max|a_i| + 2 max|a_i - origin_i|)) + 2^-1040,
// which covers gamma_d for the score's chain, one rounding per coefficient, gamma_(d+2) for the bound's
// chain, and underflow, more than twice over. If the quanta of weights and attributes show that no operation
// rounds, the addend is 0 and the plan is `exact`: only then can a bound equal a score, which full ties need.
#pragma once

#include <span>
#include <vector>

#include "index/snapshot.h"
#include "query/chain.h"
#include "query/resolved_query.h"

namespace culmen {

BoundPlan make_bound_plan(const ScoreChain& chain, std::span<const RangePredicate> where,
                          const Snapshot& snapshot);

// The ranges in bound units, rounded outwards.
std::vector<RangeBound> make_range_bounds(std::span<const RangePredicate> where, const Snapshot& snapshot);

}  // namespace culmen
