// The short steps of a bulk load, which the loaders on the CPU (index/build/bulk_load.h) and on a GPU (gpu/build/)
// share.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "culmen/build.h"
#include "culmen/table.h"
#include "index/build/filled_table.h"
#include "index/snapshot.h"

namespace culmen {

// `wanted`, or the default for 0. Throws InvalidArgument.
int checked_leaf_rows(int wanted);

// A snapshot that lacks the partitioner, the tree and dictionaries.
std::shared_ptr<Snapshot> start_snapshot(const FilledTable& table, const BuildOptions& options,
                                         std::int64_t next_id);

// The leaves of each partition. first_rows: [num_partitions + 1] the position of its first row in key order.
std::vector<PartitionRange> partition_ranges(std::span<const std::uint64_t> first_rows, int leaf_rows);

// Allocates zeroed slots for num_leaves leaves and the nodes above them: level 1 first, the root last. If the snapshot
// has an arena with enough room, grows that one. files, room: of a new arena.
void allocate_tree(Snapshot& snapshot, std::size_t num_leaves, PageSize pages = PageSize::huge,
                   const std::shared_ptr<TemporaryFiles>& files = nullptr,
                   ArenaRoom room = ArenaRoom::to_grow);

// Writes all nodes above level 1, without the zone maps of nodes (index/node_zone_map.h).
void stack_levels(Snapshot& snapshot);

}  // namespace culmen
