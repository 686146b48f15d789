// Quantiles: values of each attribute at equal steps of its sorted column, fixed when an index is built. RankCurve is the
// function through them by which Scale::rank and the score term `rank` go.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace culmen {

// [num_attributes] with the users' signs, ascending: the one of rank floor(j (n - 1) / m) of n values that are not missing,
// j = 0 .. m = min(kQuantileSteps, n - 1). Empty: there were no values.
using Quantiles = std::vector<std::vector<double>>;

inline constexpr std::size_t kQuantileSteps = 256;

// Whether they are finite, ascending, and no more than there can be.
bool are_quantiles(std::span<const double> values);

// Values that ascend, to be searched without branches.
class AscendingValues {
 public:
  explicit AscendingValues(std::vector<double> values) : size_(values.size()), values_(std::move(values)) {
    while (half_ <= size_) half_ *= 2;
    values_.resize(2 * half_ - 1, std::numeric_limits<double>::infinity());
  }

  std::size_t size() const { return size_; }
  double operator[](std::size_t i) const { return values_[i]; }
  // How many are not above x, a finite number.
  std::size_t num_at_most(double x) const {
    std::size_t count = 0;
    for (std::size_t step = half_; step > 0; step /= 2) count += values_[count + step - 1] <= x ? step : 0;
    return count;
  }

 private:
  std::size_t size_, half_ = 1;
  std::vector<double> values_;  // [2 half_ - 1], infinite after the first size_
};

// Monotone, also in its last bits: docs/contract.md defines it.
class RankCurve {
 public:
  // quantiles: of one attribute.
  explicit RankCurve(std::span<const double> quantiles);

  // The values between which it is linear.
  std::size_t size() const { return values_.size(); }
  double value(std::size_t i) const { return values_[i]; }
  std::size_t num_at_most(double x) const { return values_.num_at_most(x); }
  // The first of them at which it is `rank` or more; the last if there is none.
  double value_at(double rank) const {
    const auto at = std::ranges::lower_bound(steps_, rank * num_steps_);
    return values_[static_cast<std::size_t>(std::min(at, steps_.end() - 1) - steps_.begin())];
  }

  // From 0 to 1.
  double operator()(double x) const {
    const std::size_t count = values_.num_at_most(x);
    if (count == 0) return 0;
    if (count == values_.size()) return steps_[count - 1] / num_steps_;
    const double part = distance(values_[count - 1], x) / distance(values_[count - 1], values_[count]);
    return std::fma(part, steps_[count] - steps_[count - 1], steps_[count - 1]) / num_steps_;
  }

 private:
  static double distance(double from, double to) {
    return std::min(to - from, std::numeric_limits<double>::max());
  }

  AscendingValues values_;     // distinct
  std::vector<double> steps_;  // the number of quantiles below each
  double num_steps_;
};

}  // namespace culmen
