// An empty kernel, to time a launch.
#pragma once

#include <cuda_runtime_api.h>

namespace culmen::gpu {

void launch_nothing(cudaStream_t stream);

}  // namespace culmen::gpu
