// Bulk load on a GPU: the tree that index/build/bulk_load.h builds, to the byte. The device does what grows with
// the table: column statistics, keys, sort, leaves, bounds; the host chooses partitions from a sample and stacks
// the upper levels.
//
// A table that fits crosses the bus once. Of one that does not, the device takes as many partitions at a time
// as it has room for, and the table crosses the bus again for each time.
#pragma once

#include <cstdint>
#include <memory>

#include "culmen/build.h"
#include "index/snapshot.h"

namespace culmen {

namespace gpu {
struct LoadedTree;
}

struct DeviceLoad {
  std::shared_ptr<Snapshot> snapshot;
  std::shared_ptr<const gpu::LoadedTree> on_device;  // null: nothing stays there
};

// For tests. 0: what the device has, and what suits it.
struct LoadLimits {
  std::uint64_t device_bytes = 0;  // about what the loader may take
  std::uint32_t chunk_rows = 0;    // rows that are sent at once
};

// On GPU options.device. Throws as bulk_load does, OutOfDeviceMemory, and CudaError where there is no such
// GPU or this culmen was built without CUDA.
DeviceLoad load_on_device(const TableView& table, const BuildOptions& options, const LoadLimits& limits = {});

}  // namespace culmen
