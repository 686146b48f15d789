// RowCoordinates: the coordinates by which kd and angle partitions are cut, of a chunk of rows: the sum of the scaled
// attributes, the attributes themselves, and the angles seen from the best corner of the scaled table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "index/partition_level.h"
#include "index/row_chunk.h"

namespace culmen {

class RowCoordinates {
 public:
  // `scaled`: attributes from 0 to 1. lengths: of the rows in a wide table, where they take the place of the sums as a
  // coordinate; else empty. Angles from num_angles on are not computed.
  RowCoordinates(RowChunk scaled, std::vector<double> lengths, std::size_t num_angles);

  const RowChunk& scaled() const { return scaled_; }
  std::span<const double> sums() const { return sums_; }

  // The coordinate of a row is the quotient upper / lower: rows with upper >= cut * lower are beyond the cut.
  struct Quotient {
    double upper, lower;
  };
  // own: the coordinate of the row's part, if the level has kOwnCoordinate.
  Quotient at(std::size_t row, const PartitionLevel& level, Coordinate own) const {
    if (level.coordinate == 0) return {lengths_.empty() ? sums_[row] : lengths_[row], 1.0};
    if (level.coordinate == kOwnCoordinate && own < kFirstAngle) return {scaled_(row, own), 1.0};
    const std::size_t angle = level.coordinate == kOwnCoordinate ? own - kFirstAngle : level.coordinate;
    return {upper_(row, angle), lower_(row, angle)};
  }

  // Replaces each row's part of the level before by its part of this level. `cuts` and `own_coordinates` are those of
  // all levels.
  void refine(const PartitionLevel& level, std::span<const double> cuts,
              std::span<const Coordinate> own_coordinates, std::span<std::uint32_t> partition) const;

 private:
  RowChunk scaled_;
  std::vector<double> sums_;
  std::vector<double> lengths_;
  RowChunk upper_, lower_;  // of angles 1 .. num_angles - 1
};

}  // namespace culmen
