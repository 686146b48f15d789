// Builds a snapshot from a table, bottom-up: collects column statistics, computes keys, sorts, cuts rows into leaves,
// bounds them, and stacks inner nodes.
#pragma once

#include <memory>

#include "culmen/build.h"
#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

// Writes the same bytes with any number of threads. Throws InputError and InvalidArgument as documented at Index::build.
std::shared_ptr<Snapshot> bulk_load(const TableView& table, const BuildOptions& options);

// In a third of the time: leaves have the rows as they come, in one partition, and bounds by single attributes, which
// prune little. For rows that few searches will read; writers need those of bulk_load. `options` determine only the size of
// leaves, the type of values, stand-ins and threads. Not for wide tables (index/bound_layout.h).
std::shared_ptr<Snapshot> load_as_given(const TableView& table, const BuildOptions& options);

}  // namespace culmen
