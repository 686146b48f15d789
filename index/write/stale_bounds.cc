#include "index/write/stale_bounds.h"

#include <algorithm>
#include <cmath>

namespace culmen {
namespace {

// A value is near the end of the leaf's range if it is within this fraction of it.
constexpr double kNearEnd = 0.25;
// A row within this fraction of the range of the leaf's box may have determined the bound.
constexpr double kNearBound = 1.0 / 16;
// A coded bound may exceed the row that determined it by this fraction of itself and so many steps of its code.
constexpr double kCodedPart = 0x1p-12, kCodedSteps = 2;
// A bound is loose if it exceeds all sums of the leaf by this fraction of their range.
constexpr double kLoosePart = 1.0 / 4;

}  // namespace

bool StaleBounds::are_stale(NodeRef node, std::uint32_t child, std::uint32_t slot, std::uint32_t before,
                            std::span<const PageOperation> erased) {
  return visit_value_type(snapshot_, [&]<typename T>(T) {
    for (const PageOperation& operation : erased)
      for (int group = 0; group < snapshot_.layout.num_groups(); ++group)
        for (const Extreme extreme : {Extreme::maximum, Extreme::minimum})
          if (is_loose<T>(farthest_out<T>(group, slot, before, operation.value, extreme), node, child, slot))
            return true;
    return false;
  });
}

// The attributes in which the row is near this end of the leaf's range or beyond it.
template <typename T>
StaleBounds::Subset StaleBounds::farthest_out(int group, std::uint32_t slot, std::uint32_t before,
                                              std::uint32_t row, Extreme extreme) const {
  const BoundLayout::Group& attributes = snapshot_.layout.group(group);
  const T* highest = snapshot_.zone_vector<T>(slot, Extreme::maximum) + attributes.first_attribute;
  const T* lowest = snapshot_.zone_vector<T>(slot, Extreme::minimum) + attributes.first_attribute;
  const auto stride = static_cast<std::size_t>(snapshot_.leaf_rows);
  const auto first = static_cast<std::size_t>(attributes.first_attribute);
  const T* values = snapshot_.leaf_values<T>(before) + first * stride + row;
  Subset subset{group, 0, extreme, 0, 0};
  for (std::size_t i = 0; i < static_cast<std::size_t>(attributes.size); ++i) {
    const double value = values[i * stride], range = static_cast<double>(highest[i]) - lowest[i];
    const double from_end = extreme == Extreme::maximum ? highest[i] - value : value - lowest[i];
    if (from_end > kNearEnd * range) continue;
    subset.mask |= 1u << i;
    subset.sum += snapshot_.units[first + i].to_units(value);
    subset.range += range * snapshot_.units[first + i].inverse;
  }
  return subset;
}

// Compares the leaf's extreme of the subset with the next tighter code. All outliers share one bound, which may be far
// from the erased row's sum; for an outlier the test is also whether the leaf still is one.
template <typename T>
bool StaleBounds::is_loose(const Subset& subset, NodeRef node, std::uint32_t child, std::uint32_t slot) {
  if (subset.mask == 0) return false;
  const BoundRow& bounds =
      node.bounds()[snapshot_.layout.subset_row(subset.group, subset.mask, subset.extreme)];
  const std::uint8_t code = bounds.codes[child];
  if (code == BoundScale::kFarthest) return false;
  // Negates minima, so that larger is always farther out.
  const double sign = subset.extreme == Extreme::maximum ? 1 : -1;
  const bool is_outlier = code == BoundScale::kOutlier;
  const double coded = sign * bounds.bound_of(code);
  const double within = is_outlier ? coded : sign * bounds.bound_of(static_cast<std::uint8_t>(code + 1));
  const double near =
      kNearBound * subset.range + kCodedSteps * (coded - within) + kCodedPart * std::abs(coded);
  if (!is_outlier && coded - sign * subset.sum > near) return false;  // the row did not determine the bound
  const BoundLayout::Group& attributes = snapshot_.layout.group(subset.group);
  const auto stride = static_cast<std::size_t>(snapshot_.leaf_rows);
  const std::span sums = std::span(sums_).first(snapshot_.leaf(slot).num_rows);
  std::ranges::fill(sums, 0.0);
  for (int i = 0; i < attributes.size; ++i) {
    if ((subset.mask >> i & 1) == 0) continue;
    const int attribute = attributes.first_attribute + i;
    const BoundUnit unit = snapshot_.units[static_cast<std::size_t>(attribute)];
    const T* column = snapshot_.leaf_values<T>(slot) + static_cast<std::size_t>(attribute) * stride;
    for (std::size_t r = 0; r < sums.size(); ++r) sums[r] += unit.to_units(static_cast<double>(column[r]));
  }
  const auto [lowest, highest] = std::ranges::minmax(sums);
  const double farthest = sign > 0 ? highest : -lowest;
  if (is_outlier && farthest <= sign * bounds.bound_of(0)) return true;
  return within > farthest + kLoosePart * (highest - lowest);
}

}  // namespace culmen
