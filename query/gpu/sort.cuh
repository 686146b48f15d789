// Sorts of few candidates in shared memory, best first.
#pragma once

#include "query/gpu/blocks.cuh"

namespace culmen::gpu {

// Ranks behind every row.
__device__ inline Candidate no_candidate() {
  return {-infinity(), kNoId, 0};
}

// Bitonic sort (Batcher 1968), best first, of `count` = a power of two items by the `num_threads` threads
// that sync() joins, whole warps. Behind it all threads see the result.
template <typename Sync>
__device__ void sort_candidates(Candidate* items, std::uint32_t count, std::uint32_t thread,
                                std::uint32_t num_threads, Sync&& sync) {
  // Up to this stride a warp's 32 pairs stay within 64 items that no other warp touches.
  constexpr std::uint32_t kWarpStride = kWarpSize;
  bool among_warps = true;  // the step before
  for (std::uint32_t size = 2; size <= count; size *= 2)
    for (std::uint32_t stride = size / 2; stride > 0; stride /= 2) {
      if (among_warps || stride > kWarpStride) {
        sync();
      } else {
        __syncwarp();
      }
      among_warps = stride > kWarpStride;
      for (std::uint32_t i = thread; i < count / 2; i += num_threads) {
        const std::uint32_t first = 2 * i - (i & (stride - 1));
        const std::uint32_t second = first + stride;
        const bool best_first = (first & size) == 0;
        const Candidate a = items[first], b = items[second];
        if (best_first ? ranks_before(b, a) : ranks_before(a, b)) {
          items[first] = b;
          items[second] = a;
        }
      }
    }
  sync();
}

// Sorts `count` items, best first, into `sorted`: by counting who is better, which is faster than a sort for
// so few. `scores` is room for their scores side by side. All three in shared memory; a barrier before it and
// none behind.
__device__ inline void sort_by_rank(const Candidate* items, std::uint32_t count, double* scores,
                                    Candidate* sorted) {
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) scores[i] = items[i].score;
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    const Candidate mine = items[i];
    std::uint32_t rank = 0, equal = 0;
#pragma unroll 8
    for (std::uint32_t other = 0; other < count; ++other) {
      rank += scores[other] > mine.score ? 1 : 0;
      equal += scores[other] == mine.score ? 1 : 0;
    }
    for (std::uint32_t other = 0; equal > 1 && other < count; ++other)
      rank += scores[other] == mine.score && items[other].id < mine.id ? 1 : 0;
    sorted[rank] = mine;
  }
}

__device__ inline std::uint32_t next_power_of_two(std::uint32_t x) {
  return x <= 1 ? 1 : 1u << (32 - __clz(static_cast<int>(x - 1)));
}

}  // namespace culmen::gpu
