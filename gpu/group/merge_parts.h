// Merges the answers that devices with parts of an index have given to the same queries. On a device.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "culmen/device.h"

namespace culmen::gpu {

// The answers of all parts, each as in DeviceAnswers, one after the other. In device memory.
struct PartsRef {
  std::int64_t* ids;      // [num_parts][num_queries][k]
  double* scores;         // the same
  std::uint32_t* counts;  // [num_parts][num_queries]
  std::uint32_t num_parts;
  std::uint32_t num_queries;
  std::uint32_t k;
};

// Enqueues: writes the k best hits of each query to `answers`. All parts refuse the same queries. Throws CudaError.
void launch_merge_parts(const PartsRef& parts, const DeviceAnswers& answers, cudaStream_t stream);

}  // namespace culmen::gpu
