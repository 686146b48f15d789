// Chooses the cuts of kd and angle partitions from a sample of the table. On a device, gpu/build/cut_search.h chooses
// the same cuts for angles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "index/partitioner.h"

namespace culmen {

// Splits for about `num_partitions` partitions, and never more: shells, unless there are too few partitions for them or
// they are not wanted, then halves.
std::vector<std::int32_t> choose_splits(Partitioning kind, int num_attributes, std::uint32_t num_partitions,
                                        bool wants_shells = true);
// Whether shells were left out where they are usual: a few partitions have none.
bool lacks_shells(const Partitioner& partitioner);
// The paper's grid: so many parts an angle, and no shells.
bool is_grid(const Partitioner& partitioner);

// Kind kd or angle. Level i cuts each part into splits[i], at quantiles of the part's rows in the sample; 1 at level 0:
// no shells. No level: one partition. `ranges` are scaled to 0..1.
Partitioner cut_partitions(Partitioning kind, std::span<const AttributeStats> ranges,
                           std::vector<std::int32_t> splits, const RowChunk& sample);

}  // namespace culmen
