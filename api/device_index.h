// Creates a DeviceIndex. Users call Index::to_device; tests and benchmarks that publish versions of their own call
// this.
#pragma once

#include <memory>

#include "culmen/device.h"
#include "index/published.h"

namespace culmen {

namespace gpu {
struct LoadedTree;  // gpu/mirror/loaded_tree.h
}

// `loaded`: the tree that the index's bulk load left in the memory of options.device, or null. Throws as
// Index::to_device.
DeviceIndex make_device_index(std::shared_ptr<const Published> index, const DeviceOptions& options,
                              const std::shared_ptr<const gpu::LoadedTree>& loaded = nullptr);

}  // namespace culmen
