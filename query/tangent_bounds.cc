#include "query/tangent_bounds.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace culmen {
namespace {

constexpr int kLast = TangentTerm::kLines - 1;

// At least the score of every row, by the bounds of all.
double bound_of_all(const TangentBound& bound, const Snapshot& snapshot) {
  const NodeRef root = snapshot.node(snapshot.root);
  const std::uint32_t num_children = root.header().num_children;
  const auto add = [&](double sum, const BoundTerms& terms) {
    for (const BoundTerm& term : terms)
      sum += term.coefficient * static_cast<double>(root.bounds()[term.row].farthest_out(num_children));
    return sum;
  };
  double sum = add(bound.plan.base, bound.plan.terms);
  if (bound.plan.capped) sum = std::fmin(sum, add(bound.plan.capped->base, bound.plan.capped->terms));
  for (const TangentTerm& tangent : bound.tangents)
    sum += tangent.highest(tangent.lowest(), tangent.highest());
  return sum;
}

// Whether the flattest line is taken, whatever its slope.
bool is_continuous(const WeightAndFunction& sum) {
  return sum.term.weight > 0 && has_peak(sum.term.function);
}

class Chooser {
 public:
  explicit Chooser(const ScoreToBound& score) : score_(score), weights_(score.weights) {
    for (const WeightAndFunction& sum : score.sums) {
      const Line line = first_line(sum);
      first_.tangents.push_back(line.tangent);
      numbers_.push_back(line.number);
      weights_.push_back({sum.term.column, 0});
    }
    if (weights_.empty()) weights_.push_back({0, 0});
    std::ranges::sort(weights_, {}, &Term::attribute);
    set_plan(first_);
  }

  std::vector<TangentBound> bounds() {
    if (score_.snapshot.height == 0) return {first_};
    for (std::size_t i = 0; i < numbers_.size(); ++i) {
      const TermFunction function = score_.sums[i].term.function;
      if (numbers_[i]) improve(i);
      if (is_decay(function)) choose_side_of_peak(i);
    }
    std::vector<TangentBound> bounds = {first_};
    constexpr std::size_t kWithSides = (kMostTangentBounds - 1) / 2;  // each takes time at each node
    for (std::size_t i = 0; i < std::min(numbers_.size(), kWithSides); ++i) add_sides(i, bounds);
    return bounds;
  }

 private:
  struct Line {
    TangentTerm tangent;
    std::optional<int> number;  // without: it is between two numbers, and no other is tried
  };

  std::optional<TangentTerm> line_of(std::size_t i, int number) const {
    return TangentTerm::make(score_.sums[i], number, score_.largest);
  }

  // The line that leaves the attribute the smallest weight: none, if the sum is highest within the range. With a negative
  // weight the sum is highest at an end, and the line is one of the middle.
  Line first_line(const WeightAndFunction& sum) const {
    constexpr int kMiddle = 5;
    if (is_continuous(sum)) return {*TangentTerm::flattest(sum, score_.largest), std::nullopt};
    if (sum.term.weight < 0)
      if (const std::optional<TangentTerm> line = TangentTerm::make(sum, kMiddle, score_.largest))
        return {*line, kMiddle};
    std::optional<Line> flattest;
    for (int number = 0; number <= kLast; ++number)
      if (const std::optional<TangentTerm> line = TangentTerm::make(sum, number, score_.largest);
          line && (!flattest || std::fabs(line->slope()) < std::fabs(flattest->tangent.slope())))
        flattest = {*line, number};
    return *flattest;
  }

  void set_plan(TangentBound& bound) {
    double error = score_.error;
    for (const TangentTerm& tangent : bound.tangents) {
      std::ranges::find(weights_, tangent.attribute(), &Term::attribute)->weight = tangent.slope();
      error += 0x1p-46 * tangent.size();
    }
    const ScoreChain chain = {weights_.data(), static_cast<int>(weights_.size()), score_.offset};
    bound.plan = make_bound_plan(chain, score_.where, score_.snapshot, score_.stats);
    bound.plan.base += error;
    if (bound.plan.capped) bound.plan.capped->base += error;
  }

  TangentBound with(std::size_t i, const TangentTerm& tangent) {
    TangentBound bound{{}, first_.tangents};
    bound.tangents[i] = tangent;
    set_plan(bound);
    return bound;
  }

  // Takes the next line as long as that lowers the bound of all rows: with smooth functions, the tangent around the values
  // that the best rows have.
  void improve(std::size_t i) {
    double least = bound_of_all(first_, score_.snapshot);
    const int start = *numbers_[i];
    for (const int step : {-1, 1}) {
      for (int number = start + step; number >= 0 && number <= kLast; number += step) {
        const std::optional<TangentTerm> line = line_of(i, number);
        if (!line) break;
        TangentBound next = with(i, *line);
        const double bound = bound_of_all(next, score_.snapshot);
        if (!(bound < least)) break;
        least = bound;
        first_ = std::move(next);
        numbers_[i] = number;
      }
      if (*numbers_[i] != start) return;
    }
  }

  // The sum is highest around the peak or, if the peak is low beside the weight, at an end of the range, where the best rows
  // have the more of the weight.
  void choose_side_of_peak(std::size_t i) {
    const std::optional<TangentTerm> level = TangentTerm::level(score_.sums[i], score_.largest);
    if (!level) return;
    TangentBound next = with(i, *level);
    if (bound_of_all(next, score_.snapshot) < bound_of_all(first_, score_.snapshot)) first_ = std::move(next);
  }

  // A kink is between two slopes, which are those of all rows on one side of it. Around a round peak of the sum tangents on
  // both sides are tight.
  void add_sides(std::size_t i, std::vector<TangentBound>& bounds) {
    const WeightAndFunction& sum = score_.sums[i];
    if (is_decay(sum.term.function)) return;
    int before = 0, after = kLast;
    if (!has_peak(sum.term.function)) {
      if (sum.term.weight < 0) return;
      before = *numbers_[i] - 1;
      after = *numbers_[i] + 1;
      const auto slope = [&](int number) {
        const std::optional<TangentTerm> line = line_of(i, std::clamp(number, 0, kLast));
        return line ? line->slope() : 0;
      };
      if (slope(before) * slope(after) >= 0) return;
    }
    for (const int number : {before, after})
      if (const std::optional<TangentTerm> line = line_of(i, std::clamp(number, 0, kLast)))
        bounds.push_back(with(i, *line));
  }

  const ScoreToBound& score_;
  std::vector<Term> weights_;  // and those of lines, by attribute
  TangentBound first_;
  std::vector<std::optional<int>> numbers_;  // of the lines of first_
};

}  // namespace

bool has_lines(const WeightAndFunction& sum, double largest) {
  if (is_continuous(sum)) return TangentTerm::flattest(sum, largest).has_value();
  for (int number = kLast; number >= 0; --number)
    if (TangentTerm::make(sum, number, largest)) return true;
  return false;
}

std::vector<TangentBound> make_tangent_bounds(const ScoreToBound& score) {
  return Chooser(score).bounds();
}

}  // namespace culmen
