// GridBarrier: where all thread blocks of a cooperative launch wait for each other.
#pragma once

#include <cuda/atomic>

#include <cstdint>

namespace culmen::gpu {

// A barrier for all blocks of the grid, which must be resident together; `arrived` is 0 before the first, and `nth`
// counts them from 1 on. What was written before arrive() is seen by all behind wait(). Both by all threads.
class GridBarrier {
 public:
  __device__ GridBarrier(std::uint32_t& arrived, std::uint32_t nth)
      : arrived_(arrived), all_(nth * gridDim.x) {}

  __device__ void arrive() {
    __syncthreads();
    if (threadIdx.x == 0) arrived_.fetch_add(1, ::cuda::memory_order_acq_rel);
  }
  __device__ void wait() {
    // Ends: all blocks run at once, as the launch is cooperative, and nothing before arrive() waits.
    if (threadIdx.x == 0) {
      while (arrived_.load(::cuda::memory_order_relaxed) < all_) {
      }
      ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
    }
    __syncthreads();
  }

 private:
  ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> arrived_;
  std::uint32_t all_;
};

__device__ inline void grid_barrier(std::uint32_t& arrived, std::uint32_t nth) {
  GridBarrier barrier(arrived, nth);
  barrier.arrive();
  barrier.wait();
}

}  // namespace culmen::gpu
