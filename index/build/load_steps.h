// The steps of a bulk load that are small beside the table, as every loader takes them: on the CPU
// (index/build/bulk_load.h) and on a GPU (gpu/build/).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "culmen/build.h"
#include "index/columns.h"
#include "index/snapshot.h"

namespace culmen {

// What is asked for, or the default. Throws InvalidArgument.
int checked_leaf_rows(int wanted);

// All of a snapshot but the partitioner and the tree.
std::shared_ptr<Snapshot> start_snapshot(const TableView& table, const BuildOptions& options,
                                         TableStats stats, std::int64_t next_id);

// The range of each attribute in which it is measured, by bound units and partitions: all of it, but for outliers and
// numbers that stand for none, such as -999999. What lies beyond is as right as the rest.
std::vector<AttributeStats> usual_ranges(const Snapshot& snapshot, const TableView& table);

// Which partitioner there is to be.
struct PartitionPlan {
  Partitioning kind;
  std::vector<AttributeStats> ranges;  // usual_ranges
  std::uint32_t num_partitions;        // random
  std::vector<std::int32_t> splits;    // kd, angle: of each level
  std::uint64_t sample_rows;           // kd, angle: that the cuts are chosen from
};

// For what start_snapshot has left. Throws InvalidArgument.
PartitionPlan plan_partitions(const Snapshot& snapshot, const TableView& table, const BuildOptions& options);
std::shared_ptr<const Partitioner> make_partitioner(const Snapshot& snapshot, const TableView& table,
                                                    PartitionPlan plan);

// The values of some rows as they are stored, oriented and rounded to the snapshot's type.
RowChunk read_rows(const Snapshot& snapshot, const TableView& table, std::span<const std::uint64_t> rows);

// first_rows: [num_partitions + 1] where each partition begins among all rows in key order.
std::vector<PartitionRange> cut_partitions(std::span<const std::uint64_t> first_rows, int leaf_rows);

// Memory for the tree above `num_leaves` leaves, all zero; if the snapshot has some of it, for the rest.
// Level-1 nodes come first, the root is the last.
void allocate_tree(Snapshot& snapshot, std::size_t num_leaves);

// Writes all levels above the first.
void stack_levels(Snapshot& snapshot);

}  // namespace culmen
