// Writes a batch's results to the caller's arrays.
#pragma once

#include <cuda_runtime_api.h>

#include "culmen/device.h"
#include "gpu/search/engines.h"

namespace culmen::gpu {

// Enqueues the copy of a finished batch's hits to `answers`, padded to k for each query. Throws CudaError.
void launch_write_answers(const BatchRef& batch, const DeviceAnswers& answers, cudaStream_t stream);

}  // namespace culmen::gpu
