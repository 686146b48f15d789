// The quantiles of a table (index/quantiles.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "culmen/table.h"
#include "index/quantiles.h"

namespace culmen {

// Of the values that are not missing, as they are stored. The table's values must have been checked (table_stats). By all
// threads; they depend neither on these nor on the order of rows.
Quantiles quantiles_of(const TableView& table, ValueType type);

// Those of a whole table for an index of some of its rows, as BuildOptions::quantiles. Throws InvalidArgument unless there
// are some of each attribute that can be.
void check_quantiles(std::span<const std::vector<double>> given, std::span<const Attribute> attributes);

}  // namespace culmen
