// The steps that searches by the whole grid share: the query in shared memory, a barrier, a sample that gives
// the first floor, the candidate list, and the end.
#pragma once

#include <cuda/atomic>

#include "query/gpu/engines.h"
#include "query/gpu/select.cuh"

namespace culmen::gpu {

inline constexpr int kSearchThreads = 512;
inline constexpr int kSearchWarps = kSearchThreads / kWarpSize;
inline constexpr std::uint32_t kMaxWarpKeys = 8;
inline constexpr std::uint32_t kSortCapacity = 2 * kMaxSortedHits;
inline constexpr std::size_t kSortBytes = kSortCapacity * sizeof(Candidate);
inline constexpr std::uint32_t kStagedKeys = kSortBytes / sizeof(std::uint32_t);

// What a thread block keeps in static shared memory.
struct BlockShared {
  alignas(8) std::byte query[kMaxPackedBytes];
  SelectScratch select;
  std::uint32_t keys[kSearchWarps * kMaxWarpKeys];
  unsigned long long leaves_visited, nodes_visited, tuples_scored;
  std::uint32_t num_loaded;
  bool is_last;
};

// Copies the query to shared memory and clears the block's counters. A barrier before the first use.
__device__ inline QueryRef take_query(const QueryArgument& argument, BlockShared& shared) {
  const std::byte* bytes = argument.bytes();
  const PackedHeader& header = QueryRef{bytes}.header();
  const std::size_t words =
      packed_bytes(header.num_terms, header.num_bound_terms, header.num_ranges) / sizeof(std::uint64_t);
  const auto* from = reinterpret_cast<const std::uint64_t*>(bytes);
  auto* to = reinterpret_cast<std::uint64_t*>(shared.query);
  for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
  if (threadIdx.x == 0) shared.leaves_visited = shared.nodes_visited = shared.tuples_scored = 0;
  __syncthreads();
  return {shared.query};
}

// All blocks of the grid, which must be resident together; `nth` counts the barriers of a search from 1. What
// was written before is seen by all behind it.
__device__ inline void grid_barrier(Counters& counters, std::uint32_t nth) {
  __syncthreads();
  if (threadIdx.x == 0) {
    ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> arrived(counters.barrier);
    arrived.fetch_add(1, ::cuda::memory_order_acq_rel);
    while (arrived.load(::cuda::memory_order_acquire) < nth * gridDim.x) {
    }
  }
  __syncthreads();
}

// The lane's two best keys so far.
struct TwoBest {
  std::uint32_t first = KeyScale::kNone, second = KeyScale::kNone;

  __device__ void offer(std::uint32_t key) {
    second = max(second, min(first, key));
    first = max(first, key);
  }
};

// How many of its best keys a block publishes, and at most how many of each warp's: enough that the k-th best
// of all that is published is close to the k-th best of all that was scored.
struct PublishShape {
  std::uint32_t each, of_a_warp;
};
__device__ inline PublishShape publish_shape(std::uint32_t k) {
  if (k <= 32) return {8, 4};
  if (k <= 256) return {32, 4};
  return {kMaxPublished, kMaxWarpKeys};
}

// Publishes the block's best keys.
__device__ inline void publish(const SearchStateRef& state, BlockShared& shared, TwoBest best, int lane) {
  const PublishShape shape = publish_shape(state.k);
  const std::uint32_t warp = threadIdx.x / kWarpSize;
  for (std::uint32_t i = 0; i < shape.of_a_warp; ++i) {
    std::uint32_t top = best.first;
    if (lane == warp_argmax(top)) {
      shared.keys[warp * shape.of_a_warp + i] = top;
      best = {best.second, KeyScale::kNone};
    }
  }
  __syncthreads();
  const std::uint32_t count = kSearchWarps * shape.of_a_warp;
  if (threadIdx.x >= count) return;
  const std::uint32_t key = shared.keys[threadIdx.x];
  std::uint32_t rank = 0;
#pragma unroll 4
  for (std::uint32_t i = 0; i < count; ++i)
    rank += shared.keys[i] > key || (shared.keys[i] == key && i < threadIdx.x) ? 1 : 0;
  if (rank < shape.each) state.published[blockIdx.x * shape.each + rank] = key;
}

// `floor`, or the score that the key stands for if that is higher. Rows that tie with it pass, whatever their
// id.
__device__ inline Floor raised(Floor floor, std::uint32_t key, const KeyScale& scale) {
  const double score = scale.score_of(key);
  return score > floor.score ? Floor{score, kNoId} : floor;
}

// The floor that the published keys give, for all threads of the block. Behind a grid barrier.
// Shared memory: `staging` takes all that was published.
__device__ inline Floor floor_of_published(const SearchStateRef& state, const KeyScale& scale,
                                           BlockShared& shared, std::uint32_t* staging) {
  const std::uint32_t count = gridDim.x * publish_shape(state.k).each;
#pragma unroll 8
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) staging[i] = __ldcg(state.published + i);
  __syncthreads();
  return raised(state.floor,
                kth_key([&](std::uint64_t i) { return staging[i]; }, count, state.k, shared.select), scale);
}

