// The first steps that searches by the whole grid share: the query in shared memory, a barrier, and a sample
// that gives the first floor.
#pragma once

#include <cuda/atomic>

#include "query/gpu/engines.h"
#include "query/gpu/kth_floor.cuh"

namespace culmen::gpu {

inline constexpr int kSearchThreads = 512;
inline constexpr int kSearchWarps = kSearchThreads / kWarpSize;
inline constexpr std::uint32_t kMaxWarpKeys = 8;

// What a thread block keeps in static shared memory.
struct BlockShared {
  alignas(8) std::byte query[kMaxPackedBytes];
  SelectScratch select;
  std::uint32_t keys[kSearchWarps * kMaxWarpKeys];
  PublishedRow rows[kSearchWarps * kMaxWarpKeys];
  unsigned long long leaves_visited, nodes_visited, tuples_scored;
  std::uint32_t num_found;      // rows in a list in shared memory
  unsigned long long num_kept;  // candidates, when there are too many
  bool is_last;
};

// Copies the query to shared memory and clears the block's counters. A barrier before the first use.
template <typename Argument>
__device__ QueryRef take_query(const Argument& argument, BlockShared& shared) {
  const std::byte* bytes = argument.bytes();
  const PackedHeader& header = QueryRef{bytes}.header();
  const std::size_t words =
      packed_bytes(header.num_terms, header.num_bound_terms, header.num_ranges) / sizeof(std::uint64_t);
  const auto* from = reinterpret_cast<const std::uint64_t*>(bytes);
  auto* to = reinterpret_cast<std::uint64_t*>(shared.query);
  for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
  if (threadIdx.x == 0) {
    shared.leaves_visited = shared.nodes_visited = shared.tuples_scored = 0;
    shared.num_found = 0;
  }
  __syncthreads();
  return {shared.query};
}

// A barrier for all blocks of the grid, which must be resident together; `nth` counts the barriers of a
// search from
// 1. What was written before arrive() is seen by all behind wait(). Both by all threads.
class GridBarrier {
 public:
  __device__ GridBarrier(Counters& counters, std::uint32_t nth)
      : arrived_(counters.barrier), all_(nth * gridDim.x) {}

  __device__ void arrive() {
    __syncthreads();
    if (threadIdx.x == 0) arrived_.fetch_add(1, ::cuda::memory_order_acq_rel);
  }
  __device__ void wait() {
    if (threadIdx.x == 0)
      while (arrived_.load(::cuda::memory_order_acquire) < all_) {
      }
    __syncthreads();
  }

 private:
  ::cuda::atomic_ref<std::uint32_t, ::cuda::thread_scope_device> arrived_;
  std::uint32_t all_;
};

__device__ inline void grid_barrier(Counters& counters, std::uint32_t nth) {
  GridBarrier barrier(counters, nth);
  barrier.arrive();
  barrier.wait();
}

struct SampledRow {
  std::uint32_t key = KeyScale::kNone;
  PublishedRow row = {};
};

// The lane's two best rows so far.
struct TwoBest {
  SampledRow first, second;

  __device__ void offer(const SampledRow& row) {
    if (row.key > first.key) {
      second = first;
      first = row;
    } else if (row.key > second.key) {
      second = row;
    }
  }
};

// How many of its best keys a block publishes, and at most how many of each warp's: enough that the k-th best
// of all that is published is close to the k-th best of all that was scored.
struct PublishShape {
  std::uint32_t each, of_a_warp;
};
__device__ inline PublishShape publish_shape(std::uint32_t k) {
  if (k <= 32) return {8, 4};
  if (k <= 256) return {16, 4};
  return {kMaxPublished, kMaxWarpKeys};
}

// Publishes the block's best rows.
__device__ inline void publish(const SearchStateRef& state, BlockShared& shared, TwoBest best, int lane) {
  const PublishShape shape = publish_shape(state.k);
  const std::uint32_t warp = threadIdx.x / kWarpSize;
  for (std::uint32_t i = 0; i < shape.of_a_warp; ++i) {
    std::uint32_t top = best.first.key;
    if (lane == __ffs(static_cast<int>(warp_argmax(top))) - 1) {
      // Of equal keys the first of each warp comes first.
      shared.keys[i * kSearchWarps + warp] = top;
      shared.rows[i * kSearchWarps + warp] = best.first.row;
      best = {best.second, {}};
    }
  }
  __syncthreads();
  const std::uint32_t count = kSearchWarps * shape.of_a_warp;
  if (threadIdx.x >= count) return;
  const std::uint32_t key = shared.keys[threadIdx.x];
  std::uint32_t rank = 0;
#pragma unroll 16
  for (std::uint32_t i = 0; i < count; ++i)
    rank += shared.keys[i] > key || (shared.keys[i] == key && i < threadIdx.x) ? 1 : 0;
  if (rank >= shape.each) return;
  state.published_keys[blockIdx.x * shape.each + rank] = key;
  state.published_rows[blockIdx.x * shape.each + rank] = shared.rows[threadIdx.x];
}

// The floor that the published rows give, for all threads of the block. Behind a grid barrier.
// Shared memory: `keys` takes those of all that was published.
__device__ inline Floor floor_of_published(const MirrorRef& mirror, const SearchStateRef& state,
                                           const KeyScale& scale, BlockShared& shared, std::uint32_t* keys) {
  const std::uint32_t count = gridDim.x * publish_shape(state.k).each;
#pragma unroll 8
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) keys[i] = __ldcg(state.published_keys + i);
  __syncthreads();
  return kth_floor(
      state.floor, keys, count, state.k, scale,
      [&](std::uint32_t i) { return __ldcg(&state.published_rows[i].score); },
      [&](std::uint32_t i) { return __ldg(mirror.ids + __ldcg(&state.published_rows[i].row)); },
      shared.select);
}

// Offers the rows of a leaf that reach the floor.
template <typename T, int kLoads>
__device__ TwoBest sample_leaf(const MirrorRef& mirror, QueryRef query, const KeyScale& scale, Floor floor,
                               std::uint32_t leaf, int lane) {
  TwoBest best;
  const std::uint64_t first_row = mirror.first_row(leaf);
  score_leaf<T, kLoads>(mirror, query, leaf, lane, [&](const ScoredRows& rows) {
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j)
      if (rows.valid[j] && rows.score[j] >= floor.score)
        best.offer({scale.key(rows.score[j]), {rows.score[j], first_row + rows.slot[j]}});
  });
  return best;
}

}  // namespace culmen::gpu
