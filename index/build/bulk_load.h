// Builds a snapshot from a table, bottom-up: collect column statistics, key, sort, cut into leaves, bound, stack
// inner nodes.
#pragma once

#include <memory>

#include "culmen/build.h"
#include "index/snapshot.h"

namespace culmen {

// The same bytes for any number of threads. Throws InputError and InvalidArgument as Index::build says.
std::shared_ptr<Snapshot> bulk_load(const TableView& table, const BuildOptions& options);

}  // namespace culmen
