// PartitionLevel: one level of a kd or angle partitioner, and the arithmetic by which it refines partitions. Host and
// device share the arithmetic, so they put each row into the same partition. index/partitioner.h explains the levels.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/host_device.h"
#include "culmen/schema.h"

namespace culmen {

// As PartitionLevel::coordinate: each part has a coordinate of its own. That is attribute i, or, from kFirstAngle on,
// angle i - kFirstAngle.
inline constexpr std::uint32_t kOwnCoordinate = ~0u;
using Coordinate = std::uint16_t;
inline constexpr Coordinate kFirstAngle = kMaxAttributes;

// Each part of the level before is cut into `parts` by `coordinate`: 0 is the sum of the scaled attributes, i > 0 is
// angle i.
struct PartitionLevel {
  std::uint32_t parts;
  std::uint32_t first_step;  // of the bisection: the largest power of two that is at most parts - 1
  std::uint32_t coordinate;
  std::uint64_t first_cut;  // in the array of all levels' cuts

  // Where, among the cuts of this level, those of part `partition` of the level before begin.
  CULMEN_HOST_DEVICE std::size_t cuts_of(std::uint32_t partition) const {
    return static_cast<std::size_t>(partition) * (parts - 1);
  }
};

// The sum at level 0, then the angles 1 to num_attributes - 1 in turn.
CULMEN_HOST_DEVICE inline std::uint32_t coordinate_of_level(std::size_t level, std::size_t num_attributes) {
  return level == 0 ? 0 : static_cast<std::uint32_t>(1 + (level - 1) % (num_attributes - 1));
}

// The rank, among sorted rows, of the first row of part `part` of `parts`. Each shell takes half of what those below it
// left: most answers come from the highest sums, so the parts there are the smallest.
CULMEN_HOST_DEVICE inline std::uint64_t rank_of_cut(std::size_t level, std::uint64_t part,
                                                    std::uint64_t parts, std::uint64_t num_rows) {
  return level == 0 ? num_rows - (num_rows >> part) : part * num_rows / parts;
}

// A coordinate as a quotient, to sort by; infinity if both are 0.
CULMEN_HOST_DEVICE inline double cut_ratio(double upper, double lower) {
  const double ratio = upper / lower;
  return ratio >= 0 ? ratio : HUGE_VAL;
}

// The part, at this level, of a row that is in `partition` at the level before. Its coordinate is upper / lower.
// cuts: of this level; those of part p begin at cuts[p * (parts - 1)] and ascend.
CULMEN_HOST_DEVICE inline std::uint32_t refined(std::uint32_t partition, const PartitionLevel& level,
                                                const double* cuts, double upper, double lower) {
  const std::uint32_t num_cuts = level.parts - 1;
  const double* first = cuts + level.cuts_of(partition);
  // Branch-free bisection: the branches would be unpredictable.
  std::uint32_t part = 0;
  for (std::uint32_t step = level.first_step; step > 0; step /= 2)
    if (part + step <= num_cuts) part = upper >= first[part + step - 1] * lower ? part + step : part;
  // Parts of odd partitions are numbered backwards, so that neighbouring numbers are neighbours in the table.
  return partition * level.parts + (partition % 2 == 0 ? part : num_cuts - part);
}

}  // namespace culmen
