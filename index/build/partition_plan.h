// From build options to a partitioner: its kind, its levels, and the sample that its cuts are chosen from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "culmen/build.h"
#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

struct PartitionPlan {
  Partitioning kind;                       // never automatic
  std::vector<AttributeStats> ranges;      // see usual_ranges
  std::uint32_t num_partitions;            // about; random: exactly
  std::vector<std::int32_t> splits;        // kd, angle: of each level
  std::uint64_t sample_rows;               // kd, angle
  std::optional<std::uint32_t> cluster;    // see Partitioner::cluster. Then `splits` is empty
  RowOrder row_order = RowOrder::largest;  // kd, angle
};

// For a snapshot from start_snapshot. Throws InvalidArgument.
PartitionPlan plan_partitions(const Snapshot& snapshot, const TableView& table, const BuildOptions& options);
// Of a plan without a cluster column (index/build/cluster_cuts.h). memory: of the sample; null for the heap.
std::shared_ptr<const Partitioner> make_partitioner(const Snapshot& snapshot, const TableView& table,
                                                    PartitionPlan plan,
                                                    const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen
