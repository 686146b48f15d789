// Reads all rows of some indexes back into one table, as they were given.
#pragma once

#include <memory>
#include <span>

#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

// The indexes have the same columns. At least one.
Table table_of(std::span<const std::shared_ptr<const Snapshot>> snapshots);

}  // namespace culmen
