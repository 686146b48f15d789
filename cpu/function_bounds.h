// Upper bounds of the terms of a score besides its weights (query/function_terms.h), over the rows of a leaf or below the
// children of a node.
//
// A bound is a chain like the score's own, from a bound of the weights' part, with the highest value of each term. Every step
// is monotone, even after rounding (Rule A, index/score.h), so nothing is added for rounding.
#pragma once

#include <boost/container/small_vector.hpp>

#include <cstddef>

#include "cpu/frontier.h"
#include "index/score.h"
#include "index/snapshot.h"
#include "query/function_terms.h"
#include "query/joint_terms.h"

namespace culmen {

// What terms add at most to the score of one of some rows.
class HighestTerms {
 public:
  void push_back(double weight, double value) { steps_.push_back({weight, value}); }

  double add_to(double score) const;
  // No row with a lower score from its weights reaches the k-th score bound.
  double least_before(double kth_bound) const;

 private:
  struct Step {
    double weight, value;
  };
  boost::container::small_vector<Step, 8> steps_;
};

// T: the type of the snapshot's values.
template <typename T>
HighestTerms highest_of_leaf(const FunctionTerms& terms, const Snapshot& snapshot, std::size_t leaf);

HighestTerms highest_of_index(const FunctionTerms& terms, const Snapshot& snapshot);

// Adds them to the bounds of the children of a node.
void add_highest_of_children(const FunctionTerms& terms, const Snapshot& snapshot, std::size_t slot,
                             Frontier::Bounds& bounds);

// Upper bounds on the scores of the rows below each child, in another way.
Frontier::Bounds joint_bounds_of_children(const JointTerms& joint, const Snapshot& snapshot,
                                          std::size_t slot);

}  // namespace culmen
