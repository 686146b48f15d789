// The process's DeviceAllocator. Exists without CUDA, too, where it is not used.
#pragma once

#include <memory>

#include "culmen/device_allocator.h"

namespace culmen::cuda {

// Null: CUDA itself.
std::shared_ptr<DeviceAllocator> device_allocator();

}  // namespace culmen::cuda
