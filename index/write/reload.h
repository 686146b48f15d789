// Loading the rows of a tree anew, with partitions and units that fit them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "index/snapshot.h"
#include "index/write/change.h"

namespace culmen {

// The rows in these leaves of `snapshot`, after the change; its version, too, is the snapshot's. Cost: as
// bulk_load, and a copy of the rows.
std::shared_ptr<Snapshot> load_anew(const Snapshot& snapshot, std::span<const std::uint32_t> leaves,
                                    const Change& change);

}  // namespace culmen
