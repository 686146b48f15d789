// StepEnd: the barrier after a step of a frontier or a sweep, at which k-th score bounds are raised.
#pragma once

#include "gpu/search/grid_barrier.cuh"
#include "gpu/search/kth_bound_raise.cuh"

namespace culmen::gpu {

// For cooperative kernels; every method is called by all threads of the grid.
class StepEnd {
 public:
  // barrier: 0 when the kernel starts, and used by nothing else.
  __device__ StepEnd(const BatchRef& batch, std::uint32_t& barrier)
      : batch_(batch), barrier_(barrier), num_repeats_(__ldcg(&batch.counters->num_repeats)) {}

  __device__ void wait() { grid_barrier(barrier_, ++num_barriers_); }

  // Raises the k-th score bounds of the queries at entry(0) .. entry(count - 1). Returns true if the step must be
  // repeated for some of them. Repeats end: each raises some bound to another row's score.
  template <typename Entry>
  __device__ bool raise_kth_bounds(std::uint32_t count, bool is_repeated, Entry&& entry) {
    wait();  // all rows of the step are found
    const std::uint32_t warps = blockDim.x / kWarpSize;
    for (std::uint32_t i = blockIdx.x * warps + threadIdx.x / kWarpSize; i < count; i += gridDim.x * warps)
      if (KthBoundRaise(batch_, entry(i)).run(is_repeated) && threadIdx.x % kWarpSize == 0)
        atomicAdd(&batch_.counters->num_repeats, 1u);
    wait();  // all k-th score bounds are raised, and all repeats are counted
    const std::uint32_t before = num_repeats_;
    num_repeats_ = __ldcg(&batch_.counters->num_repeats);
    return num_repeats_ != before;
  }

 private:
  const BatchRef& batch_;
  std::uint32_t& barrier_;
  std::uint32_t num_barriers_ = 0, num_repeats_;
};

}  // namespace culmen::gpu
