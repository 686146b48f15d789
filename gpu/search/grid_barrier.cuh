// GridBarrier: a barrier for all thread blocks of a cooperative launch.
#pragma once

#include <cuda/atomic>

#include <cstdint>

namespace culmen::gpu {

// All blocks of the grid must be resident at once. `arrived` is 0 before a kernel's first barrier; `nth` numbers its
// barriers from 1 on. All threads call arrive() and then wait(); after wait() they see what any thread wrote before
// arrive().
class GridBarrier {
 public:
  __device__ GridBarrier(std::uint32_t& arrived, std::uint32_t nth)
      : arrived_(arrived), all_(nth * gridDim.x) {}

  __device__ void arrive() {
    __syncthreads();  // the block's writes come before thread 0's release
    if (threadIdx.x == 0) arrived_.fetch_add(1, ::cuda::memory_order_acq_rel);
  }
  __device__ void wait() {
    // Ends: the launch is cooperative, so all blocks run at once, and no block waits for another before arrive().
    if (threadIdx.x == 0) {
      while (arrived_.load(::cuda::memory_order_relaxed) < all_) {
      }
      // Pairs with the release of each arrive(). One fence after the loop is cheaper than an acquire for each load.
      ::cuda::atomic_thread_fence(::cuda::memory_order_acquire, ::cuda::thread_scope_device);
    }
    __syncthreads();  // the block goes on when thread 0 has seen all others arrive
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
