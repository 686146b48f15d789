// Placement of managed memory.
#pragma once

#include <cstddef>

namespace culmen::cuda {

// Enqueues, on the default stream, the migration of filled managed memory to the current device, where it stays
// unless others need the room. Does nothing if the device cannot share pages with the host: it has all pages while a
// kernel runs. Throws CudaError.
void keep_on_device(const void* data, std::size_t num_bytes);

}  // namespace culmen::cuda
