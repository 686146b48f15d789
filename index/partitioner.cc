#include "index/partitioner.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "index/row_coordinates.h"

namespace culmen {

std::vector<PartitionLevel> partition_levels(Partitioning kind, std::span<const std::int32_t> splits,
                                             std::size_t num_attributes) {
  const auto coordinate_of = [&](std::size_t level) {
    return level > 0 && kind == Partitioning::kd ? kOwnCoordinate
                                                 : coordinate_of_level(level, num_attributes);
  };
  std::vector<PartitionLevel> levels;
  std::uint64_t num_parts = 1, first_cut = 0;
  for (std::size_t level = 0; level < splits.size(); ++level) {
    const auto parts = static_cast<std::uint32_t>(splits[level]);
    levels.push_back({parts, std::bit_floor(parts - 1), coordinate_of(level), first_cut});
    first_cut += num_parts * (parts - 1);
    num_parts *= parts;
  }
  return levels;
}

void Partitioner::set_inverse() {
  for (std::size_t i = 0; i < minimum_.size(); ++i) {
    const double half_range = maximum_[i] * 0.5 - minimum_[i] * 0.5;  // the range itself may overflow
    const double inverse = half_range > 0 ? 1.0 / half_range : 0.0;
    inverse_.push_back(std::min(inverse, std::numeric_limits<double>::max()));
  }
  for (const double inverse : inverse_)
    if (inverse > 0 && (length_inverse_ == 0 || inverse < length_inverse_)) length_inverse_ = inverse;
}

Partitioner Partitioner::random(std::span<const AttributeStats> ranges, std::uint32_t num_partitions) {
  Partitioner result;
  for (const AttributeStats& range : ranges) {
    result.minimum_.push_back(range.minimum);
    result.maximum_.push_back(range.maximum);
  }
  result.set_inverse();
  result.late_splits_ = LateSplits(num_partitions);
  return result;
}

Partitioner Partitioner::restore(Partitioning kind, std::vector<double> minimum, std::vector<double> maximum,
                                 std::vector<std::int32_t> splits, std::vector<double> cuts,
                                 std::vector<Coordinate> own_coordinates, std::uint32_t num_partitions) {
  std::uint64_t product = 1;
  std::size_t num_cuts = 0;
  bool good = minimum.size() == maximum.size() && num_partitions >= 1 && num_partitions <= kMaxPartitions &&
              (splits.size() < 2 || minimum.size() > 1 || kind != Partitioning::angle);
  for (std::size_t level = 0; level < splits.size(); ++level) {
    good = good && splits[level] >= (level == 0 ? 1 : 2) && product <= kMaxPartitions;
    if (!good) break;
    const auto parts = static_cast<std::uint64_t>(splits[level]);
    num_cuts += product * (parts - 1);
    product *= parts;
  }
  if (kind == Partitioning::random) good = good && splits.empty() && cuts.empty();
  if (kind != Partitioning::random) good = good && product == num_partitions && num_cuts == cuts.size();
  good = good && own_coordinates.size() == (kind == Partitioning::kd ? cuts.size() : 0) &&
         std::ranges::all_of(own_coordinates, [d = minimum.size()](Coordinate own) {
           return own < d || (own > kFirstAngle && own - kFirstAngle < static_cast<int>(d));
         });
  if (!good) throw InvalidArgument("the parts of the partitioner do not fit together");
  Partitioner result;
  result.kind_ = kind;
  result.minimum_ = std::move(minimum);
  result.maximum_ = std::move(maximum);
  result.splits_ = std::move(splits);
  result.cuts_ = std::move(cuts);
  result.own_coordinates_ = std::move(own_coordinates);
  result.set_inverse();
  result.num_angles_ = result.count_angles();
  result.late_splits_ = LateSplits(num_partitions);
  return result;
}

// 0, or the number after that of the last angle by which a level or a part is cut.
std::size_t Partitioner::count_angles() const {
  std::size_t count = 0;
  for (const PartitionLevel& level : levels())
    if (level.coordinate != kOwnCoordinate && level.coordinate > 0)
      count = std::max<std::size_t>(count, level.coordinate + 1);
  for (const Coordinate own : own_coordinates_)
    if (own >= kFirstAngle) count = std::max<std::size_t>(count, own - kFirstAngle + 1);
  return count;
}

Partitioner Partitioner::clustered_by(std::uint32_t column) && {
  if (kind_ == Partitioning::random)
    throw InvalidArgument("random partitions cannot be clustered by a column");
  cluster_ = column;
  return std::move(*this);
}

Partitioner Partitioner::with_order(RowOrder order) && {
  if (!is_wide()) row_order_ = order;
  return std::move(*this);
}

Partitioner Partitioner::with(std::span<const LateSplit> splits) && {
  for (const LateSplit& split : splits)
    if (kind_ == Partitioning::random || (split.column >= minimum_.size() && split.column != cluster_) ||
        !late_splits_.add(split))
      throw InvalidArgument("a late split of the partitioner does not fit");
  return std::move(*this);
}

RowChunk Partitioner::scaled(const RowChunk& chunk) const {
  RowChunk result(chunk.num_rows(), chunk.num_attributes(), chunk.memory());
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i)
    std::ranges::transform(chunk.attribute(i), result.attribute(i).begin(),
                           [&](double value) { return scaled_to_one(value, minimum_[i], inverse_[i]); });
  return result;
}

