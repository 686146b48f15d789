// Sums and extremes over a warp: one instruction from Ampere on, shuffles on Turing.
#pragma once

#include <cstdint>

namespace culmen::cuda {

inline constexpr unsigned kAllLanes = 0xffffffff;

#if __CUDA_ARCH__ >= 800

__device__ inline std::uint32_t warp_reduce_min(std::uint32_t value) {
  return __reduce_min_sync(kAllLanes, value);
}
__device__ inline std::uint32_t warp_reduce_max(std::uint32_t value) {
  return __reduce_max_sync(kAllLanes, value);
}
// Over the `lanes` that call it.
__device__ inline std::uint32_t warp_reduce_add(unsigned lanes, std::uint32_t value) {
  return __reduce_add_sync(lanes, value);
}

#else

__device__ inline std::uint32_t warp_reduce_min(std::uint32_t value) {
  for (int step = 16; step > 0; step /= 2) value = min(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}
__device__ inline std::uint32_t warp_reduce_max(std::uint32_t value) {
  for (int step = 16; step > 0; step /= 2) value = max(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}
__device__ inline std::uint32_t warp_reduce_add(unsigned lanes, std::uint32_t value) {
  std::uint32_t sum = 0;
  for (unsigned left = lanes; left != 0; left &= left - 1)
    sum += __shfl_sync(lanes, value, __ffs(static_cast<int>(left)) - 1);
  return sum;
}

#endif

}  // namespace culmen::cuda
