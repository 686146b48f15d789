// What searches by the whole grid have in common at their start: the query in shared memory, and the seeds that give
// the first k-th score bound.
#pragma once

#include "gpu/search/engines.h"
#include "gpu/search/grid_barrier.cuh"
#include "gpu/search/leaf_rows.cuh"
#include "gpu/search/select_kth_bound.cuh"

namespace culmen::gpu {

inline constexpr std::uint32_t kMaxWarpKeys = 8;

// Rows that the warps of a block offer as seeds, as columns: every key is compared with every other.
struct Offers {
  static constexpr std::uint32_t kMax = kSearchWarps * kMaxWarpKeys;

  std::uint32_t keys[kMax], counts[kMax];
  std::int64_t ids[kMax];  // read only if many rows tie, else kNoId
  SeedRow rows[kMax];

  __device__ void set(std::uint32_t i, std::uint32_t key, std::uint32_t count, std::int64_t id,
                      const SeedRow& row) {
    keys[i] = key;
    counts[i] = count;
    ids[i] = id;
    rows[i] = row;
  }

  // The position of offer i among the first `num`. Warps without nodes offer nothing, in no particular order: to look for
  // the smallest of ids that are all the same would take longer than the rest of the seed phase.
  __device__ std::uint32_t rank(std::uint32_t i, std::uint32_t num) const {
    const std::uint32_t key = keys[i];
    std::uint32_t rank = 0, equal = 0, equal_before = 0;
#pragma unroll 16
    for (std::uint32_t other = 0; other < num; ++other) {
      rank += keys[other] > key ? 1 : 0;
      equal += keys[other] == key ? 1 : 0;
      equal_before += keys[other] == key && other < i ? 1 : 0;
    }
    if (key == KeyScale::kNone) return rank + equal_before;
    for (std::uint32_t other = 0; equal > 1 && other < num; ++other)
      if (keys[other] == key && (ids[other] < ids[i] || (ids[other] == ids[i] && other < i))) ++rank;
    return rank;
  }
};

// What a thread block keeps in static shared memory.
struct BlockShared {
  alignas(8) std::byte query[kMaxSharedQueryBytes];
  union {
    SelectScratch select;
    Offers offers;  // until the first barrier of the grid
  };
  unsigned long long leaves_visited, nodes_visited, rows_scored, rows_by_codes;
  std::uint32_t num_found;      // rows in a list in shared memory
  unsigned long long num_kept;  // candidates, when there are too many
  bool is_last;
};
// Kernels add a few counters.
static_assert(sizeof(BlockShared) + 64 <= kStaticSharedBytes);

// By all threads; a barrier follows.
__device__ inline void clear_counters(BlockShared& shared) {
  if (threadIdx.x != 0) return;
  shared.leaves_visited = shared.nodes_visited = shared.rows_scored = shared.rows_by_codes = 0;
  shared.num_found = 0;
}

// Copies the query to shared memory, if it is to be there, and clears the block's counters; a barrier follows.
template <typename Argument>
__device__ QueryRef take_query(const Argument& argument, BlockShared& shared) {
  const std::byte* bytes = argument.bytes();
  if constexpr (Argument::kIsShared) {
    const std::size_t words = QueryRef{bytes}.num_bytes() / sizeof(std::uint64_t);
    const auto* from = reinterpret_cast<const std::uint64_t*>(bytes);
    auto* to = reinterpret_cast<std::uint64_t*>(shared.query);
    for (std::size_t i = threadIdx.x; i < words; i += blockDim.x) to[i] = from[i];
    bytes = shared.query;
  }
  clear_counters(shared);
  __syncthreads();
  return {bytes};
}

struct SampledRow {
  std::uint32_t key = KeyScale::kNone;
  SeedRow row = {};
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

// How many seeds a block writes, and how many of each warp at most: enough that the k-th best of all seeds is close
// to the k-th best of all rows scored. (Twice as many of a warp, for tables whose best rows are in few leaves, made
// searches for 128 and 256 rows slower: they saved less than ranking them costs.)
struct SeedShape {
  std::uint32_t each, of_a_warp;
};
__device__ inline SeedShape seed_shape(std::uint32_t k, const GridRoom& room) {
  if (k <= 32) return {min(8u, room.most_seeds), 4};
  if (k <= 256) return {min(16u, room.most_seeds), 4};
  return {room.most_seeds, kMaxWarpKeys};
}

// By a warp: offers its `num` best rows, at most two of each lane.
__device__ inline void offer_best(TwoBest best, std::uint32_t num, int lane, Offers& offers) {
  const std::uint32_t warp = threadIdx.x / kWarpSize;
  for (std::uint32_t i = 0; i < num; ++i) {
    std::uint32_t top = best.first.key;
    if (lane == __ffs(static_cast<int>(warp_argmax(top))) - 1) {
      offers.set(i * kSearchWarps + warp, top, 1, kNoId, best.first.row);
      best = {best.second, {}};
    }
  }
}

// The same if more rows tie for the best: offers those with the smallest ids and, for all the rest, the one with the
// largest id, so that a leaf full of ties gives a k-th score bound by itself. Returns false if their scores differ
// below the key.
template <typename T>
__device__ bool offer_ties(const MirrorRef& mirror, const TwoBest& best, std::uint32_t top, std::uint32_t num,
                           int lane, Offers& offers) {
  const std::uint32_t warp = threadIdx.x / kWarpSize;
  const SampledRow rows[2] = {best.first, best.second};
  const unsigned tied = __ballot_sync(kFullWarp, rows[0].key == top);
  const double score = __shfl_sync(kFullWarp, rows[0].row.score, __ffs(static_cast<int>(tied)) - 1);
  std::int64_t ids[2];
  bool differ = false;
  for (int j = 0; j < 2; ++j) {
    const bool ties = rows[j].key == top;
    differ |= ties && rows[j].row.score != score;
    ids[j] = ties ? mirror.id<T>(rows[j].row.row) : kNoId;
  }
  if (__any_sync(kFullWarp, differ)) return false;
  // One lane has the id. In a damaged index, where ids repeat, several have, and later none.
  const auto take = [&](std::int64_t id, std::uint32_t i, std::uint32_t count) {
    const bool is_first = id != kNoId && ids[0] == id, is_second = id != kNoId && ids[1] == id;
    const unsigned having = __ballot_sync(kFullWarp, is_first || is_second);
    if (having == 0 && lane == 0) offers.set(i * kSearchWarps + warp, KeyScale::kNone, 0, kNoId, {});
    if (lane == __ffs(static_cast<int>(having)) - 1)
      offers.set(i * kSearchWarps + warp, top, count, id, rows[is_first ? 0 : 1].row);
    if (is_first) ids[0] = kNoId;
    if (is_second) ids[1] = kNoId;
  };
  for (std::uint32_t i = 0; i + 1 < num; ++i) take(warp_min(min(ids[0], ids[1])), i, 1);
  const auto left = static_cast<std::uint32_t>(__popc(__ballot_sync(kFullWarp, ids[0] != kNoId)) +
                                               __popc(__ballot_sync(kFullWarp, ids[1] != kNoId)));
  const auto turned = [](std::int64_t id) { return id == kNoId ? kNoId : ~id; };  // reverses the order
  take(~warp_min(min(turned(ids[0]), turned(ids[1]))), num - 1, left);
  return true;
}

// Writes the block's best rows as seeds.
template <typename T>
__device__ void write_seeds(const MirrorRef& mirror, const SearchStateRef& state, const GridRoom& room,
                            BlockShared& shared, const TwoBest& best, int lane) {
  const SeedShape shape = seed_shape(state.k, room);
  Offers& offers = shared.offers;
  std::uint32_t top = best.first.key;
  const bool many_tie =
      __popc(warp_argmax(top)) > static_cast<int>(shape.of_a_warp) && top != KeyScale::kNone;
  if (!many_tie || !offer_ties<T>(mirror, best, top, shape.of_a_warp, lane, offers))
    offer_best(best, shape.of_a_warp, lane, offers);
  __syncthreads();
  const std::uint32_t i = threadIdx.x, num = kSearchWarps * shape.of_a_warp;
  if (i >= num) return;
  const std::uint32_t rank = offers.rank(i, num);
  if (rank >= shape.each) return;
  const std::uint32_t position = blockIdx.x * shape.each + rank;
  state.seed_keys[position] = offers.keys[i];
  state.seed_counts[position] = offers.counts[i];
  state.seed_rows[position] = offers.rows[i];
}

// The k-th score bound that the seeds give, for all threads of the block, after a grid barrier. `memory`: shared, for
// the keys and counts of all seeds.
template <typename T>
__device__ KthBound kth_bound_of_seeds(const MirrorRef& mirror, const SearchStateRef& state,
                                       const GridRoom& room, const KeyScale& scale, BlockShared& shared,
                                       std::uint32_t* memory) {
  const std::uint32_t count = gridDim.x * seed_shape(state.k, room).each;
  std::uint32_t *keys = memory, *counts = memory + count;
#pragma unroll 8
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    keys[i] = __ldcg(state.seed_keys + i);
    counts[i] = __ldcg(state.seed_counts + i);
  }
  __syncthreads();
  return select_kth_bound(
      state.kth_bound, {keys, counts, count}, state.k, scale,
      [&](std::uint32_t i) { return __ldcg(&state.seed_rows[i].score); },
      [&](std::uint32_t i) { return mirror.id<T>(__ldcg(&state.seed_rows[i].row)); }, shared.select);
}

// By a warp: the best rows of a leaf that reach the k-th score bound.
template <typename T, int kLoads, QueryKind kKind>
__device__ TwoBest sample_leaf(const MirrorRef& mirror, QueryRef query, const KeyScale& scale,
                               KthBound kth_bound, std::uint32_t leaf, int lane) {
  TwoBest best;
  const std::uint64_t first_row = mirror.first_row(leaf);
  score_leaf<T, kLoads, kKind>(mirror, query, leaf, lane, kth_bound.score, [&](const ScoredRows& rows) {
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j)
      if (rows.valid[j] && rows.score[j] >= kth_bound.score)
        best.offer({scale.key(rows.score[j]), {rows.score[j], first_row + rows.index[j]}});
  });
  return best;
}

}  // namespace culmen::gpu
