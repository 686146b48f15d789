// Writes the LeafFields of a tree that was just loaded: which attributes rows miss, and their fields.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

// The row of the table that is at a position of a leaf.
using RowOfLeaf = std::function<std::uint64_t(std::size_t leaf, std::uint32_t position)>;

// The leaves of the tree are slots 0 .. num_leaves - 1, with stand-ins in place. Sets the snapshot's dictionaries, too.
// Returns at once if the table has neither gaps nor fields.
void load_fields(Snapshot& snapshot, const TableView& table, const std::vector<bool>& has_gaps,
                 const RowOfLeaf& row_of);

}  // namespace culmen
