// The plain steps of rungs 1 and 2: bounds compared as binary64 numbers, rows listed one per lane at a time, and an
// answer by bitonic sort with two fences.
#pragma once

#include "bench/ladder/bounded/one_launch.cuh"

namespace culmen::gpu::ladder {

// The lowest lane with the warp's largest value, which replaces `value`: 5 shuffles of 64 bits.
__device__ inline int plain_argmax(double& value) {
  const double mine = value;
  value = warp_max(value);
  return __ffs(static_cast<int>(__ballot_sync(kFullWarp, mine == value))) - 1;
}

// The child of a rank in the order of the bounds; -1 if it does not exist. Each lane looks at all others.
__device__ inline int plain_child_of_rank(double bound, int rank, int lane) {
  int mine = 0;
  for (int other = 0; other < kWarpSize; ++other) {
    const double theirs = __shfl_sync(kFullWarp, bound, other);
    mine += theirs > bound || (theirs == bound && other < lane) ? 1 : 0;
  }
  return __ffs(static_cast<int>(__ballot_sync(kFullWarp, mine == rank && bound != -infinity()))) - 1;
}

__device__ inline std::uint32_t plain_leaf_to_sample(const Search& search) {
  const Team& team = search.team;
  double best = -infinity();
  std::uint32_t cell = team.cell(0);
  for (std::uint32_t share = 0; share < team.shares.groups_each; ++share)
    if (team.bound(team.cell(share)) > best) {
      cell = team.cell(share);
      best = team.bound(cell);
    }
  cell = __shfl_sync(kFullWarp, cell, plain_argmax(best));
  if (best == -infinity()) return kNoNode;
  const Child child = child_of<QueryKind::plain>(search.mirror, search.query, team.node(cell), team.lane);
  const int lane = plain_child_of_rank(child.bound, team.warp, team.lane);
  return lane < 0 ? kNoNode : __shfl_sync(kFullWarp, child.leaf, lane);
}

// Straight to the list of all blocks, with an atomic for each of a lane's rows.
class RowByRow {
 public:
  __device__ RowByRow(const SearchStateRef& state, const KeyScale&, KthBound kth_bound, BlockShared&,
                      Candidate*, std::uint32_t)
      : state_(state), kth_bound_(kth_bound) {}

  __device__ KthBound kth_bound() const { return kth_bound_; }
  __device__ void append(bool (&pass)[kRowsPerLane], const Candidate (&rows)[kRowsPerLane], int lane) {
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      bool one_passes[] = {pass[j]};
      const Candidate one[] = {rows[j]};
      gpu::append(candidates_of_all(state_), one_passes, one, lane);
    }
  }
  __device__ void make_room() {}
  __device__ void flush() {}

 private:
  const SearchStateRef& state_;
  KthBound kth_bound_;
};

// Sorts the candidates that can be in the answer into `items`, if they fit. kth_bound_of(count) is a k-th score bound
// that they give, by way of the same memory.
template <typename KthBoundOf>
__device__ Outcome plain_sort(const Search& search, std::uint64_t count, Candidate* items,
                              KthBoundOf&& kth_bound_of) {
  constexpr std::uint32_t kSortedAtOnce = 256;
  KthBound kth_bound = {-infinity(), kNoId};
  if (count > max(kSortedAtOnce, 2 * search.state.k)) kth_bound = kth_bound_of(count);
  const std::uint32_t num_loaded =
      min(load_candidates(search.state, count, kth_bound, search.shared, items), kSortCapacity);
  if (search.shared.num_found > kSortCapacity) return Outcome::unsorted;
  const std::uint32_t padded = next_power_of_two(num_loaded);
  for (std::uint32_t i = num_loaded + threadIdx.x; i < padded; i += blockDim.x) items[i] = no_candidate();
  sort_candidates(items, padded, threadIdx.x, blockDim.x, [] { __syncthreads(); });
  return Outcome::sorted;
}

template <typename KthBoundOf>
__device__ void plain_finish(const Search& search, Candidate* items, KthBoundOf&& kth_bound_of) {
  if (!is_last_block(*search.state.counters, search.shared)) return;
  const SearchStateRef& state = search.state;
  Counters& counters = *state.counters;
  const std::uint64_t count = __ldcg(&counters.num_candidates);
  const Outcome outcome =
      count <= state.capacity ? plain_sort(search, count, items, kth_bound_of) : Outcome::overflow;
  const auto num_hits = static_cast<std::uint32_t>(count < state.k ? count : state.k);
  if (outcome == Outcome::sorted)
    for (std::uint32_t i = threadIdx.x; i < num_hits; i += blockDim.x) state.hits[i] = items[i];
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x == 0) {
    ResultHeader& result = *state.result;
    result.outcome = outcome;
    result.num_hits = num_hits;
    result.num_candidates = count;
    result.leaves_visited = __ldcg(&counters.leaves_visited);
    result.nodes_visited = __ldcg(&counters.nodes_visited);
    result.rows_scored = __ldcg(&counters.rows_scored);
    counters = {};
    __threadfence_system();
    *const_cast<volatile std::uint64_t*>(&result.sequence) = state.sequence;
  }
}

}  // namespace culmen::gpu::ladder
