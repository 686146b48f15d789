// Sorts of few candidates in shared memory, best first.
#pragma once

#include "query/gpu/score_keys.cuh"

namespace culmen::gpu {

__device__ inline std::uint32_t next_power_of_two(std::uint32_t x) {
  return x <= 1 ? 1 : 1u << (32 - __clz(static_cast<int>(x - 1)));
}

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

// Room in shared memory for sort_one_each by `num_threads`.
constexpr std::size_t exchange_bytes(std::uint32_t num_threads) {
  return std::size_t{2} * num_threads * (sizeof(std::uint64_t) + sizeof(std::uint32_t));
}

// Sorts up to one item a thread from `items` into `sorted`, best first, all in shared memory; a barrier
// before it and none behind. The same network, but items stay where they are and only their scores and places
// move, from register to register within a warp.
__device__ inline void sort_one_each(const Candidate* items, std::uint32_t count, std::byte* exchange,
                                     Candidate* sorted) {
  const std::uint32_t thread = threadIdx.x, num_threads = blockDim.x;
  const std::uint32_t padded = max(next_power_of_two(count), std::uint32_t{kWarpSize});
  auto* all_bits = reinterpret_cast<std::uint64_t*>(exchange);
  auto* all_places = reinterpret_cast<std::uint32_t*>(all_bits + 2 * num_threads);
  std::uint64_t bits = thread < count ? rank_bits(items[thread].score) : 0;  // 0: below every score's
  std::uint32_t place = thread;
  std::uint32_t half = 0;  // of the room, used in turn
  for (std::uint32_t size = 2; size <= padded; size *= 2)
    for (std::uint32_t stride = size / 2; stride > 0; stride /= 2) {
      std::uint64_t other_bits = 0;
      std::uint32_t other_place = 0;
      if (stride < kWarpSize) {
        other_bits = __shfl_xor_sync(kFullWarp, bits, static_cast<int>(stride));
        other_place = __shfl_xor_sync(kFullWarp, place, static_cast<int>(stride));
      } else {
        all_bits[half + thread] = bits;
        all_places[half + thread] = place;
        __syncthreads();
        other_bits = all_bits[half + (thread ^ stride)];
        other_place = all_places[half + (thread ^ stride)];
        half = num_threads - half;
      }
      const bool tied = bits == other_bits && bits != 0;
      const bool other_first = other_bits > bits || (tied && items[other_place].id < items[place].id);
      const bool mine_first = bits > other_bits || (tied && items[place].id < items[other_place].id);
      const bool wants_better = ((thread & size) == 0) == ((thread & stride) == 0);
      if (wants_better ? other_first : mine_first) {
        bits = other_bits;
        place = other_place;
      }
    }
  if (thread < count) sorted[thread] = items[place];
}

}  // namespace culmen::gpu
