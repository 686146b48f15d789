// Steps by 32-bit keys (gpu/search/score_keys.cuh), as rungs 2 to 4 have them.
#pragma once

#include "bench/ladder/bounded/one_launch.cuh"

namespace culmen::gpu::ladder {

// With the argmax of a warp in one instruction.
__device__ inline std::uint32_t leaf_to_sample_by_keys(const Search& search) {
  const Team& team = search.team;
  const std::uint32_t cell = BestNodes(team, search.scale, infinity()).cell_of_rank(0);
  if (cell == kNoNode) return kNoNode;
  const Child child = child_of<QueryKind::plain>(search.mirror, search.query, team.node(cell), team.lane);
  const int lane = lane_of_rank(
      bound_key(child.bound, search.scale), [&] { return child.min_id; }, team.warp, team.lane);
  return lane < 0 ? kNoNode : __shfl_sync(kFullWarp, child.leaf, lane);
}

// How many seeds rungs 3 and 4 take from each block.
__device__ inline std::uint32_t seeds_by_k(const Search& search) {
  return search.state.k <= 32 ? 8 : 32;
}

// Writes the `each` best keys of the block as seeds, up to 4 of each warp, with their rows or without.
template <bool kWithRows>
__device__ void write_seeds_by_keys(const Search& search, std::uint32_t leaf, std::uint32_t each) {
  constexpr std::uint32_t kOfAWarp = 4;
  constexpr std::uint32_t kCount = kSearchWarps * kOfAWarp;
  __shared__ std::uint32_t keys[kCount];
  __shared__ SeedRow rows[kWithRows ? kCount : 1];
  const SearchStateRef& state = search.state;
  TwoBest best;
  if (leaf != kNoNode)
    best = sample_leaf<float, kLoads, QueryKind::plain>(search.mirror, search.query, search.scale,
                                                        state.kth_bound, leaf, search.team.lane);
  for (std::uint32_t i = 0; i < kOfAWarp; ++i) {
    std::uint32_t top = best.first.key;
    if (search.team.lane == __ffs(static_cast<int>(warp_argmax(top))) - 1) {
      const std::uint32_t place = i * kSearchWarps + threadIdx.x / kWarpSize;
      keys[place] = top;
      if constexpr (kWithRows) rows[place] = best.first.row;
      best = {best.second, {}};
    }
  }
  __syncthreads();
  if (threadIdx.x >= kCount) return;
  const std::uint32_t key = keys[threadIdx.x];
  std::uint32_t rank = 0;
#pragma unroll 4
  for (std::uint32_t i = 0; i < kCount; ++i)
    rank += keys[i] > key || (keys[i] == key && i < threadIdx.x) ? 1 : 0;
  if (rank >= each) return;
  const std::uint32_t place = blockIdx.x * each + rank;
  state.seed_keys[place] = key;
  if constexpr (kWithRows) state.seed_rows[place] = rows[threadIdx.x];
}

// Copies the seeds of all blocks to shared memory; how many keys.
__device__ inline std::uint32_t load_seeds(const Search& search, std::uint32_t each, std::uint32_t* keys) {
  const std::uint32_t count = gridDim.x * each;
#pragma unroll 8
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
    keys[i] = __ldcg(search.state.seed_keys + i);
  __syncthreads();
  return count;
}

// The score of the k-th best key. Rows that tie with it pass, whatever their id.
__device__ inline KthBound kth_bound_by_keys(const Search& search, std::uint32_t each,
                                             std::uint32_t* memory) {
  const std::uint32_t count = load_seeds(search, each, memory);
  const Kth kth = kth_key({memory, nullptr, count}, static_cast<int>(search.state.k), search.shared.select);
  if (kth.key == KeyScale::kNone) return search.state.kth_bound;
  return higher({search.scale.score_of(kth.key), kNoId}, search.state.kth_bound);
}

}  // namespace culmen::gpu::ladder
