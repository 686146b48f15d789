// The zone map of inner nodes: per attribute the exact maximum and minimum of all values below a node. If many rows tie
// with the k-th, `bounded` skips whole nodes by it. With it go the zones of the node's children (index/child_zones.h).
#pragma once

#include <cstddef>

#include "index/snapshot.h"

namespace culmen {

// Computes the zone map and the child zones of a node from its children's. Returns true if either has changed.
bool update_node_zone_map(SlotArena& arena, std::size_t slot);

// Returns true if the node has what update_node_zone_map would compute.
bool is_node_zone_map(const SlotArena& arena, std::size_t slot);

// What the children have together.
ColumnSummary summary_of(const ChildZones& zones, std::uint32_t num_children);

// Computes both of all nodes of a tree that was built, whose nodes are slots 0 .. num_nodes - 1,
// lowest level first.
void write_node_zone_maps(const Snapshot& snapshot);

}  // namespace culmen
