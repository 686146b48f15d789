#include "index/quantiles.h"

#include <limits>

namespace culmen {
namespace {

std::vector<double> distinct(std::span<const double> ascending) {
  std::vector<double> values(ascending.begin(), ascending.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

}  // namespace

bool are_quantiles(std::span<const double> values) {
  const bool all_finite =
      std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
  return values.size() <= kQuantileSteps + 1 && all_finite && std::is_sorted(values.begin(), values.end());
}

RankCurve::RankCurve(std::span<const double> quantiles)
    : values_(distinct(quantiles)), num_steps_(std::max(1.0, static_cast<double>(quantiles.size()) - 1)) {
  for (const double value : values_) {
    const auto first = std::lower_bound(quantiles.begin(), quantiles.end(), value);
    steps_.push_back(static_cast<double>(first - quantiles.begin()));
  }
  while (half_ <= steps_.size()) half_ *= 2;
  values_.resize(2 * std::size_t{half_} - 1, std::numeric_limits<double>::infinity());
}

}  // namespace culmen
