// The frontier and the sweep answer the queries of a batch whose walks have visited many nodes and leaves. Such a
// walk hands its query over with the k-th best score so far as its k-th score bound.
//
// The frontier takes all of these queries down the tree, one level at a time. All warps share the work, so no query
// waits for the slowest walk.
//
// The sweep is for queries that hardly prune: one pass over the table for all of them. It bounds leaves first and
// then single rows, in half precision on tensor cores, and scores the few rows whose bound reaches the k-th score
// bound. It begins with a sample of the leaves, so that k-th score bounds are tight before it reaches most of the
// table.
//
// Tables of many attributes have a faster pass than the sweep (products.cuh), with which batches to wide tables begin.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "gpu/cuda/limits.h"
#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/search_state.h"

namespace culmen::gpu {

// Nodes and leaves that a walk visits before it hands its query over. With fewer, queries that prune descend twice;
// with more, a batch waits for slow walks (docs/decisions/0021-sweeps.md).
inline constexpr std::uint32_t kVisitsAlone = 64;
// Tables of so many attributes that they have products are seldom walked to the end.
inline constexpr std::uint32_t kVisitsBeforeProducts = 32;
// The table has rows in half precision: instead of the sweep there is a product of matrices (products.cuh).
CULMEN_HOST_DEVICE inline bool has_products(const MirrorRef& mirror) {
  return mirror.half.rows != nullptr;
}
// It is wide, so that walks and the frontier hardly prune and are left out.
CULMEN_HOST_DEVICE inline bool begins_with_products(const MirrorRef& mirror) {
  return has_products(mirror) && mirror.num_attributes > kMaxGroupedAttributes;
}
inline bool is_worth_a_sweep(const MirrorRef& mirror) {
  if (mirror.num_attributes > kMaxGroupedAttributes) return has_products(mirror);
  return mirror.num_slots * static_cast<std::uint32_t>(kFanOut) >= 8 * kVisitsAlone;
}
// Items that the frontier lists for a query before it may leave it to the sweep: 1/128 of the leaves, which cost less
// than the query's part of a sweep, and one node's children. Nodes foretell the leaves below them; once leaves are listed,
// the sweep has to be worth more than what they still cost: 1/32, about the query's part of a sweep.
inline std::uint32_t most_of_frontier(const MirrorRef& mirror) {
  return mirror.num_slots / 4 + 32;
}
inline std::uint32_t most_with_leaves(const MirrorRef& mirror) {
  return has_products(mirror) ? most_of_frontier(mirror) : mirror.num_slots + 32;
}
// Items that all such queries list together, before the sweep takes them: 8 for each leaf. A sweep for few queries
// costs no less.
inline std::uint32_t most_beyond_it(const MirrorRef& mirror) {
  return mirror.num_slots * 256;
}

// A query that was handed over.
struct SweepQuery {
  double kth_bound;         // a score that k rows reach, or the query's min_score
  double base;              // its score of a row that is at each attribute's origin
  double error_bound;       // more than base and the query's scores can be off by
  double slack;             // by how much more the scores of rows found may be than they say (products)
  std::uint32_t query;      // in the batch
  std::uint32_t num_found;  // rows; those beyond SweepRef::capacity were not stored
  std::uint32_t num_kept;   // the first of them, found in earlier steps
  std::uint32_t is_behind;  // 1: the step is repeated for it
  std::uint32_t is_left;    // 1: returns to its walk
  std::uint32_t is_swept;   // 1: left to the sweep by the frontier
  std::uint32_t num_items;  // that the frontier has listed for it
  std::uint32_t padding;
  std::uint64_t nodes, leaves, rows, scored;  // the work
};

// An item of the frontier's list: a node or leaf whose bound reached the k-th score bound of the query of an entry.
struct FrontierItem {
  std::uint32_t entry, block;
  float bound;
};

// A query in products: its weights are binary16 numbers, in units of bounds and of `factor`, a power of two.
struct HalfQuery {
  double factor;
  float norm, loss;  // the length of these numbers, and of what they lost by rounding
  float length;      // of the weights in the largest unit
  float padding;
};

// Memory and limits of a batch's frontier and sweep. A query's entry is its number in the order of handing over.
struct SweepRef {
  SweepQuery* queries;   // [most]
  SeedRow* found;        // [most][capacity] rows that reached the k-th score bound
  float* weights;        // [num_attributes][most], for values in units of bounds and scores in units of keys
  FrontierItem* items;   // [most_items]
  std::uint32_t* swept;  // [most] entries of those that are left to the sweep
  // For products, instead of `weights`. If the batch begins with them, there are no items and no `swept` either: all that
  // is handed over is swept.
  Half* half_weights;       // [most][MirrorRef::half.stride]
  HalfQuery* half_queries;  // [most]
  std::uint32_t most;       // queries; 0: none is handed over
  std::uint32_t capacity;
  std::uint32_t most_items;        // at least `most`: the list begins with a root for each query
  std::uint32_t most_of_query;     // as most_of_frontier()
  std::uint32_t most_with_leaves;  // as most_with_leaves()
  std::uint32_t most_beyond;       // as most_beyond_it()
  std::uint32_t visits_alone;      // as kVisitsAlone; 0: walks go on to their end
};

// Each step of the sweep takes 7 times as many leaves as all steps before it, and begins with k rows found in those.
inline constexpr std::uint32_t kSweepGrowth = 8;
constexpr std::uint32_t sweep_capacity(std::size_t k) {
  return static_cast<std::uint32_t>(k + k / 2) * kSweepGrowth + 256;
}
// More hits than these take more leaves to find, and lower bounds on the k-th score let more be listed.
inline constexpr std::size_t kFewHits = 32;
// Leaves of a level-1 node that a walk's first descent visits, for a k-th score bound.
CULMEN_HOST_DEVICE inline int first_leaves_each(const MirrorRef& mirror, std::size_t k) {
  if (has_products(mirror)) return 2;
  if (k > kFewHits) return 8;
  return mirror.num_attributes > 8 ? 4 : 2;
}
// Room in the frontier's list for each query, on average, of 12 bytes each for all levels. A query whose item does not
// fit is left to the sweep.
inline std::uint32_t items_each(const MirrorRef& mirror, std::size_t k) {
  return k > kFewHits && !has_products(mirror) ? 4096 : 2048;
}
inline std::size_t sweep_bytes_each(const MirrorRef& mirror, std::size_t k) {
  const std::size_t numbers = has_products(mirror)
                                  ? sizeof(HalfQuery) + mirror.half.stride * sizeof(Half)
                                  : static_cast<std::size_t>(mirror.num_attributes) * sizeof(float);
  const std::size_t of_frontier =
      begins_with_products(mirror) ? 0 : items_each(mirror, k) * sizeof(FrontierItem) + sizeof(std::uint32_t);
  const std::size_t bytes = sizeof(SweepQuery) + sweep_capacity(k) * sizeof(SeedRow) + numbers + of_frontier;
  return (bytes + 7) / 8 * 8;
}
// For all queries of a batch together: 16,800 with k = 16, or 6,900 with k = 128, can be handed over. Larger batches are
// answered in parts.
inline constexpr std::size_t kMaxSweepBytes = 512 << 20;

// A sweep for up to `most` queries in sweep_bytes_each() * most bytes, aligned to 16.
inline SweepRef make_sweep(const MirrorRef& mirror, std::byte* memory, std::size_t most, std::size_t k) {
  const auto take = [&memory]<typename Item>(Item*& items, std::size_t count) {
    items = reinterpret_cast<Item*>(memory);
    memory += count * sizeof(Item);
  };
  const auto count = static_cast<std::uint32_t>(most);
  SweepRef sweep = {};
  if (has_products(mirror)) {  // copied by 16 bytes: first
    take(sweep.half_weights, most * mirror.half.stride);
    take(sweep.half_queries, most);
  }
  take(sweep.queries, most);
  take(sweep.found, most * sweep_capacity(k));
  sweep.most = count;
  sweep.capacity = sweep_capacity(k);
  if (begins_with_products(mirror) || most == 0) return sweep;
  take(sweep.items, most * items_each(mirror, k));
  if (!has_products(mirror)) take(sweep.weights, most * static_cast<std::size_t>(mirror.num_attributes));
  take(sweep.swept, most);
  sweep.most_items = count * items_each(mirror, k);
  sweep.most_of_query = most_of_frontier(mirror);
  sweep.most_with_leaves = most_with_leaves(mirror);
  sweep.most_beyond = most_beyond_it(mirror);
  sweep.visits_alone = has_products(mirror) ? kVisitsBeforeProducts : kVisitsAlone;
  return sweep;
}

// How many of a batch's queries may be handed over if they may take so many bytes.
inline std::size_t most_to_sweep(const MirrorRef& mirror, std::size_t num_queries, std::size_t k,
                                 std::size_t most_bytes = kMaxSweepBytes) {
  if (!is_worth_a_sweep(mirror)) return 0;
  return std::min(num_queries, std::min(most_bytes, kMaxSweepBytes) / sweep_bytes_each(mirror, k));
}

// Queries of a batch at once, so that there is room for all where most are handed over: those without would walk to
// their end, and all others wait for them.
inline std::size_t most_with_room(const MirrorRef& mirror, std::size_t k) {
  return is_worth_a_sweep(mirror) ? kMaxSweepBytes / sweep_bytes_each(mirror, k)
                                  : std::numeric_limits<std::size_t>::max();
}
// Of `count` queries, 1 or more, in the fewest parts of at most `most`: how many each part has, the last perhaps fewer.
inline std::size_t part_size(std::size_t count, std::size_t most) {
  const std::size_t num_parts = (count + most - 1) / most;
  return (count + num_parts - 1) / num_parts;
}

struct BatchRef;

// Launched after the walks and before the answers are written (batch.cu), the frontier first. Throw CudaError.
template <typename T>
void launch_frontier(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     cudaStream_t stream);
template <typename T>
void launch_sweep(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream);

// If has_products(): instead of the sweep, or of all three. The start makes entries of queries or completes those that the
// frontier has left to it; of a batch that begins with it, walks take the queries for which there is no room. The end
// scores the rows found.
template <typename T>
void launch_start_of_products(const MirrorRef& mirror, const BatchRef& batch, cudaStream_t stream);
template <typename T>
void launch_end_of_products(const MirrorRef& mirror, const BatchRef& batch, cudaStream_t stream);
template <typename T>
void launch_products(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     cudaStream_t stream);

}  // namespace culmen::gpu
