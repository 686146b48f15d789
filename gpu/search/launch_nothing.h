// A kernel that does nothing, to time what every launch takes.
#pragma once

#include <cuda_runtime_api.h>

namespace culmen::gpu {

void launch_nothing(cudaStream_t stream);

}  // namespace culmen::gpu
