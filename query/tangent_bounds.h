// TangentBound: an upper bound of scores with functions of attributes. It replaces each function by a line
// (query/tangent_term.h). The chain bounds the weights and lines together; the attributes' ranges bound how far the functions
// rise above their lines.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "query/bound_plan.h"
#include "query/tangent_term.h"

namespace culmen {

// Makers of bounds need one line at least.
bool has_lines(const WeightAndFunction& sum, double largest);

struct TangentBound {
  BoundPlan plan;
  std::vector<TangentTerm> tangents;
};

// What bounds are made for.
struct ScoreToBound {
  std::vector<Term> weights;  // of attributes without functions that have lines
  double offset;
  std::vector<WeightAndFunction> sums;  // of the others: each has lines
  double largest;                       // FunctionTerms::largest()
  double error;                         // to be added for rounding, without what lines add
  std::span<const RangePredicate> where;
  const Snapshot& snapshot;
  std::span<const AttributeStats> stats;
};

inline constexpr std::size_t kMostTangentBounds = 5;

// Bounds of which the smallest counts, at most so many. The first is good alone; others are tighter at some values of an attribute.
std::vector<TangentBound> make_tangent_bounds(const ScoreToBound& score);

}  // namespace culmen
