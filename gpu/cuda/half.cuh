// Half in kernels.
#pragma once

#include <cuda_fp16.h>

#include "base/half.h"

namespace culmen::gpu {

__device__ inline float to_float(Half half) {
  return __half2float(__ushort_as_half(half.bits));
}

// The length of what has this sum of squares, rounded up.
__device__ inline float length_above(double squares) {
  return __double2float_ru(sqrt(squares) * (1 + 0x1p-30));
}

}  // namespace culmen::gpu
