// The zone map of inner nodes: per attribute the exact maximum and minimum of all values below a node. If many rows tie
// with the k-th, `bounded` skips whole nodes by it. In memory only, not in files.
#pragma once

#include <cstddef>

#include "index/snapshot.h"

namespace culmen {

// Computes the zone map of a node from those of its children. Returns true if it has changed.
bool update_node_zone_map(SlotArena& arena, std::size_t slot);

// Computes the zone maps of all nodes of a tree that was built or read, whose nodes are slots 0 .. num_nodes - 1,
// lowest level first.
void write_node_zone_maps(const Snapshot& snapshot);

}  // namespace culmen
