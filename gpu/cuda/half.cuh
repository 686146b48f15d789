// Half in kernels.
#pragma once

#include <cuda_fp16.h>

#include "base/half.h"

namespace culmen::gpu {

__device__ inline float to_float(Half half) {
  return __half2float(__ushort_as_half(half.bits));
}

}  // namespace culmen::gpu
