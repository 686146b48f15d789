// A query in the form that engines read: checked, attributes by position, oriented, with a bound plan. resolve() makes
// it once per query; it is read-only afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/short_list.h"
#include "culmen/query.h"
#include "index/score.h"
#include "query/bound_plan.h"
#include "query/chain.h"
#include "query/function_terms.h"
#include "query/joint_terms.h"
#include "query/predicate.h"
#include "query/row_groups.h"
#include "query/watch.h"

namespace culmen {

// The terms for the kernels that read codes: in whole vectors, padded with terms of weight 0.
struct CodeTerms {
  ShortList<double, kTermsInPlace> weights;
  ShortList<std::int32_t, kTermsInPlace> attributes;
  bool are_neighbours = false;  // the attributes are consecutive

  CodeTerms() = default;
  explicit CodeTerms(std::span<const Term> terms);
};

struct ResolvedQuery {
  ShortList<Term, kTermsInPlace> terms;  // oriented weights that are not 0, in attribute order
  double offset = 0;                     // where the score's chain starts
  FunctionTerms functions;               // added to the score of the weights; `bound` is without them
  std::optional<JointTerms> joint;       // another bound of the whole score, if it may be tighter
  double largest = 0;                    // no score is larger in size
  std::size_t k = 0;                     // 1 .. number of rows
  double min_score = -std::numeric_limits<double>::infinity();
  Predicate filter;
  std::vector<RangePredicate> where;     // implied by the filter, at most one per attribute
  std::vector<RangeBound> where_bounds;  // of `where`, for GPU engines
  BoundPlan bound;
  CodeTerms codes;
  Watch* watch = nullptr;       // of the call, if there is one; engines look at it for each leaf or node
  std::optional<Cursor> after;  // rows before this place, and the one there, are on earlier pages
  std::optional<ResolvedGroups> groups;

  bool is_on_earlier_page(double score, std::int64_t id) const {
    return after && !(score < after->score || (score == after->score && id > after->id));
  }
  std::span<const Term> score_terms() const { return {terms.data(), terms.size()}; }
  ScoreChain chain() const { return {terms.data(), static_cast<int>(terms.size()), offset}; }
};

}  // namespace culmen
