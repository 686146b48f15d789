#include "index/row_coordinates.h"

#include <algorithm>
#include <utility>

namespace culmen {

// Sums are added attribute by attribute, so that their order does not depend on the vector width.
RowCoordinates::RowCoordinates(RowChunk scaled, std::vector<double> lengths, std::size_t num_angles)
    : scaled_(std::move(scaled)),
      sums_(scaled_.attribute(0).begin(), scaled_.attribute(0).end()),
      lengths_(std::move(lengths)),
      upper_(scaled_.num_rows(), std::min(num_angles, scaled_.num_attributes()), scaled_.memory()),
      lower_(upper_) {
  const std::size_t n = scaled_.num_rows(), d = scaled_.num_attributes();
  for (std::size_t i = 1; i < d; ++i) {
    const std::span<const double> values = std::as_const(scaled_).attribute(i);
    for (std::size_t r = 0; r < n; ++r) sums_[r] += values[r];
  }
  if (upper_.num_attributes() < 2) return;
  const auto squared_distance = [](double x) { return (1.0 - x) * (1.0 - x); };  // from the best value
  std::vector<double> tail(n, 0.0);
  for (std::size_t i = d - 1; i > 0; --i) {
    const std::span<const double> values = std::as_const(scaled_).attribute(i);
    for (std::size_t r = 0; r < n; ++r) tail[r] += squared_distance(values[r]);
    if (i >= upper_.num_attributes()) continue;
    std::ranges::copy(tail, upper_.attribute(i).begin());
    std::ranges::transform(scaled_.attribute(i - 1), lower_.attribute(i).begin(), squared_distance);
  }
}

void RowCoordinates::refine(const PartitionLevel& level, std::span<const double> cuts,
                            std::span<const Coordinate> own_coordinates,
                            std::span<std::uint32_t> partition) const {
  const double* const of_level = cuts.data() + level.first_cut;
  const bool has_own = level.coordinate == kOwnCoordinate;
  const Coordinate* const own_of_level = has_own ? own_coordinates.data() + level.first_cut : nullptr;
  for (std::size_t r = 0; r < partition.size(); ++r) {
    const Coordinate own = has_own ? own_of_level[level.cuts_of(partition[r])] : Coordinate{};
    const Quotient coordinate = at(r, level, own);
    partition[r] = refined(partition[r], level, of_level, coordinate.upper, coordinate.lower);
  }
}

}  // namespace culmen
