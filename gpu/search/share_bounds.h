// Devices that search parts of one index share the k-th score bounds of a batch's slow queries.
#pragma once

#include <cuda_runtime_api.h>

#include "gpu/search/engines.h"

namespace culmen::gpu {

// Enqueues, between the steps of a batch: raises the k-th score bounds of the queries that were handed over to what other
// devices have found, and tells them its own. Does not wait for any device: a bound that comes too late excludes less.
// Two devices may write at the same time, and the lower bound may stay: it holds as well. Throws CudaError.
void launch_share_bounds(const BatchRef& batch, cudaStream_t stream);

// Enqueues, before a batch: its shared bounds exclude nothing yet. Throws CudaError.
void launch_clear_bounds(double* bounds, std::uint32_t num_queries, cudaStream_t stream);

}  // namespace culmen::gpu
