// From build options to a partitioner: its kind, its levels, and the sample that its cuts are chosen from.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "culmen/build.h"
#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

struct PartitionPlan {
  Partitioning kind;                   // never automatic
  std::vector<AttributeStats> ranges;  // see usual_ranges
  std::uint32_t num_partitions;        // random only
  std::vector<std::int32_t> splits;    // kd, angle: of each level
  std::uint64_t sample_rows;           // kd, angle
};

// For a snapshot from start_snapshot. Throws InvalidArgument.
PartitionPlan plan_partitions(const Snapshot& snapshot, const TableView& table, const BuildOptions& options);
std::shared_ptr<const Partitioner> make_partitioner(const Snapshot& snapshot, const TableView& table,
                                                    PartitionPlan plan);

}  // namespace culmen
