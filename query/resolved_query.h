// A query as the engines take it: checked, by position, oriented, with its bound worked out. Made once per
// query by query/resolve.cc, read-only afterwards.
#pragma once

#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "culmen/schema.h"
#include "index/score.h"
#include "query/chain.h"

namespace culmen {

// A range in bound units: a leaf with maximum below `lowest` or minimum above `highest` holds no row in
// the range.
struct RangeBound {
  std::int32_t maximum_row;
  std::int32_t minimum_row;
  float lowest;
  float highest;
};

// One per used attribute at most, and one for the total.
using BoundTerms = boost::container::static_vector<BoundTerm, kMaxAttributes + 1>;

// Upper bound on the score of every row of a leaf that passes the ranges: base + sum of its terms, computed in
// binary64; or the same of `capped`, if that is less. See query/bound_plan.h.
struct BoundPlan : BoundStart {
  struct Capped {
    double base;
    BoundTerms terms;
  };

  BoundTerms terms;
  std::optional<Capped> capped;
  std::vector<RangeBound> ranges;

  std::size_t num_terms() const { return terms.size() + (capped ? capped->terms.size() : 0); }
};

// The terms once more, as a look at codes takes them: in whole vectors, behind the last term those of weight 0.
struct CodeTerms {
  double weights[kMaxAttributes] = {};
  std::int32_t attributes[kMaxAttributes] = {};
  bool are_neighbours = false;  // each attribute follows the one before

  CodeTerms() = default;
  explicit CodeTerms(std::span<const Term> terms);
};

struct ResolvedQuery {
  boost::container::static_vector<Term, kMaxAttributes>
      terms;          // oriented weights that are not 0, in attribute order
  double offset = 0;  // where the score's chain starts
  std::size_t k = 0;  // 1 .. number of rows
  double min_score = -std::numeric_limits<double>::infinity();
  std::vector<RangePredicate> where;
  BoundPlan bound;
  CodeTerms codes;

  std::span<const Term> score_terms() const { return {terms.data(), terms.size()}; }
  ScoreChain chain() const { return {terms.data(), static_cast<int>(terms.size()), offset}; }
};

}  // namespace culmen
