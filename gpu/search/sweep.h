// The sweep: one pass over the table for all queries of a batch that hardly prune, instead of a walk for each.
//
// A walk that has visited many blocks hands its query over, with the k-th best score so far. The sweep's bounds are of
// blocks first, then of single rows, in half precision and by tensor cores; the few rows whose bound reaches the floor are
// scored as everywhere. A sample of the blocks comes first, so that floors are close before most are looked at.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gpu/cuda/limits.h"
#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/search_state.h"

namespace culmen::gpu {

// Nodes and leaves that a walk visits before it hands its query over: more in a larger table, whose sweep costs more, but
// not so many that a batch waits for the slowest.
inline constexpr std::uint32_t kLeastVisitsAlone = 256, kMostVisitsAlone = 1024;
inline std::uint32_t visits_alone(const MirrorRef& mirror) {
  return std::clamp(mirror.num_places * static_cast<std::uint32_t>(kFanOut) / 128, kLeastVisitsAlone,
                    kMostVisitsAlone);
}
inline bool is_worth_a_sweep(const MirrorRef& mirror) {
  return mirror.num_places * static_cast<std::uint32_t>(kFanOut) >= 4 * kLeastVisitsAlone;
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
  std::uint32_t padding;
  std::uint64_t leaves, rows, scored;  // the sweep's work
};

// By place in the order in which queries were handed over.
struct SweepRef {
  SweepQuery* queries;  // [most]
  SeedRow* found;       // [most][capacity] rows that reached the floor
  float* weights;       // [num_attributes][most], for values in units of bounds and scores in units of keys
  std::uint32_t most;   // 0: no sweep
  std::uint32_t capacity;
  std::uint32_t visits_alone;
};

// Each step of the sweep looks at 8 times as many blocks as all before it, and begins with k rows that it has found.
inline constexpr std::uint32_t kSweepGrowth = 8;
constexpr std::uint32_t sweep_capacity(std::size_t k) {
  return static_cast<std::uint32_t>(k + k / 2) * kSweepGrowth + 256;
}
inline std::size_t sweep_bytes_each(const MirrorRef& mirror, std::size_t k) {
  const std::size_t weights = (static_cast<std::size_t>(mirror.num_attributes) + 1) / 2 * 2 * sizeof(float);
  return sizeof(SweepQuery) + sweep_capacity(k) * sizeof(SeedRow) + weights;
}
// Of a batch's queries together.
inline constexpr std::size_t kMostSweepBytes = 64 << 20;

// A sweep for up to `most` queries in sweep_bytes_each() * most bytes, aligned to 8.
inline SweepRef make_sweep(const MirrorRef& mirror, std::byte* memory, std::size_t most, std::size_t k) {
  auto* queries = reinterpret_cast<SweepQuery*>(memory);
  auto* found = reinterpret_cast<SeedRow*>(queries + most);
  auto* weights = reinterpret_cast<float*>(found + most * sweep_capacity(k));
  return {queries, found, weights, static_cast<std::uint32_t>(most), sweep_capacity(k), visits_alone(mirror)};
}

// How many of a batch's queries may be handed over if they may take so many bytes.
inline std::size_t most_to_sweep(const MirrorRef& mirror, std::size_t num_queries, std::size_t k,
                                 std::size_t most_bytes = kMostSweepBytes) {
  if (!is_worth_a_sweep(mirror)) return 0;
  return std::min(num_queries, std::min(most_bytes, kMostSweepBytes) / sweep_bytes_each(mirror, k));
}

struct BatchRef;

// Behind the walks and before the answers are written (batch.cu). Throws CudaError.
template <typename T>
void launch_sweep(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream);

}  // namespace culmen::gpu
