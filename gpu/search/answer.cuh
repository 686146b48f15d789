// The end of a search by the whole grid: the last thread block to finish sorts the candidates into the answer.
#pragma once

#include "gpu/search/candidates.cuh"
#include "gpu/search/sort.cuh"

namespace culmen::gpu {

static_assert(2 * kSearchThreads * sizeof(Candidate) + rank_bytes(kSearchThreads) <= kSortBytes);

// By whole warps: calls use(pass, rows, lane) with the first `count` candidates, kRows for each lane, and whether
// they pass the k-th score bound.
template <int kRows, typename Use>
__device__ void for_each_candidate(const SearchStateRef& state, std::uint64_t count, KthBound kth_bound,
                                   Use&& use) {
  const std::uint64_t step = std::uint64_t{kRows} * blockDim.x;
  for (std::uint64_t first = 0; first < count; first += step) {
    bool pass[kRows];
    Candidate rows[kRows];
#pragma unroll
    for (int j = 0; j < kRows; ++j) {
      const std::uint64_t i = first + j * blockDim.x + threadIdx.x;
      const Candidate* from = state.candidates + min(i, count - 1);
      rows[j] = {__ldcg(&from->score), __ldcg(&from->id), __ldcg(&from->row)};
      pass[j] = i < count && passes(rows[j].score, rows[j].id, kth_bound);
    }
    use(pass, rows, static_cast<int>(threadIdx.x) % kWarpSize);
  }
}

// Removes from the candidate list what does not pass the k-th score bound. Returns how many remain.
__device__ inline std::uint64_t compact(const SearchStateRef& state, std::uint64_t count, KthBound kth_bound,
                                        BlockShared& shared) {
  __syncthreads();
  if (threadIdx.x == 0) shared.num_kept = 0;
  const CandidateList<unsigned long long> kept = {state.candidates, &shared.num_kept, state.capacity};
  for_each_candidate<4>(state, count, kth_bound, [&](auto& pass, const auto& rows, int lane) {
    __syncthreads();  // all have read what is written over now
    append(kept, pass, rows, lane);
  });
  __syncthreads();
  return shared.num_kept;
}

// Loads the candidates that pass the k-th score bound into `items`, up to kSortCapacity. Returns how many pass.
__device__ inline std::uint32_t load_candidates(const SearchStateRef& state, std::uint64_t count,
                                                KthBound kth_bound, BlockShared& shared, Candidate* items) {
  __syncthreads();
  if (threadIdx.x == 0) shared.num_found = 0;
  __syncthreads();
  const CandidateList<std::uint32_t> list = {items, &shared.num_found, kSortCapacity};
  for_each_candidate<2>(state, count, kth_bound,
                        [&](auto& pass, const auto& rows, int lane) { append(list, pass, rows, lane); });
  __syncthreads();
  return shared.num_found;
}

// The k-th score bound that the candidates give; `count` becomes how many remain in the list. At most kSortCapacity
// of them pass, unless ids repeat.
__device__ inline KthBound last_kth_bound(const SearchStateRef& state, std::uint64_t& count,
                                          const KeyScale& scale, BlockShared& shared, Candidate* items) {
  constexpr std::uint32_t kMaxKeys = kSortBytes / sizeof(std::uint32_t);
  // Few more than k keys pass a k-th score bound, so that of kMaxKeys at least half drop out.
  static_assert(kMaxSortedHits + kMaxTies <= kMaxKeys / 2 && kMaxSortedHits + kMaxTies <= kSortCapacity);
  KthBound kth_bound = {-infinity(), kNoId};
  while (count > max(blockDim.x, state.k + state.k / 2)) {  // sorting fewer costs less than selecting
    const auto looked_at = static_cast<std::uint32_t>(min(count, std::uint64_t{kMaxKeys}));
    kth_bound = kth_bound_of_candidates(state, kth_bound, looked_at, scale,
                                        reinterpret_cast<std::uint32_t*>(items), shared.select);
    if (count == looked_at) break;
    const std::uint64_t kept = compact(state, count, kth_bound, shared);
    const bool ids_repeat = count - kept < kMaxKeys / 2;
    count = kept;
    if (ids_repeat) break;  // so the loop ends: otherwise the list has become shorter
  }
  return kth_bound;
}

// Writes the answer; `items` has room for kSortCapacity. Returns false if too many rows share a score and an id: the
// k best are then among the first `count` candidates.
__device__ inline bool write_answer(const SearchStateRef& state, std::uint64_t& count, const KeyScale& scale,
                                    BlockShared& shared, Candidate* items) {
  const KthBound kth_bound = last_kth_bound(state, count, scale, shared, items);
  const std::uint32_t num_loaded = load_candidates(state, count, kth_bound, shared, items);
  if (num_loaded > kSortCapacity) return false;
  const Candidate* sorted = items;
  if (num_loaded <= blockDim.x) {
    Candidate* into = items + blockDim.x;
    sort_by_rank(items, num_loaded, reinterpret_cast<std::byte*>(into + blockDim.x), into);
    sorted = into;
    __syncthreads();
  } else {
    const std::uint32_t padded = next_power_of_two(num_loaded);
    for (std::uint32_t i = num_loaded + threadIdx.x; i < padded; i += blockDim.x) items[i] = no_candidate();
    sort_candidates(items, padded, threadIdx.x, blockDim.x, [] { __syncthreads(); });
  }
  // Word by word, so that writes over the bus coalesce.
  const std::uint32_t words = min(num_loaded, state.k) * (sizeof(Candidate) / sizeof(std::uint64_t));
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x)
    reinterpret_cast<std::uint64_t*>(state.hits)[i] = reinterpret_cast<const std::uint64_t*>(sorted)[i];
  return true;
}

