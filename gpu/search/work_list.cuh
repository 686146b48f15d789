// WorkList: nodes or leaves that the warps of a block find and then share.
#pragma once

#include "gpu/search/answer.cuh"

namespace culmen::gpu {

// In shared memory. What does not fit is visited at once.
class WorkList {
 public:
  __device__ WorkList(std::uint32_t* items, std::uint32_t capacity, std::uint32_t& num_pushed)
      : items_(items), capacity_(capacity), num_pushed_(num_pushed) {}

  // By a whole warp: appends the items of lanes for which `wanted` is true. Returns the lanes whose items did not fit.
  __device__ unsigned push(bool wanted, std::uint32_t item, int lane) {
    const unsigned all = __ballot_sync(kFullWarp, wanted);
    if (all == 0) return 0;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(&num_pushed_, static_cast<unsigned>(__popc(all)));
    first = __shfl_sync(kFullWarp, first, 0);
    const std::uint32_t position = first + static_cast<std::uint32_t>(__popc(all & ((1u << lane) - 1)));
    const bool fits = position < capacity_;
    if (wanted && fits) items_[position] = item;
    return __ballot_sync(kFullWarp, wanted && !fits);
  }

  // By a whole warp, after all warps have read as many items as are kept so far: keeps items in the first places of the list.
  // num_kept: in shared memory. After a barrier all threads call end_keeping(), which has another.
  __device__ void keep(bool wanted, std::uint32_t item, std::uint32_t& num_kept, int lane) {
    const unsigned all = __ballot_sync(kFullWarp, wanted);
    std::uint32_t first = 0;
    if (lane == 0 && all != 0) first = atomicAdd(&num_kept, static_cast<unsigned>(__popc(all)));
    first = __shfl_sync(kFullWarp, first, 0);
    if (wanted) items_[first + static_cast<std::uint32_t>(__popc(all & ((1u << lane) - 1)))] = item;
  }
  __device__ void end_keeping(std::uint32_t num_kept) {
    if (threadIdx.x == 0) num_pushed_ = num_kept;
    __syncthreads();
  }

  // After a barrier.
  __device__ std::uint32_t size() const { return min(num_pushed_, capacity_); }
  __device__ std::uint32_t operator[](std::uint32_t i) const { return items_[i]; }

 private:
  std::uint32_t* items_;
  std::uint32_t capacity_;
  std::uint32_t& num_pushed_;
};

}  // namespace culmen::gpu
