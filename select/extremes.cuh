// The smallest and the largest rank that the threads of a grid have seen.
#pragma once

#include <cub/block/block_reduce.cuh>

#include "select/threshold.cuh"

namespace culmen::select {

template <typename Rank>
struct Extremes {
  Rank lowest, highest;
};

template <typename Rank>
struct Wider {
  __device__ Extremes<Rank> operator()(const Extremes<Rank>& a, const Extremes<Rank>& b) const {
    return {a.lowest < b.lowest ? a.lowest : b.lowest, a.highest < b.highest ? b.highest : a.highest};
  }
};

// By all threads of the grid, which it waits for: the extremes over all of them. `of_blocks`: one for each block.
template <typename Rank>
__device__ Extremes<Rank> grid_extremes(Extremes<Rank> mine, Extremes<Rank>* of_blocks) {
  using Reduce = cub::BlockReduce<Extremes<Rank>, kThreads>;
  struct Room {
    typename Reduce::TempStorage scratch;
    Extremes<Rank> result;
  };
  static_assert(sizeof(Room) <= kSharedBytes);
  Room& room = *shared_room<Room>();
  __syncthreads();  // the previous use of the shared memory is over
  const Wider<Rank> wider;
  mine = Reduce(room.scratch).Reduce(mine, wider);
  if (threadIdx.x == 0) of_blocks[blockIdx.x] = mine;
  sync_grid();
  mine = {static_cast<Rank>(~Rank{0}), Rank{0}};
  for (unsigned block = threadIdx.x; block < gridDim.x; block += kThreads)
    mine = wider(mine, of_blocks[block]);
  mine = Reduce(room.scratch).Reduce(mine, wider);
  if (threadIdx.x == 0) room.result = mine;
  __syncthreads();
  return room.result;
}

__device__ inline int bit_width(Rank64 value) {
  return 64 - __clzll(static_cast<long long>(value));
}
__device__ inline int bit_width(Rank128 value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high > 0 ? 64 + bit_width(high) : bit_width(static_cast<std::uint64_t>(value));
}

// The lowest must not be above the highest.
template <typename Rank>
__device__ Interval<Rank> interval_of(const Extremes<Rank>& extremes) {
  return {extremes.lowest, bit_width(extremes.highest - extremes.lowest)};
}

}  // namespace culmen::select
