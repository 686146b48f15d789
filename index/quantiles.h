// Quantiles: values of each attribute at equal steps of its sorted column, fixed when an index is built. RankCurve is the
// function through them by which Scale::rank and the score term `rank` go.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/host_device.h"

namespace culmen {

// [num_attributes] with the users' signs, ascending: the one of rank floor(j (n - 1) / m) of n values that are not missing,
// j = 0 .. m = min(kQuantileSteps, n - 1). Empty: there were no values.
using Quantiles = std::vector<std::vector<double>>;

inline constexpr std::size_t kQuantileSteps = 256;

// Whether they are finite, ascending, and no more than there can be.
bool are_quantiles(std::span<const double> values);

// The numbers that a RankCurve goes by, for host and device. Monotone, also in its last bits: docs/contract.md defines it.
struct RankSteps {
  const double* values;  // [num_values()], `size` that ascend, then infinity: searched without branches
  const double* steps;   // [size], the number of quantiles below each
  std::uint32_t size, half;
  double num_steps;

  std::size_t num_values() const { return 2 * std::size_t{half} - 1; }
  // How many values are not above x, a finite number.
  CULMEN_HOST_DEVICE std::uint32_t num_at_most(double x) const {
    std::uint32_t count = 0;
    for (std::uint32_t step = half; step > 0; step /= 2) count += values[count + step - 1] <= x ? step : 0;
    return count;
  }

  // From 0 to 1.
  CULMEN_HOST_DEVICE double operator()(double x) const {
    const std::uint32_t count = num_at_most(x);
    if (count == 0) return 0;
    if (count == size) return steps[count - 1] / num_steps;
    const double part = distance(values[count - 1], x) / distance(values[count - 1], values[count]);
    return std::fma(part, steps[count] - steps[count - 1], steps[count - 1]) / num_steps;
  }

 private:
  CULMEN_HOST_DEVICE static double distance(double from, double to) {
    constexpr double kMost = 0x1.fffffffffffffp1023;  // the largest finite number
    return kMost < to - from ? kMost : to - from;
  }
};

// RankSteps and their memory.
class RankCurve {
 public:
  // quantiles: of one attribute.
  explicit RankCurve(std::span<const double> quantiles);

  // As long as the curve lives.
  RankSteps numbers() const {
    return {values_.data(), steps_.data(), static_cast<std::uint32_t>(steps_.size()), half_, num_steps_};
  }
  // The values between which it is linear.
  std::size_t size() const { return steps_.size(); }
  double value(std::size_t i) const { return values_[i]; }
  std::size_t num_at_most(double x) const { return numbers().num_at_most(x); }
  // The first of them at which it is `rank` or more; the last if there is none.
  double value_at(double rank) const {
    const auto at = std::ranges::lower_bound(steps_, rank * num_steps_);
    return values_[static_cast<std::size_t>(std::min(at, steps_.end() - 1) - steps_.begin())];
  }

  double operator()(double x) const { return numbers()(x); }

 private:
  std::vector<double> values_, steps_;  // as in RankSteps
  std::uint32_t half_ = 1;
  double num_steps_;
};

}  // namespace culmen
