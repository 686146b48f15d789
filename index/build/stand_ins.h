// Stand-ins: the values that attributes get where theirs are missing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "culmen/table.h"
#include "index/columns.h"

namespace culmen {

// Those of a table's attributes as stored: oriented, of the stored type. 0 for an attribute without any value. Throws
// InvalidArgument for an Attribute::number that cannot be stored. memory: for a copy of a column.
std::vector<double> stand_ins_of(const TableView& table, const TableStats& stats,
                                 const std::shared_ptr<ArrayMemory>& memory = nullptr);

// `given`, as BuildOptions::stand_ins, as stored. Throws InvalidArgument unless there is one for each attribute that its type
// holds exactly.
std::vector<double> stored_stand_ins(const TableView& table, ValueType type, std::span<const double> given);

// The mean of finite numbers, exact, rounded once to float64, or to float32. At least one.
double exact_mean(std::span<const double> values, bool to_float32);
// The median, which reorders the values; of an even number of values the mean of the two in the middle.
double exact_median(std::span<double> values, bool to_float32);

}  // namespace culmen