// The floor that the first `count` candidates give: of as many of them as `staging`, in shared memory, takes.
__device__ inline Floor floor_of_candidates(const SearchStateRef& state, Floor floor, std::uint64_t count,
                                            const KeyScale& scale, BlockShared& shared,
                                            std::uint32_t* staging) {
  const auto looked_at = static_cast<std::uint32_t>(count < kStagedKeys ? count : kStagedKeys);
#pragma unroll 4
  for (std::uint32_t i = threadIdx.x; i < looked_at; i += blockDim.x)
    staging[i] = scale.key(__ldcg(&state.candidates[i].score));
  __syncthreads();
  return raised(
      floor, kth_key([&](std::uint64_t i) { return staging[i]; }, looked_at, state.k, shared.select), scale);
}

// Appends the lanes' rows that pass, kRows a lane, to the candidate list; beyond its capacity they are only
// counted.
template <int kRows>
__device__ void append(const SearchStateRef& state, const bool (&pass)[kRows], const Candidate (&rows)[kRows],
                       int lane) {
  unsigned passing[kRows];
  int total = 0;
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    passing[j] = __ballot_sync(kFullWarp, pass[j]);
    total += __popc(passing[j]);
  }
  if (total == 0) return;
  unsigned long long place = 0;
  if (lane == 0)
    place = atomicAdd(reinterpret_cast<unsigned long long*>(&state.counters->num_candidates),
                      static_cast<unsigned long long>(total));
  place = __shfl_sync(kFullWarp, place, 0);
#pragma unroll
  for (int j = 0; j < kRows; ++j) {
    const std::uint64_t mine = place + static_cast<unsigned>(__popc(passing[j] & ((1u << lane) - 1)));
    if (pass[j] && mine < state.capacity) state.candidates[mine] = rows[j];
    place += static_cast<unsigned>(__popc(passing[j]));
  }
}

// Scores a leaf and appends what passes the floor.
template <typename T, int kLoads>
__device__ void visit_leaf(const MirrorRef& mirror, QueryRef query, const SearchStateRef& state, Floor floor,
                           std::uint32_t leaf, int lane, BlockShared& shared) {
  const std::uint64_t first_row = mirror.first_row(leaf);
  const std::uint32_t num_rows = score_leaf<T, kLoads>(mirror, query, leaf, lane, [&](ScoredRows& rows) {
    std::int64_t ids[kRowsPerLane];
    keep_passing(mirror, leaf, floor, rows, ids);
    Candidate found[kRowsPerLane];
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) found[j] = {rows.score[j], ids[j], first_row + rows.slot[j]};
    append(state, rows.valid, found, lane);
  });
  if (lane == 0) {
    atomicAdd(&shared.leaves_visited, 1ull);
    atomicAdd(&shared.tuples_scored, static_cast<unsigned long long>(num_rows));
  }
}

// Offers the rows of a leaf that reach the floor.
template <typename T, int kLoads>
__device__ TwoBest sample_leaf(const MirrorRef& mirror, QueryRef query, const KeyScale& scale, Floor floor,
                               std::uint32_t leaf, int lane) {
  TwoBest best;
  score_leaf<T, kLoads>(mirror, query, leaf, lane, [&](const ScoredRows& rows) {
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j)
      if (rows.valid[j] && rows.score[j] >= floor.score) best.offer(scale.key(rows.score[j]));
  });
  return best;
}

// Loads the candidates that reach `floor` into `items`; how many there are, more than kSortCapacity if they
// do not fit.
__device__ inline std::uint32_t load_candidates(const SearchStateRef& state, std::uint64_t count, Floor floor,
                                                BlockShared& shared, Candidate* items) {
  __syncthreads();
  if (threadIdx.x == 0) shared.num_loaded = 0;
  __syncthreads();
#pragma unroll 2
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const Candidate candidate = {__ldcg(&state.candidates[i].score), __ldcg(&state.candidates[i].id),
                                 __ldcg(&state.candidates[i].row)};
    if (candidate.score < floor.score) continue;
    const std::uint32_t place = atomicAdd(&shared.num_loaded, 1u);
    if (place < kSortCapacity) items[place] = candidate;
  }
  __syncthreads();
  return shared.num_loaded;
}

