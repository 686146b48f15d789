// How a DeviceIndex comes to be: Index::to_device for whoever has an Index, and this for tests and benchmarks
// that publish versions of their own.
#pragma once

#include <memory>

#include "culmen/device.h"
#include "index/published.h"

namespace culmen {

// Throws as Index::to_device.
DeviceIndex make_device_index(std::shared_ptr<const Published> index, const DeviceOptions& options);

}  // namespace culmen
