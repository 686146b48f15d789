// What a batch's walks hand over: queries that have visited many blocks, each with the k-th best score so far as its floor.
//
// The frontier goes on with them: all warps share what is left of all the walks, so that none waits for the slowest.
//
// The sweep is for those that hardly prune: one pass over the table for all of them. Its bounds are of blocks first, then
// of single rows, in half precision and by tensor cores; the few rows whose bound reaches the floor are scored as
// everywhere. A sample of the blocks comes first, so that floors are close before most are looked at.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/cuda/limits.h"
#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/search_state.h"

namespace culmen::gpu {

// Nodes and leaves that a walk visits before it hands its query over.
inline constexpr std::uint32_t kVisitsAlone = 128;
inline bool is_worth_a_sweep(const MirrorRef& mirror) {
  return mirror.num_places * static_cast<std::uint32_t>(kFanOut) >= 4 * kVisitsAlone;
}
// What the frontier lists for a query costs less than its part of a sweep up to so much, and for all beyond that together
// less than a sweep of few.
inline std::uint32_t most_of_frontier(const MirrorRef& mirror) {
  return mirror.num_places / 4 + 32;
}
inline std::uint32_t most_beyond_it(const MirrorRef& mirror) {
  return mirror.num_places * 256;
}

// A query that was handed over.
struct SweepQuery {
  double floor;             // a score that k rows reach
  double base;              // its score of a row that is at each attribute's origin
  double slack;             // more than all that rounds there
  std::uint32_t query;      // in the batch
  std::uint32_t num_found;  // more than there is room for: rows were left out
  std::uint32_t num_kept;   // of the steps before: the first
  std::uint32_t is_behind;  // 1: the step is repeated for it
  std::uint32_t is_left;    // 1: to its walk
  std::uint32_t is_swept;   // 1: left to the sweep by the frontier
  std::uint32_t num_items;  // in the frontier's list
  std::uint32_t padding;
  std::uint64_t nodes, leaves, rows, scored;  // the work
};

// In the frontier's list: a node or leaf whose bound reaches the floor of the query at a place.
struct FrontierItem {
  std::uint32_t place, block;
  float bound;
};

// By place in the order in which queries were handed over.
struct SweepRef {
  SweepQuery* queries;   // [most]
  SeedRow* found;        // [most][capacity] rows that reached the floor
  float* weights;        // [num_attributes][most], for values in units of bounds and scores in units of keys
  FrontierItem* items;   // [most_items]
  std::uint32_t* swept;  // [most] places of those that are left to the sweep
  std::uint32_t most;    // 0: none is handed over
  std::uint32_t capacity;
  std::uint32_t most_items;
  std::uint32_t most_of_query, most_beyond;  // items
  std::uint32_t visits_alone;
};

// Each step of the sweep looks at 8 times as many blocks as all before it, and begins with k rows that it has found.
inline constexpr std::uint32_t kSweepGrowth = 8;
constexpr std::uint32_t sweep_capacity(std::size_t k) {
  return static_cast<std::uint32_t>(k + k / 2) * kSweepGrowth + 256;
}
// Of the frontier's list, a query's share.
inline constexpr std::uint32_t kItemsEach = 2048;
inline std::size_t sweep_bytes_each(const MirrorRef& mirror, std::size_t k) {
  const std::size_t words =
      static_cast<std::size_t>(mirror.num_attributes) + 1;  // weights, and among the swept
  return sizeof(SweepQuery) + sweep_capacity(k) * sizeof(SeedRow) + kItemsEach * sizeof(FrontierItem) +
         (words + 1) / 2 * 2 * sizeof(float);
}
// Of a batch's queries together.
inline constexpr std::size_t kMostSweepBytes = 256 << 20;

// A sweep for up to `most` queries in sweep_bytes_each() * most bytes, aligned to 8.
inline SweepRef make_sweep(const MirrorRef& mirror, std::byte* memory, std::size_t most, std::size_t k) {
  auto* queries = reinterpret_cast<SweepQuery*>(memory);
  auto* found = reinterpret_cast<SeedRow*>(queries + most);
  auto* items = reinterpret_cast<FrontierItem*>(found + most * sweep_capacity(k));
  auto* weights = reinterpret_cast<float*>(items + most * kItemsEach);
  auto* swept =
      reinterpret_cast<std::uint32_t*>(weights + most * static_cast<std::size_t>(mirror.num_attributes));
  return {queries,
          found,
          weights,
          items,
          swept,
          static_cast<std::uint32_t>(most),
          sweep_capacity(k),
          static_cast<std::uint32_t>(most) * kItemsEach,
          most_of_frontier(mirror),
          most_beyond_it(mirror),
          kVisitsAlone};
}

// How many of a batch's queries may be handed over if they may take so many bytes.
inline std::size_t most_to_sweep(const MirrorRef& mirror, std::size_t num_queries, std::size_t k,
                                 std::size_t most_bytes = kMostSweepBytes) {
  if (!is_worth_a_sweep(mirror)) return 0;
  return std::min(num_queries, std::min(most_bytes, kMostSweepBytes) / sweep_bytes_each(mirror, k));
}

struct BatchRef;

// Behind the walks and before the answers are written (batch.cu), the frontier first. Throw CudaError.
template <typename T>
void launch_frontier(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     cudaStream_t stream);
template <typename T>
void launch_sweep(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream);

}  // namespace culmen::gpu
