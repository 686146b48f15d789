// The zone map of inner nodes: per attribute the maximum and minimum of all values below a node, exactly. `bounded` skips
// whole nodes by them where many rows tie with the k-th best score. They are kept in memory only.
#pragma once

#include <cstddef>

#include "index/snapshot.h"

namespace culmen {

// Computes the zone map of a node from those of its children. Returns true if they are not what they were.
bool update_node_zone_map(SlotArena& arena, std::size_t slot);

// Computes the zone map of all nodes of a tree that was built or read: its nodes are slots 0 .. num_nodes - 1, the lowest
// level first.
void write_node_zone_maps(const Snapshot& snapshot);

}  // namespace culmen
