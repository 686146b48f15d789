// JointTerms: tighter bounds where an attribute counts in several parts of a score, as a weight and in a function, or in
// several functions. The best of each part may be at another value, so that bounds of the parts add up to more than any
// row has. Here an attribute's parts are bounded together, by a table over its range.
//
// A rank is taken apart in the same way: into a weight, its slope where good rows have their values, which the chain bounds
// together with those of other attributes, and the rest, which a table bounds. Box bounds of ranks alone prune little.
//
// These bounds are not chains like the score's own; what rounding may lose is added to them once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query/bound_plan.h"
#include "query/function_terms.h"
#include "query/joint_cells.h"

namespace culmen {

// All that one attribute adds to a score.
class JointAttribute {
 public:
  // terms: those of the attribute, whose range must be a finite number above 2^-1000.
  JointAttribute(double weight, std::span<const NumberTerm> terms);

  std::int32_t attribute() const { return attribute_; }
  // At least what it adds for any stored value from `first` to `last`.
  double highest(double first, double last) const;

  const JointCells& cells() const { return cells_; }
  // For values of one cell.
  double highest_of_cell(std::size_t cell) const { return highest_[0][cell]; }

 private:
  static constexpr std::size_t kCells = JointCells::kCells, kLevels = 7;

  std::int32_t attribute_;
  JointCells cells_{};
  // of 2^level cells, from each on
  std::array<std::array<double, kCells>, kLevels> highest_{};
};

struct JointTerms {
  std::vector<JointAttribute> attributes;
  BoundPlan others;         // a bound of the weights of other attributes, and of the slopes of ranks
  FunctionTerms functions;  // those that `attributes` does not cover
};

// Nothing if no attribute counts more than once and none is ranked. stats: of the stored values of all rows that are ranked. largest:
// FunctionTerms::largest().
std::optional<JointTerms> join_terms(const ScoreChain& chain, const FunctionTerms& functions,
                                     std::span<const RangePredicate> where, const Snapshot& snapshot,
                                     std::span<const AttributeStats> stats, double largest);

}  // namespace culmen
