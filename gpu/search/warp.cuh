// Constants of a warp, and what its lanes find together.
#pragma once

#include <cstdint>

#include "index/node_layout.h"

namespace culmen::gpu {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kFullWarp = 0xffffffff;

__device__ inline double infinity() {
  return __longlong_as_double(0x7ff0000000000000);
}

template <typename T>
__device__ T warp_min(T value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = min(value, __shfl_xor_sync(kFullWarp, value, offset));
  return value;
}

template <typename T>
__device__ T warp_sum(T value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(kFullWarp, value, offset);
  return value;
}

__device__ inline double warp_max(double value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = fmax(value, __shfl_xor_sync(kFullWarp, value, offset));
  return value;
}

// The lane with the smallest id among those in `tied`. Calls id() only if there are several.
template <typename Id>
__device__ int smallest_id(unsigned tied, int lane, Id&& id) {
  if ((tied & (tied - 1)) != 0) {
    const std::int64_t mine = (tied >> lane & 1) != 0 ? id() : kNoId;
    const std::int64_t smallest = warp_min(mine);
    tied &= __ballot_sync(kFullWarp, mine == smallest);
  }
  return __ffs(static_cast<int>(tied)) - 1;
}

}  // namespace culmen::gpu
