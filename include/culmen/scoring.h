// Monotone scoring functions other than the weighted sum, for Index::search_monotone.
//
// A function F scores a row from its attributes. In each attribute it must be non-decreasing (Direction::rising),
// non-increasing (falling), or constant because it does not read it (unused). This holds for the computed values: if
// rounding can break monotonicity (as std::pow's does), relative_error() is an upper bound on that error, at least 0
// and below 1, and bounds are widened by it. If a search reads a row that shows the function not to be monotone, it
// throws InvalidArgument with the row's id. Unused attributes are passed as 0 or any other number. Engine::scan calls
// the function from several threads at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace culmen {

enum class Direction : std::uint8_t { unused, rising, falling };

template <typename F>
concept MonotoneFunction = requires(const F& f, std::span<const double> attributes, int attribute) {
  { f(attributes) } -> std::convertible_to<double>;       // finite for every row of the index
  { f.direction(attribute) } -> std::same_as<Direction>;  // attribute: its position in the index
  { f.relative_error() } -> std::convertible_to<double>;  // 0 when f is monotone as computed
};

// min(weight * attribute) over the attributes with a positive weight: the weakest attribute decides.
class WeightedMinimum {
 public:
  explicit WeightedMinimum(std::vector<double> weights) : weights_(std::move(weights)) {}

  double operator()(std::span<const double> attributes) const {
    double lowest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (weights_[i] > 0) lowest = std::min(lowest, weights_[i] * attributes[i]);
    return lowest;
  }
  Direction direction(int attribute) const {
    return weights_[static_cast<std::size_t>(attribute)] > 0 ? Direction::rising : Direction::unused;
  }
  double relative_error() const { return 0; }

 private:
  std::vector<double> weights_;  // [num_attributes] >= 0, at least one above 0
};

// (sum w_i * a_i^p / sum w_i)^(1/p) for p > 0 over attributes >= 0 (negative ones count as 0).
class WeightedPowerMean {
 public:
  WeightedPowerMean(std::vector<double> weights, double exponent)
      : weights_(std::move(weights)), exponent_(exponent) {
    for (double weight : weights_) total_ += weight;
  }

  double operator()(std::span<const double> attributes) const {
    double sum = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i)
      if (weights_[i] > 0) sum += weights_[i] * std::pow(std::max(attributes[i], 0.0), exponent_);
    return std::pow(sum / total_, 1 / exponent_);
  }
  Direction direction(int attribute) const {
    return weights_[static_cast<std::size_t>(attribute)] > 0 ? Direction::rising : Direction::unused;
  }
  // Generous: a few units in the last place per pow, magnified by the outer root.
  double relative_error() const { return 1e-13 * std::max(1.0, 1 / exponent_); }

 private:
  std::vector<double> weights_;  // [num_attributes] >= 0, at least one above 0
  double exponent_;
  double total_ = 0;
};

// A type-erased MonotoneFunction, so that the engine is compiled once. Does not own the function.
class MonotoneFunctionRef {
 public:
  template <MonotoneFunction F>
  MonotoneFunctionRef(const F& f)
      : object_(&f),
        score_([](const void* object, std::span<const double> attributes) {
          return static_cast<double>((*static_cast<const F*>(object))(attributes));
        }),
        direction_([](const void* object, int attribute) {
          return static_cast<const F*>(object)->direction(attribute);
        }),
        relative_error_(static_cast<double>(f.relative_error())) {}

  double score(std::span<const double> attributes) const { return score_(object_, attributes); }
  Direction direction(int attribute) const { return direction_(object_, attribute); }
  double relative_error() const { return relative_error_; }

 private:
  const void* object_;
  double (*score_)(const void*, std::span<const double>);
  Direction (*direction_)(const void*, int);
  double relative_error_;
};

}  // namespace culmen
