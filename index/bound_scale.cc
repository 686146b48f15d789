#include "index/bound_scale.h"

#include <algorithm>
#include <limits>

namespace culmen {

BoundScale BoundScale::fit(std::span<const double> bounds, double least_base) {
  constexpr double kLargestFloat = std::numeric_limits<float>::max();
  double lowest = HUGE_VAL, top = -HUGE_VAL;
  for (const double bound : bounds) {
    lowest = bound < lowest ? bound : lowest;
    top = bound > top ? bound : top;
  }
  const auto count = [&](auto&& is_counted) {
    int counted = 0;
    for (const double bound : bounds) counted += is_counted(bound) ? 1 : 0;
    return counted;
  };
  const auto highest_up_to = [&](double limit) {
    double highest = -HUGE_VAL;
    for (const double bound : bounds) highest = bound <= limit && bound > highest ? bound : highest;
    return highest;
  };
  const auto scale_up_to = [&](double limit) {
    const double highest = std::max(highest_up_to(limit), least_base);
    const double far = between(lowest, highest, kFarPart);
    const int num_far = count([&](double bound) { return bound < far; });
    return choose(highest, lowest, 2 * num_far > count([&](double bound) { return bound <= limit; }));
  };
  const double finite = top <= kLargestFloat ? top : highest_up_to(kLargestFloat);
  BoundScale chosen;  // stays so if all are infinite
  if (finite > -HUGE_VAL) chosen = scale_up_to(finite);
  const double highest_usual = between(lowest, finite, kUsualPart);
  const double lowest_outlier = between(lowest, finite, kOutlierPart);
  const int num_children = static_cast<int>(bounds.size());
  const int num_outliers = count([&](double bound) { return bound > highest_usual; });
  if (finite > lowest && may_be_outliers(num_outliers, num_children) &&
      num_outliers == count([&](double bound) { return bound >= lowest_outlier; }) &&
      count([&](double bound) { return chosen.is_exact(bound); }) < num_children)
    chosen = scale_up_to(highest_usual);
  if (top > chosen.base) chosen.gap = gap_to(top, chosen.base);
  return chosen;
}

}  // namespace culmen
