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

}  // namespace culmen
