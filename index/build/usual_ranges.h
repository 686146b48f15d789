// The range in which most values of an attribute lie: bound units and partitions measure attributes by it.
#pragma once

#include <vector>

#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

// For each attribute its range without outliers, such as a placeholder of -999999. Values outside of the range are
// still bounded correctly.
std::vector<AttributeStats> usual_ranges(const Snapshot& snapshot, const TableView& table);

}  // namespace culmen
