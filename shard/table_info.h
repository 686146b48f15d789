// What the statistics of a whole table say of the attributes of its shards.
#pragma once

#include "culmen/info.h"
#include "culmen/statistics.h"

namespace culmen {

// Replaces the range, gaps and stand-in of each attribute by the table's and, if the statistics are for a scale, what that
// needs.
void set_attributes(const TableStatistics& table, IndexInfo& info);

}  // namespace culmen
