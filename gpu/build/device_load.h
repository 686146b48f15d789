// Bulk load on a GPU: builds the tree of index/build/bulk_load.h, byte for byte. The device does what grows with the
// table: column statistics, keys, sort, leaves, bounds. The host chooses partitions from a sample and stacks the
// upper levels.
//
// A table that fits into device memory crosses the bus once. Otherwise the device loads as many partitions at a time
// as fit, and the table crosses the bus again for each of these spans.
#pragma once

#include <cstdint>
#include <memory>

#include "culmen/build.h"
#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen {

namespace gpu {
struct LoadedTree;
}

struct DeviceLoad {
  std::shared_ptr<Snapshot> snapshot;
  std::shared_ptr<const gpu::LoadedTree> on_device;  // null: nothing is kept there
};

// For tests. 0: what the device has, and a suitable number.
struct LoadLimits {
  std::uint64_t device_bytes = 0;  // that the loader may take, approximately
  std::uint32_t chunk_rows = 0;    // rows sent at once
};

// On GPU options.device. Throws as bulk_load, OutOfDeviceMemory, and CudaError if there is no such GPU or culmen was
// built without CUDA.
DeviceLoad load_on_device(const TableView& table, const BuildOptions& options, const LoadLimits& limits = {});

}  // namespace culmen
