// Measures what a GPU takes on this machine.
#pragma once

#include "query/device_costs.h"

namespace culmen {

// Launching, reading and copying of GPU `device`; the other constants, which need a large index, are the
// built-in ones. Cost: some milliseconds, 64 MiB of memory on the host and on the device. Throws
// OutOfDeviceMemory or CudaError.
DeviceCosts measure_device_costs(int device);

}  // namespace culmen
