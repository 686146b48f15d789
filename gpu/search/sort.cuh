// Sorts of few candidates in shared memory, best first.
#pragma once

#include "gpu/search/score_keys.cuh"

namespace culmen::gpu {

__device__ inline std::uint32_t next_power_of_two(std::uint32_t x) {
  return x <= 1 ? 1 : 1u << (32 - __clz(static_cast<int>(x - 1)));
}

// Ranks after every row.
__device__ inline Candidate no_candidate() {
  return {-infinity(), kNoId, 0};
}

// Bitonic sort (Batcher 1968), best first, of `count` items, a power of two, by whole warps: the `num_threads`
// threads that sync() is a barrier for. All of them see the result.
template <typename Sync>
__device__ void sort_candidates(Candidate* items, std::uint32_t count, std::uint32_t thread,
                                std::uint32_t num_threads, Sync&& sync) {
  // Up to this stride a warp's 32 pairs stay within 64 items that no other warp touches.
  constexpr std::uint32_t kWarpStride = kWarpSize;
  bool among_warps = true;  // in the step before
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

// Shared memory for sort_by_rank of `count` items.
constexpr std::size_t rank_bytes(std::uint32_t count) {
  return (count + 1) * sizeof(double) + count * sizeof(std::uint32_t);
}

// Sorts at most one item for each thread from `items` into `sorted`, best first, all in shared memory. Each thread
// counts the items that rank before its own: faster than a sort for so few. `room`: aligned to 16. After a barrier;
// none at the end.
__device__ inline void sort_by_rank(const Candidate* items, std::uint32_t count, std::byte* room,
                                    Candidate* sorted) {
  const std::uint32_t thread = threadIdx.x, num_pairs = (count + 1) / 2;
  auto* scores = reinterpret_cast<double*>(room);
  auto* num_of_rank = reinterpret_cast<std::uint32_t*>(scores + 2 * num_pairs);
  if (thread < 2 * num_pairs) scores[thread] = thread < count ? items[thread].score : -infinity();
  if (thread < count) num_of_rank[thread] = 0;
  __syncthreads();
  std::uint32_t rank = 0;
  const double mine = thread < count ? scores[thread] : infinity();
  if (thread < count) {
    const auto* pairs = reinterpret_cast<const double2*>(scores);
#pragma unroll 4
    for (std::uint32_t other = 0; other < num_pairs; ++other)
      rank += (pairs[other].x > mine ? 1 : 0) + (pairs[other].y > mine ? 1 : 0);
    atomicAdd(&num_of_rank[rank], 1u);
  }
  __syncthreads();
  if (thread >= count) return;
  const std::uint32_t first = rank;
  const std::int64_t id = items[thread].id;
  for (std::uint32_t other = 0; num_of_rank[first] > 1 && other < count; ++other) {
    if (scores[other] != mine) continue;
    const std::int64_t theirs = items[other].id;
    rank += theirs < id || (theirs == id && other < thread) ? 1 : 0;  // a damaged index repeats ids
  }
  sorted[rank] = items[thread];
}

}  // namespace culmen::gpu
