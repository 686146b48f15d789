// How a DeviceIndex comes to be: Index::to_device for whoever has an Index, and this for tests and benchmarks
// that publish versions of their own.
#pragma once

#include <memory>

#include "culmen/device.h"
#include "index/published.h"

namespace culmen {

namespace gpu {
struct LoadedTree;  // gpu/mirror/loaded_tree.h
}

// `loaded`: what the index's bulk load has left in the memory of options.device, if anything. Throws as
// Index::to_device.
DeviceIndex make_device_index(std::shared_ptr<const Published> index, const DeviceOptions& options,
                              const std::shared_ptr<const gpu::LoadedTree>& loaded = nullptr);

}  // namespace culmen