// Adds the block's counters to those of the grid. Returns true in the last block.
__device__ inline bool is_last_block(Counters& counters, BlockShared& shared) {
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&counters.leaves_visited), shared.leaves_visited);
    atomicAdd(reinterpret_cast<unsigned long long*>(&counters.nodes_visited), shared.nodes_visited);
    atomicAdd(reinterpret_cast<unsigned long long*>(&counters.rows_scored), shared.rows_scored);
    if (shared.rows_by_codes > 0)
      atomicAdd(reinterpret_cast<unsigned long long*>(&counters.rows_by_codes), shared.rows_by_codes);
    ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> done(counters.blocks_done);
    shared.is_last = done.fetch_add(1, ::cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  return shared.is_last;
}

// By one thread, once the result is written: clears the counters for the next search, and tells the host.
__device__ inline void hand_out(const SearchStateRef& state) {
  *state.counters = {};
  __threadfence_system();  // also orders the hits, which other threads wrote before the barrier
  *const_cast<volatile std::uint64_t*>(&state.result->sequence) = state.sequence;
}

// The end of a search: the last block writes the answer, and clears the counters for the next search. `items`:
// kSortCapacity in shared memory.
__device__ inline void finish(const SearchStateRef& state, const KeyScale& scale, BlockShared& shared,
                              Candidate* items) {
  Counters& counters = *state.counters;
  if (!is_last_block(counters, shared)) return;
  std::uint64_t count = __ldcg(&counters.num_candidates);
  // Loaded before the answer is sorted, to hide the latency.
  const std::uint64_t leaves_visited = __ldcg(&counters.leaves_visited);
  const std::uint64_t nodes_visited = __ldcg(&counters.nodes_visited);
  const std::uint64_t rows_scored = __ldcg(&counters.rows_scored);
  const std::uint64_t rows_by_codes = __ldcg(&counters.rows_by_codes);
  Outcome outcome = Outcome::overflow;
  if (count <= state.capacity) {
    const bool is_sorted = state.k <= kMaxSortedHits && write_answer(state, count, scale, shared, items);
    outcome = is_sorted ? Outcome::sorted : Outcome::unsorted;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ResultHeader& result = *state.result;
    result.outcome = outcome;
    result.num_hits = static_cast<std::uint32_t>(count < state.k ? count : state.k);
    result.num_candidates = count;
    result.leaves_visited = leaves_visited;
    result.nodes_visited = nodes_visited;
    result.rows_scored = rows_scored;
    result.rows_by_bounds = rows_by_codes;
    hand_out(state);
  }
}

}  // namespace culmen::gpu
