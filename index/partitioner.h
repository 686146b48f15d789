// Partitioner: which partition a row belongs to, and its order key.
//
// kd and angle: level by level. Level 0 cuts the table into shells by the sum of the scaled attributes, each half as
// large as the one below it: the best rows of most queries have a high sum, so leaves there should be the most compact.
// Each further level cuts every part at quantiles of the part's own rows in a sample (index/build/partition_cuts.h).
//
// Shells may be left out, and rows of a partition may be ordered by their sums (index/order_key.h): the build compares
// (index/build/partition_choice.h).
//
// kd halves each part by its own widest attribute (Bentley's k-d tree, CACM 1975; the widest: Friedman, Bentley and
// Finkel, TOMS 1977), or by an angle if no attribute spreads.
// angle (GTA, section 3.3) cuts by one angle after another. Seen from the best corner of the scaled table,
// y_i = 1 - x_i, the angles are
//   tan^2(phi_i) = (y_(i+1)^2 + ... + y_d^2) / y_i^2.
// The test is y_(i+1)^2 + ... >= cut * y_i^2: only operations that IEEE 754 rounds exactly, so every machine puts a row
// into the same partition.
// random cuts by position in the table.
//
// In wide tables (index/bound_layout.h) shells are cut by length, a row's distance from the middle of all ranges, and the
// default has no angles: rows of like length are neighbours.
//
// Partitions that have grown since the build are split further (index/late_splits.h). A clustered build begins with one
// partition, and splits it first by the cluster column.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "culmen/schema.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/late_splits.h"
#include "index/order_key.h"
#include "index/partition_level.h"
#include "index/row_chunk.h"

namespace culmen {

// Level i cuts each part into splits[i].
std::vector<PartitionLevel> partition_levels(Partitioning kind, std::span<const std::int32_t> splits,
                                             std::size_t num_attributes);

class Partitioner {
 public:
  Partitioner() = default;

  static Partitioner random(std::span<const AttributeStats> ranges, std::uint32_t num_partitions);
  // A partitioner from its parts (see the accessors below). Throws InvalidArgument if they do not fit together.
  static Partitioner restore(Partitioning kind, std::vector<double> minimum, std::vector<double> maximum,
                             std::vector<std::int32_t> splits, std::vector<double> cuts,
                             std::vector<Coordinate> own_coordinates, std::uint32_t num_partitions);
  // One whose late splits may cut by `column` as well. Throws InvalidArgument if it is random.
  Partitioner clustered_by(std::uint32_t column) const& { return Partitioner(*this).clustered_by(column); }
  Partitioner clustered_by(std::uint32_t column) &&;
  // One that orders the rows of a partition so; wide tables keep their order. Not automatic.
  Partitioner with_order(RowOrder order) const& { return Partitioner(*this).with_order(order); }
  Partitioner with_order(RowOrder order) &&;
  // One with more late splits, in this order. Throws InvalidArgument if one of them does not fit.
  Partitioner with(std::span<const LateSplit> splits) const& { return Partitioner(*this).with(splits); }
  Partitioner with(std::span<const LateSplit> splits) &&;

  // The keys of the chunk's rows. Only `random` uses first_row, the chunk's position in the table, and num_rows, the
  // table's. cluster_values: [rows of the chunk], if has_cluster_field(), as cut_value gives them (index/field_key.h).
  void keys(const RowChunk& chunk, std::uint64_t first_row, std::uint64_t num_rows, std::span<OrderKey> out,
            std::span<const double> cluster_values = {}) const;

  // The bits of a row's key below the partition. value(i) is attribute i.
  template <typename Value>
  OrderKey order_of(const Value& value) const;

  // Attributes scaled to 0..1 and clamped.
  RowChunk scaled(const RowChunk& chunk) const;
  // Of rows in a wide table: their distances from the middle of all ranges, in a common unit in which few are above 1.
  // Else empty.
  std::vector<double> lengths(const RowChunk& chunk) const;
  bool is_wide() const { return minimum_.size() > static_cast<std::size_t>(kMaxGroupedAttributes); }
  // What attribute i adds to the square of a row's length, and the length of all squares.
  double square_in_length(double value, std::size_t i) const {
    // Halves, because the difference could overflow.
    const double x = (value * 0.5 - (minimum_[i] * 0.25 + maximum_[i] * 0.25)) * length_inverse_ * 2;
    return x * x;
  }
  double length_of(double squares) const { return std::sqrt(squares / static_cast<double>(minimum_.size())); }

  Partitioning kind() const { return kind_; }
  bool has_shells() const { return !splits_.empty() && splits_.front() > 1; }
  RowOrder row_order() const { return row_order_; }
  std::uint32_t num_partitions() const { return late_splits_.num_partitions(); }
  // All partitions in the tree's order.
  std::vector<std::uint32_t> order() const { return late_splits_.order(); }
  const LateSplits& late_splits() const { return late_splits_; }
  bool can_be_split(std::uint32_t partition) const {
    return kind_ != Partitioning::random && late_splits_.can_be_split(partition);
  }

  // The column that partitions are cut by first: attribute i, or field i - num_attributes. None unless the build is
  // clustered.
  std::optional<std::uint32_t> cluster() const { return cluster_; }
  bool has_cluster_field() const { return cluster_ && *cluster_ >= minimum_.size(); }

  const std::vector<double>& minimum() const { return minimum_; }
  const std::vector<double>& maximum() const { return maximum_; }
  const std::vector<double>& inverse() const { return inverse_; }
  const std::vector<std::int32_t>& splits() const { return splits_; }
  const std::vector<double>& cuts() const { return cuts_; }
  const std::vector<Coordinate>& own_coordinates() const { return own_coordinates_; }
  std::vector<PartitionLevel> levels() const { return partition_levels(kind_, splits_, minimum_.size()); }

 private:
  void set_inverse();
  std::vector<double> largest_or_mean(const RowChunk& chunk) const;
  std::size_t count_angles() const;

  Partitioning kind_ = Partitioning::random;
  RowOrder row_order_ = RowOrder::largest;
  std::vector<double> minimum_, maximum_;  // [num_attributes] oriented; the range that is scaled to 0..1
  std::vector<double> inverse_;            // 1 / (half the range)
  std::vector<std::int32_t> splits_;  // [num levels] parts per part; at least 2, but 1 at level 0: no shells
  std::vector<double> cuts_;          // level by level, part by part: splits[level] - 1 ascending cuts
  std::vector<Coordinate> own_coordinates_;  // kd: of each cut, see kOwnCoordinate; 0 for shells
  double length_inverse_ = 0;                // 1 / (half the widest range)
  std::size_t num_angles_ = 0;               // cuts are by lower angles only
  LateSplits late_splits_;
  std::optional<std::uint32_t> cluster_;
};

template <typename Value>
OrderKey Partitioner::order_of(const Value& value) const {
  const auto width = static_cast<double>(minimum_.size());
  double largest = 0, whole = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < minimum_.size(); ++i) {
    const double x = scaled_value(value(i), minimum_[i], inverse_[i]);
    largest = std::max(largest, x);
    whole += x;
    sum += cut_off_at_one(x);
    if (is_wide()) squares += square_in_length(value(i), i);
  }
  if (row_order_ == RowOrder::sum) largest = mean_in_order(whole, width);
  if (is_wide()) largest = length_of(squares);
  return pack_order(largest, sum / width);
}

}  // namespace culmen
