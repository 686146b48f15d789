#include "query/joint_terms.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

namespace culmen {
namespace {

double weight_of(const ScoreChain& chain, std::int32_t attribute) {
  for (int t = 0; t < chain.num_terms; ++t)
    if (chain.terms[t].attribute == attribute) return chain.terms[t].weight;
  return 0;
}

// Whether its values are numbers that a table can divide, and so are cells.
bool has_range(const NumberTerm& term) {
  const double range = term.maximum - term.minimum;
  return range > 0x1p-1000 && range < std::numeric_limits<double>::infinity();
}

std::vector<NumberTerm> terms_of_attribute(const FunctionTerms& functions, std::int32_t attribute) {
  std::vector<NumberTerm> terms;
  for (const FunctionTerms::Term& term : functions.terms())
    if (const auto* number = std::get_if<NumberTerm>(&term);
        number != nullptr && !number->is_field && number->column == attribute)
      terms.push_back(*number);
  return terms;
}

// The slope of a rank through the values that good rows have, by stored value; 0 if it is too steep for a chain.
double slope_of(const NumberTerm& term) {
  constexpr double kGood = 0.7, kBest = 0.97, kSteepest = 0x1p20;
  const RankCurve& curve = *term.ranks;
  const bool rises = term.weight > 0;
  const double from = curve.value_at(rises ? kGood : 1 - kBest),
               to = curve.value_at(rises ? kBest : 1 - kGood);
  const double slope = (term.negated ? -term.weight : term.weight) * (curve(to) - curve(from)) / (to - from);
  const double most = std::fabs(slope) * std::fmax(std::fabs(term.minimum), std::fabs(term.maximum));
  return most <= kSteepest * std::fabs(term.weight) ? slope : 0;  // also of NaN
}

// The most that a rank adds above a line through 0, from `first` to `last`: at an end, or where its slope changes.
double highest_above(double slope, const NumberTerm& rank, double first, double last) {
  const auto above = [&](double stored) {
    return rank.weight * rank.value(rank.of_stored(stored)) - slope * stored;
  };
  double highest = std::fmax(above(first), above(last));
  const RankCurve& curve = *rank.ranks;
  const double from = rank.negated ? -last : first, to = rank.negated ? -first : last;
  for (std::size_t i = curve.num_at_most(from); i < curve.size() && curve.value(i) < to; ++i)
    highest = std::fmax(highest, above(rank.negated ? -curve.value(i) : curve.value(i)));
  return highest;
}

// A rank of one value, or of none, is the same on all rows beside it.
bool has_slope(const NumberTerm& term) {
  return term.function == TermFunction::rank && term.ranks->size() > 1;
}

}  // namespace

JointAttribute::JointAttribute(double weight, std::span<const NumberTerm> terms)
    : attribute_(terms.front().column) {
  fill(terms.front().minimum, terms.front().maximum, [&](double first, double last) {
    if (terms.size() == 1 && terms.front().function == TermFunction::rank)
      return highest_above(-weight, terms.front(), first, last);
    double sum = weight * (weight > 0 ? last : first);
    for (const NumberTerm& term : terms) sum += term.weight * term.highest_of_stored(first, last);
    return sum;
  });
}

JointAttribute::JointAttribute(const TangentTerm& term) : attribute_(term.attribute()) {
  fill(term.term().minimum, term.term().maximum,
       [&](double first, double last) { return term.highest(first, last); });
}

// highest(first, last): at least what the attribute adds there.
template <typename Highest>
void JointAttribute::fill(double minimum, double maximum, const Highest& highest) {
  const double width = (maximum - minimum) / kCells;
  cells_ = {minimum, 1 / width};
  // Where rounding may put a value into the next cell.
  const double beyond = 0x1p-20 * width + 0x1p-50 * std::fmax(std::fabs(minimum), std::fabs(maximum));
  for (std::size_t c = 0; c < kCells; ++c) {
    // No value is outside of the range, where functions may not be numbers.
    const double first = std::fmax(minimum + static_cast<double>(c) * width - beyond, minimum);
    const double last = std::fmin(minimum + static_cast<double>(c + 1) * width + beyond, maximum);
    highest_[0][c] = highest(first, last);
  }
  for (std::size_t level = 1; level < kLevels; ++level) {
    const std::size_t half = std::size_t{1} << (level - 1);
    for (std::size_t c = 0; c < kCells; ++c)
      highest_[level][c] =
          std::max(highest_[level - 1][c], highest_[level - 1][std::min(c + half, kCells - 1)]);
  }
}

double JointAttribute::highest(double first, double last) const {
  const std::size_t from = cells_.cell_of(first), to = cells_.cell_of(last);
  const auto level = static_cast<std::size_t>(std::bit_width(to - from + 1) - 1);
  return std::max(highest_[level][from], highest_[level][to + 1 - (std::size_t{1} << level)]);
}

std::optional<JointTerms> join_terms(const ScoreChain& chain, const FunctionTerms& functions,
                                     std::span<const RangePredicate> where, const Snapshot& snapshot,
                                     std::span<const AttributeStats> stats, double largest) {
  JointTerms joint;
  std::vector<FunctionTerms::Term> others;
  ScoreToBound score = {.weights = {},
                        .offset = chain.offset,
                        .sums = {},
                        .largest = largest,
                        .error = 0,
                        .where = where,
                        .snapshot = snapshot,
                        .stats = stats};
  std::vector<std::int32_t> joined;  // attributes
  const auto is_joined = [&](std::int32_t attribute) {
    return std::ranges::find(joined, attribute) != joined.end();
  };
  double of_slopes = 0;  // what they add at most, in size
  for (const FunctionTerms::Term& term : functions.terms()) {
    const auto* number = std::get_if<NumberTerm>(&term);
    if (number == nullptr || number->is_field || !has_range(*number)) {
      others.push_back(term);
      continue;
    }
    if (is_joined(number->column)) continue;
    const double weight = weight_of(chain, number->column);
    const std::vector<NumberTerm> terms = terms_of_attribute(functions, number->column);
    if (weight == 0 && terms.size() == 1 && has_slope(*number)) {
      const double slope = slope_of(*number);
      score.weights.push_back({number->column, slope});
      of_slopes += std::fabs(slope) * std::fmax(std::fabs(number->minimum), std::fabs(number->maximum));
      joint.attributes.emplace_back(-slope, terms);
    } else if (terms.size() == 1 && has_lines({weight, *number}, largest)) {
      score.sums.push_back({weight, *number});
    } else if (weight == 0 && terms.size() == 1) {
      others.push_back(term);  // its own bound is as tight
      continue;
    } else {
      joint.attributes.emplace_back(weight, terms);
    }
    joined.push_back(number->column);
  }
  if (joined.empty()) return std::nullopt;
  joint.functions = FunctionTerms(std::move(others));
  for (int t = 0; t < chain.num_terms; ++t)
    if (!is_joined(chain.terms[t].attribute)) score.weights.push_back(chain.terms[t]);
  const double roundings = 8.0 * (chain.num_terms + static_cast<double>(functions.terms().size())) + 64.0;
  score.error = roundings * 0x1p-53 * (largest + of_slopes) + 0x1p-1000;
  joint.bounds = make_tangent_bounds(score);
  joint.is_tightest = joint.attributes.empty();
  return joint;
}

}  // namespace culmen