// The floor that all candidates give.
__device__ inline Floor last_floor(const SearchStateRef& state, std::uint64_t count, const KeyScale& scale,
                                   BlockShared& shared, std::uint32_t* staging) {
  const Floor none = {-infinity(), kNoId};
  if (count <= kStagedKeys) return floor_of_candidates(state, none, count, scale, shared, staging);
  const auto key_at = [&](std::uint64_t i) { return scale.key(__ldcg(&state.candidates[i].score)); };
  return raised(none, kth_key(key_at, count, state.k, shared.select), scale);
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

// Writes the answer, for which `items` is room in shared memory; false if too many candidates tie, or are too
// close, to be sorted here.
__device__ inline bool write_answer(const SearchStateRef& state, std::uint64_t count, const KeyScale& scale,
                                    BlockShared& shared, Candidate* items) {
  // Sorting more costs more than choosing what is worth it.
  constexpr std::uint32_t kSortedAtOnce = 128;
  constexpr std::uint32_t kRanked = kSortCapacity / 4;
  Floor floor = {-infinity(), kNoId};
  if (count > max(kSortedAtOnce, state.k + state.k / 2))
    floor = last_floor(state, count, scale, shared, reinterpret_cast<std::uint32_t*>(items));
  const std::uint32_t num_loaded = load_candidates(state, count, floor, shared, items);
  if (num_loaded > kSortCapacity) return false;
  const Candidate* sorted = items;
  if (num_loaded <= kRanked) {
    sort_by_rank(items, num_loaded, reinterpret_cast<double*>(items + kRanked), items + 2 * kRanked);
    sorted = items + 2 * kRanked;
    __syncthreads();
  } else {
    const std::uint32_t padded = next_power_of_two(num_loaded);
    for (std::uint32_t i = num_loaded + threadIdx.x; i < padded; i += blockDim.x) items[i] = no_candidate();
    sort_candidates(items, padded, threadIdx.x, blockDim.x, [] { __syncthreads(); });
  }
  // Word by word, so that neighbouring threads write neighbouring words: the bus likes that.
  const std::uint32_t words = min(num_loaded, state.k) * (sizeof(Candidate) / sizeof(std::uint64_t));
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x)
    reinterpret_cast<std::uint64_t*>(state.hits)[i] = reinterpret_cast<const std::uint64_t*>(sorted)[i];
  return true;
}

// The end of a search: each block adds its counters, and the last to come here makes the answer, for which
// `items` of kSortCapacity in shared memory are needed, and clears what the next search expects cleared.
__device__ inline void finish(const SearchStateRef& state, const KeyScale& scale, BlockShared& shared,
                              Candidate* items) {
  Counters& counters = *state.counters;
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(reinterpret_cast<unsigned long long*>(&counters.leaves_visited), shared.leaves_visited);
    atomicAdd(reinterpret_cast<unsigned long long*>(&counters.nodes_visited), shared.nodes_visited);
    atomicAdd(reinterpret_cast<unsigned long long*>(&counters.tuples_scored), shared.tuples_scored);
    ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> done(counters.blocks_done);
    shared.is_last = done.fetch_add(1, ::cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!shared.is_last) return;

  const std::uint64_t count = __ldcg(&counters.num_candidates);
  // Asked for now, written when the answer is.
  const std::uint64_t leaves_visited = __ldcg(&counters.leaves_visited);
  const std::uint64_t nodes_visited = __ldcg(&counters.nodes_visited);
  const std::uint64_t tuples_scored = __ldcg(&counters.tuples_scored);
  Outcome outcome = Outcome::overflow;
  if (count <= state.capacity)
    outcome = state.k <= kMaxSortedHits && write_answer(state, count, scale, shared, items)
                  ? Outcome::sorted
                  : Outcome::unsorted;
  __syncthreads();
  if (threadIdx.x == 0) {
    ResultHeader& result = *state.result;
    result.outcome = outcome;
    result.num_hits = static_cast<std::uint32_t>(count < state.k ? count : state.k);
    result.num_candidates = count;
    result.leaves_visited = leaves_visited;
    result.nodes_visited = nodes_visited;
    result.tuples_scored = tuples_scored;
    counters = {};
    __threadfence_system();  // also for the hits, which the barrier has put before it
    *const_cast<volatile std::uint64_t*>(&result.sequence) = state.sequence;
  }
}

}  // namespace culmen::gpu