std::vector<double> Partitioner::lengths(const RowChunk& chunk) const {
  std::vector<double> result(is_wide() ? chunk.num_rows() : 0);
  if (result.empty()) return result;
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i) {
    const std::span<const double> values = chunk.attribute(i);
    for (std::size_t r = 0; r < result.size(); ++r) result[r] += square_in_length(values[r], i);
  }
  for (double& length : result) length = length_of(length);
  return result;
}

void Partitioner::keys(const RowChunk& chunk, std::uint64_t first_row, std::uint64_t num_rows,
                       std::span<OrderKey> out, std::span<const double> cluster_values) const {
  const RowCoordinates coordinates(scaled(chunk), lengths(chunk), num_angles_);
  const std::size_t rows = chunk.num_rows();
  std::vector<std::uint32_t> partition(rows, 0);
  if (kind_ == Partitioning::random) {
    for (std::size_t r = 0; r < rows; ++r)
      partition[r] = static_cast<std::uint32_t>(static_cast<unsigned __int128>(first_row + r) *
                                                num_partitions() / num_rows);
  }
  for (const PartitionLevel& level : levels()) coordinates.refine(level, cuts_, own_coordinates_, partition);
  if (!late_splits_.empty())
    for (std::size_t r = 0; r < rows; ++r)
      partition[r] = late_splits_.partition_of(partition[r], [&](std::size_t column) {
        return column < chunk.num_attributes() ? chunk(r, column) : cluster_values[r];
      });
  const std::vector<double> first = is_wide() ? lengths(chunk) : largest_or_mean(chunk);
  const auto num_attributes = static_cast<double>(chunk.num_attributes());
  for (std::size_t r = 0; r < rows; ++r)
    out[r] = key_in(partition[r], pack_order(first[r], coordinates.sums()[r] / num_attributes));
}

// As order_of() has them.
std::vector<double> Partitioner::largest_or_mean(const RowChunk& chunk) const {
  const bool is_by_sum = row_order_ == RowOrder::sum;
  std::vector<double> result(chunk.num_rows(), 0.0);
  for (std::size_t i = 0; i < chunk.num_attributes(); ++i) {
    const std::span<const double> values = chunk.attribute(i);
    for (std::size_t r = 0; r < result.size(); ++r) {
      const double x = scaled_value(values[r], minimum_[i], inverse_[i]);
      result[r] = is_by_sum ? result[r] + x : std::max(result[r], x);
    }
  }
  if (is_by_sum)
    for (double& sum : result) sum = mean_in_order(sum, static_cast<double>(chunk.num_attributes()));
  return result;
}

}  // namespace culmen
