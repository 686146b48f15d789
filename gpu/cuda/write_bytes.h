// Writes bytes of the host to device memory without a copy. A copy from memory that is not pinned may wait for the
// stream; this only enqueues.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

namespace culmen::cuda {

// Enqueues the write. The bytes may be freed on return: they are parameters of kernels, a few KiB each. Their number is
// a multiple of 8, and `to` is aligned to 8. Throws CudaError.
void write_bytes(std::span<const std::byte> bytes, std::byte* to, cudaStream_t stream);

}  // namespace culmen::cuda
