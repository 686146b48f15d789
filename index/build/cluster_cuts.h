// Clustered partitions: cut by the values of one column first, so that a filter on it meets few other rows, then by
// halving as k-d partitions. All cuts are late splits of one partition.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "culmen/table.h"
#include "index/build/load_fields.h"
#include "index/build/partition_plan.h"
#include "index/partitioner.h"
#include "index/snapshot.h"

namespace culmen {

// A column of a table, numbered as in Partitioner::cluster, as partitions are cut by it, in `memory`. `table` is filled.
Array<double> read_cut_values(const Snapshot& snapshot, const TableView& table,
                              std::span<const CodedColumn> coded, std::uint32_t column,
                              const std::shared_ptr<ArrayMemory>& memory);

// values: of plan.cluster, row by row, in the memory that the sample gets.
Partitioner cut_clusters(const Snapshot& snapshot, const TableView& table, const PartitionPlan& plan,
                         const Array<double>& values);

}  // namespace culmen
