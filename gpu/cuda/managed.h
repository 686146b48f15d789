// Where the pages of managed memory are.
#pragma once

#include <cstddef>

namespace culmen::cuda {

// Brings filled managed memory to the current device, enqueued on the default stream, where it stays unless
// others need the room. Does nothing where the device cannot share pages with the host: all pages are on such
// a device while a kernel runs. Throws CudaError.
void keep_on_device(const void* data, std::size_t num_bytes);

}  // namespace culmen::cuda
