// Creates a DeviceGroup. Users call Index::to_devices; tests and benchmarks that publish versions of their own call
// this.
#pragma once

#include <memory>
#include <span>

#include "culmen/device_group.h"
#include "index/published.h"

namespace culmen {

// A copy or a part for each of the devices, of which there is at least one. loaded: for each the tree that the index's bulk load
// left in its memory, or null. Throws as Index::to_devices.
DeviceGroup make_device_group(std::shared_ptr<const Published> index, std::span<const DeviceOptions> devices,
                              std::span<const std::shared_ptr<const gpu::LoadedTree>> loaded,
                              DeviceLayout layout = DeviceLayout::replicate);

}  // namespace culmen
