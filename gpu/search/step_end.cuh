// What a frontier and a sweep do in steps: Step, and StepEnd between two of them.
#pragma once

#include "gpu/search/floor_raise.cuh"
#include "gpu/search/grid_barrier.cuh"

namespace culmen::gpu {

// Which of `count` items: multiples of `stride`, but not those of the step before.
struct Step {
  std::uint32_t count, stride;
  bool is_first;

  __device__ std::uint32_t multiples(std::uint32_t of) const { return (count + of - 1) / of; }
  __device__ std::uint32_t size() const {
    return multiples(stride) - (is_first ? 0 : multiples(stride * kSweepGrowth));
  }
  __device__ std::uint32_t place(std::uint32_t i) const {
    return (is_first ? i : i + i / (kSweepGrowth - 1) + 1) * stride;
  }
};

// Of a cooperative kernel; all of it by all threads.
class StepEnd {
 public:
  // barrier: 0 before the kernel, and of no other.
  __device__ StepEnd(const BatchRef& batch, std::uint32_t& barrier)
      : batch_(batch), barrier_(barrier), num_repeats_(__ldcg(&batch.counters->num_repeats)) {}

  __device__ void wait() { grid_barrier(barrier_, ++num_barriers_); }

  // Raises the floors of the queries at place(0) .. place(count - 1). Returns whether the step is to be repeated for some
  // of them: that ends, as each time some floor has risen to another row's score.
  template <typename Place>
  __device__ bool raise_floors(std::uint32_t count, bool is_repeated, Place&& place) {
    wait();
    const std::uint32_t warps = blockDim.x / kWarpSize;
    for (std::uint32_t i = blockIdx.x * warps + threadIdx.x / kWarpSize; i < count; i += gridDim.x * warps)
      if (FloorRaise(batch_, place(i)).run(is_repeated) && threadIdx.x % kWarpSize == 0)
        atomicAdd(&batch_.counters->num_repeats, 1u);
    wait();
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
