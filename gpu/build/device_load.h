// Bulk load on a GPU: builds the tree of index/build/bulk_load.h, byte for byte. The device does what grows with the
// table: column statistics, the cuts of the partitions, from a sample, keys, sort, leaves, bounds. The host stacks the
// upper levels.
//
// A table that fits into device memory crosses the bus once. Otherwise the device loads as many partitions at a time
// as fit, and the table crosses the bus again for each of these spans.
//
// Several devices each read a part of the table, and exchange its rows by their keys, so that each sorts, cuts and bounds
// neighbouring leaves, all about the same number (docs/decisions/0033-building-on-several-gpus.md).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "culmen/build.h"
#include "culmen/error.h"
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
  std::uint64_t device_bytes = 0;  // that the loader may take of each device, approximately
  std::uint32_t chunk_rows = 0;    // rows sent at once
};

// The GPUs that are to build; none: the CPU is. Throws InvalidArgument.
inline std::vector<int> devices_that_build(const BuildOptions& options) {
  if (options.device == kNoDevice) return options.devices;
  if (options.devices.empty()) return {options.device};
  throw InvalidArgument("device and devices are both given: name the GPUs in one of them");
}

// On devices_that_build(options), at least one. Throws as bulk_load, OutOfDeviceMemory, and CudaError if there is no such
// GPU or culmen was built without CUDA.
DeviceLoad load_on_device(const TableView& table, const BuildOptions& options, const LoadLimits& limits = {});

}  // namespace culmen
