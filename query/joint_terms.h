// JointTerms: tighter bounds where functions of attributes count. The best of each part of a score may be at another value,
// so that bounds of the parts add up to more than any row has.
//
// What an attribute adds by its weight and by one function is taken apart into a line, which the chain bounds together with
// those of other attributes, and the rest (query/tangent_bounds.h).
//
// Where an attribute counts in several functions, its parts are bounded together, by a table over its range.
//
// A rank is taken apart as well: into a weight, its slope where good rows have their values, and the rest, which a table
// bounds. Box bounds of ranks alone prune little.
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
#include "query/tangent_bounds.h"

namespace culmen {

// All that one attribute adds to a score.
class JointAttribute {
 public:
  // terms: those of the attribute, whose range must be a finite number above 2^-1000.
  JointAttribute(double weight, std::span<const NumberTerm> terms);
  // What it rises above its line.
  explicit JointAttribute(const TangentTerm& term);

  std::int32_t attribute() const { return attribute_; }
  // At least what it adds for any stored value from `first` to `last`.
  double highest(double first, double last) const;

  const JointCells& cells() const { return cells_; }
  // For values of one cell.
  double highest_of_cell(std::size_t cell) const { return highest_[0][cell]; }

 private:
  static constexpr std::size_t kCells = JointCells::kCells, kLevels = 7;

  template <typename Highest>
  void fill(double minimum, double maximum, const Highest& highest);

  std::int32_t attribute_;
  JointCells cells_{};
  // of 2^level cells, from each on
  std::array<std::array<double, kCells>, kLevels> highest_{};
};

struct JointTerms {
  // Of weights, of functions that have lines, and of the slopes of ranks. Each, with what follows, is a bound of the score.
  std::vector<TangentBound> bounds;
  std::vector<JointAttribute> attributes;
  FunctionTerms functions;  // those that neither covers
  // Not by a sum of the bounds of weights and functions, unless that is exact.
  bool is_tightest = false;
};

// Nothing if no function has lines, or is of an attribute that counts more than once. stats: of the stored values of all rows that are ranked. largest:
// FunctionTerms::largest().
std::optional<JointTerms> join_terms(const ScoreChain& chain, const FunctionTerms& functions,
                                     std::span<const RangePredicate> where, const Snapshot& snapshot,
                                     std::span<const AttributeStats> stats, double largest);

}  // namespace culmen
