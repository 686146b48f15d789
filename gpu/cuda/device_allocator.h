// The process's DeviceAllocator. Without CUDA, too, where nobody asks it for anything.
#pragma once

#include <memory>

#include "culmen/device_allocator.h"

namespace culmen::cuda {

// Null: CUDA itself.
std::shared_ptr<DeviceAllocator> device_allocator();

}  // namespace culmen::cuda
