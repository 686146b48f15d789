// Launches the engines on the device. Each call enqueues one search on `stream` and does not wait.
//
//   mirror   of a snapshot with at least one row, of value type T
//   state    counters cleared; one search at a time
//   query    packed, of that snapshot
//   kind     of the query; gta takes none with functions
//   plan     for mirror.num_slots (gpu/search/grid_plan.h); state.outside has room for its num_bounds_outside()
//
// All find the same rows and score bits; the answer's form is in search_state.h. Throws CudaError; nothing is
// enqueued then.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/grid_plan.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/search_state.h"
#include "gpu/search/sweep.h"
#include "index/tree_height.h"

namespace culmen::gpu {

// Seeds of one search, at most.
constexpr std::size_t num_seeds(const cuda::Limits& limits) {
  return std::size_t{limits.num_multiprocessors} * kMaxSeeds;
}

// Best-first by rounds over the bounds of all level-1 nodes. Work: 2 bytes a node and weight step, then the
// nodes and leaves that reach the k-th score.
template <typename T>
void launch_bounded(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                    const GridPlan& plan, QueryKind kind, cudaStream_t stream);

// Every row.
template <typename T>
void launch_scan(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                 const GridPlan& plan, QueryKind kind, cudaStream_t stream);

// The paper's (GTA 2019, algorithms 2 and 3): each thread block reads partitions leaf by leaf until the threshold
// tuple's score falls below its k-th score. k <= kMaxSortedHits.
template <typename T>
void launch_gta(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                const cuda::Limits& limits, QueryKind kind, cudaStream_t stream);

// Thread blocks of launch_gta: each appends up to k candidates.
constexpr unsigned num_gta_blocks(const cuda::Limits& limits) {
  return limits.num_multiprocessors * 3;
}

// Counts the rows that pass state.kth_bound, and the query's filter: ResultHeader::num_candidates. Reads what is on both
// sides of that place: 2 bytes a node and weight step, then the nodes and leaves between whose bounds it is.
template <typename T>
void launch_count(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                  const cuda::Limits& limits, QueryKind kind, cudaStream_t stream);

// Counters of a batch; all are 0 before it.
struct BatchCounters {
  std::uint32_t next_query;       // to be walked
  std::uint32_t num_handed_over;  // counts also walks that found no room: may exceed SweepRef::most
  std::uint32_t num_swept;        // queries that the frontier has left to the sweep
  std::uint32_t frontier_barrier, sweep_barrier;  // one for each kernel
  std::uint32_t next_item[2];  // by parity of the frontier's step, which clears the other for the next
  std::uint32_t num_repeats;   // of steps, each counted once for each query that needs it
  std::uint32_t num_beyond;    // items of queries that have listed more than they may
  std::uint32_t num_items[kMaxLevels];  // of the frontier's list, by the level of the nodes expanded
};

// A batch: a warp for each query, depth first. Queries that visit many nodes and leaves are handed over to the
// frontier, and from there to the sweep if they prune too little.
struct BatchRef {
  const std::byte* queries;  // [num_queries] of query_stride bytes, each a packed query
  Candidate* hits;           // [num_queries][k]
  ResultHeader* results;     // [num_queries]; only num_hits and the work are set
  BatchCounters* counters;
  std::uint32_t num_queries;
  std::uint32_t query_stride;
  std::uint32_t k;  // <= kMaxSortedHits
  SweepRef sweep;
  QueryKind kind;  // what some query needs; with functions none is handed over, and sweep.most is 0
  // [num_queries] k-th score bounds that devices with other parts of the index share (share_bounds.h), in pinned memory;
  // null: the device has the whole index.
  double* shared_bounds;
};
template <typename T>
void launch_batch(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream);

}  // namespace culmen::gpu
