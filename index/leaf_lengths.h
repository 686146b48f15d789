// The lengths of a wide table's leaves (index/bound_layout.h).
#pragma once

#include <cstdint>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

struct LeafLength {
  double length;  // at least that of every row
  std::uint32_t slot;
};

// Of all leaves, the longest first; leaves of equal length by slot. Reads all nodes of level 1.
std::vector<LeafLength> leaves_by_length(const Snapshot& snapshot);

}  // namespace culmen
