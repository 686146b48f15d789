// TangentTerm: what the weight of an attribute and one function of it add to a score, as a line through 0 and what they rise
// above it. The line is a weight, which the chain bounds together with those of other attributes. What is left is bounded by
// the attribute's range; it changes little around the value where the line is a tangent of the function.
//
// Whatever the line, the sum of both bounds holds. It is tight for rows around that value.
#pragma once

#include <optional>

#include "query/function_terms.h"

namespace culmen {

// What an attribute adds to a score in two parts.
struct WeightAndFunction {
  double weight = 0;  // of the attribute itself
  NumberTerm term;
};

class TangentTerm {
 public:
  // Of the lines for a function, in the order of their slopes: tangents of a function without a kink, and of others all that
  // touch it there.
  static constexpr int kLines = 11;

  // sum: of an attribute whose range is finite and not empty. largest: FunctionTerms::largest(). Nothing if there are no such
  // lines, or numbers out of proportion to the scores, with which bounds would lose too much by rounding.
  static std::optional<TangentTerm> make(const WeightAndFunction& sum, int line, double largest);
  // Of near and the decays with a positive weight: the line that leaves the attribute the smallest weight, none if the sum is
  // highest around the function's peak.
  static std::optional<TangentTerm> flattest(const WeightAndFunction& sum, double largest);
  // Of the same: the line that leaves it its own weight, or nearly.
  static std::optional<TangentTerm> level(const WeightAndFunction& sum, double largest);

  std::int32_t attribute() const { return term_.column; }
  const NumberTerm& term() const { return term_; }
  double slope() const { return slope_; }
  // What is left of the attribute's own weight.
  double rest() const { return rest_; }
  // Rounding loses less than 2^-46 of it, besides 2^-47 of `largest`.
  double size() const { return size_; }

  // At least what weight and function rise above the line for any stored value from `first` to `last`, but for rounding:
  // the most of the values at `peak`, or next to it in the range, and at the ends of the range, if these count.
  double highest(double first, double last) const;
  bool peak_counts() const { return term_.weight > 0; }
  bool ends_count() const { return ends_count_; }
  double peak() const { return peak_; }
  // The values that rows may have.
  double lowest() const { return lowest_; }
  double highest() const { return highest_; }

 private:
  class Lines;

  double at(double stored) const;

  NumberTerm term_{};
  double rest_ = 0, slope_ = 0, peak_ = 0, size_ = 0;
  double lowest_ = 0, highest_ = 0;
  bool ends_count_ = true;
};

}  // namespace culmen
