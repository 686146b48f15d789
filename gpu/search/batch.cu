// batch: many queries at once. Each warp walks the tree for one query, depth first (depth_first.cuh). It visits
// somewhat more than a best-first search, but thousands of warps do so at once. A walk that has visited many nodes
// and leaves hands its query over to the frontier (hand_over.cuh), which leaves to the sweep those that prune too
// little (sweep.h). Then warps write the answers of these queries.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/depth_first.cuh"
#include "gpu/search/engines.h"
#include "gpu/search/hand_over.cuh"
#include "gpu/search/share_bounds.h"
#include "index/tree_height.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kMaxBatchWarps = 8;  // of a thread block

// Levels of the trees that the usual kernel takes. The other one, whose warps need more shared memory, takes taller
// trees: changes can leave nodes of 8 children.
constexpr int kUsualHeight = 8;

// Where warps have the queries that they work on: in shared memory or, of wide tables and with functions, where they are.
enum class QueryPlace { shared, device };

template <int kHeight>
CULMEN_HOST_DEVICE constexpr std::size_t warp_bytes(std::uint32_t k, std::uint32_t query_stride) {
  return sizeof(WalkShared<kHeight>) + shared_query_bytes(query_stride) + WarpBest::num_bytes(k);
}
static_assert(warp_bytes<kMaxLevels>(kMaxSortedHits, kMaxSharedQueryBytes) <= kMinSharedBytes);

// A warp's shared memory: the walk's, the query, the list.
template <typename T, int kHeight, QueryKind kKind, QueryPlace kPlace>
class WarpSearch {
 public:
  __device__ WarpSearch(const MirrorRef& mirror, const BatchRef& batch, std::byte* block_memory)
      : mirror_(mirror),
        batch_(batch),
        memory_(block_memory + threadIdx.x / kWarpSize * warp_bytes<kHeight>(batch.k, batch.query_stride)),
        lane_(threadIdx.x % kWarpSize) {}

  // One query of the batch, from the beginning.
  __device__ void search(std::uint32_t q) {
    const QueryRef query = take_query(q);
    const KeyScale scale(query);
    WarpBest best = make_best(scale, query.header().min_score);
    ResultHeader work = {};
    DepthFirst<T, kHeight, kKind> walk(mirror_, query, walk_memory(), best);
    std::uint64_t most_visits = batch_.sweep.visits_alone > 0 ? batch_.sweep.visits_alone : kAnyNumber;
    for (bool ended = walk.run(most_visits, work); !ended; ended = walk.again(most_visits, work)) {
      if (hand_over(mirror_, batch_, q, query, best.kth_bound().score, work, lane_)) return;
      most_visits *= 2;
    }
    write(q, best, work);
  }

  // Answers a query that was handed over: from the rows that the frontier or the sweep has found or, if they did not
  // fit, by a walk that starts with their k-th score bound.
  __device__ void finish(std::uint32_t entry) {
    const SweepQuery& swept = batch_.sweep.queries[entry];
    const QueryRef query = take_query(swept.query);
    const KeyScale scale(query);
    WarpBest best = make_best(scale, swept.kth_bound);
    ResultHeader work = batch_.results[swept.query];
    work.nodes_visited += swept.nodes;
    work.leaves_visited += swept.leaves;
    work.rows_by_bounds = swept.rows;
    work.rows_scored += swept.scored;
    if (swept.num_found <= batch_.sweep.capacity) {
      take_found(entry, swept.num_found, best);
    } else {
      DepthFirst<T, kHeight, kKind>(mirror_, query, walk_memory(), best).run(kAnyNumber, work);
    }
    write(swept.query, best, work);
  }

 private:
  __device__ WalkShared<kHeight>& walk_memory() const {
    return *reinterpret_cast<WalkShared<kHeight>*>(memory_);
  }
  __device__ WarpBest make_best(const KeyScale& scale, double kth_bound) const {
    return WarpBest(memory_ + sizeof(WalkShared<kHeight>) + shared_query_bytes(batch_.query_stride), batch_.k,
                    scale, {kth_bound, kNoId});
  }

  __device__ QueryRef take_query(std::uint32_t q) const {
    const std::byte* bytes = batch_.queries + std::size_t{q} * batch_.query_stride;
    if constexpr (kPlace == QueryPlace::device) return {bytes};
    const auto* from = reinterpret_cast<const std::uint64_t*>(bytes);
    auto* to = reinterpret_cast<std::uint64_t*>(memory_ + sizeof(WalkShared<kHeight>));
    __syncwarp();  // the query before is done
    for (std::uint32_t i = lane_; i < batch_.query_stride / sizeof(std::uint64_t); i += kWarpSize)
      to[i] = from[i];
    __syncwarp();
    return {reinterpret_cast<const std::byte*>(to)};
  }

  __device__ void take_found(std::uint32_t entry, std::uint32_t count, WarpBest& best) const {
    const SeedRow* found = batch_.sweep.found + std::size_t{entry} * batch_.sweep.capacity;
    for (std::uint32_t first = 0; first < count; first += kRowsAtOnce) {
      bool pass[kRowsPerLane];
      Candidate rows[kRowsPerLane];
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j) {
        const std::uint32_t i = first + static_cast<std::uint32_t>(j * kWarpSize) + lane_;
        const SeedRow row = found[min(i, count - 1)];
        rows[j] = {row.score, mirror_.template id<T>(row.row), row.row};
        pass[j] = i < count && passes(row.score, rows[j].id, best.kth_bound());
      }
      best.append(pass, rows);
    }
  }

  __device__ void write(std::uint32_t q, WarpBest& best, ResultHeader& work) const {
    work.num_hits = best.finish();
    for (std::uint32_t i = lane_; i < work.num_hits; i += kWarpSize)
      batch_.hits[std::size_t{q} * batch_.k + i] = best[i];
    if (lane_ == 0) batch_.results[q] = work;
  }

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  std::byte* memory_;
  std::uint32_t lane_;
};

template <typename T, int kHeight, QueryKind kKind, QueryPlace kPlace>
__global__ void __launch_bounds__(kMaxBatchWarps* kWarpSize, 4)
    search_batch(const MirrorRef mirror, const BatchRef batch) {
  extern __shared__ double dynamic_shared[];
  WarpSearch<T, kHeight, kKind, kPlace> warp(mirror, batch, reinterpret_cast<std::byte*>(dynamic_shared));
  for (;;) {  // until all queries are taken
    std::uint32_t q = 0;
    if (threadIdx.x % kWarpSize == 0) q = atomicAdd(&batch.counters->next_query, 1u);
    q = __shfl_sync(kFullWarp, q, 0);
    if (q >= batch.num_queries) return;
    warp.search(q);
  }
}

// After the frontier and the sweep.
template <typename T, int kHeight, QueryKind kKind, QueryPlace kPlace>
__global__ void __launch_bounds__(kMaxBatchWarps* kWarpSize, 4)
    finish_batch(const MirrorRef mirror, const BatchRef batch) {
  extern __shared__ double dynamic_shared[];
  WarpSearch<T, kHeight, kKind, kPlace> warp(mirror, batch, reinterpret_cast<std::byte*>(dynamic_shared));
  const std::uint32_t num_warps = blockDim.x / kWarpSize,
                      first = blockIdx.x + threadIdx.x / kWarpSize * gridDim.x;
  const std::uint32_t count = min(batch.counters->num_handed_over, batch.sweep.most);
  for (std::uint32_t entry = first; entry < count; entry += gridDim.x * num_warps) warp.finish(entry);
}

// A multiprocessor's shared memory holds as many warps as fit, in thread blocks of up to kMaxBatchWarps.
cuda::Shape batch_shape(std::size_t warp_bytes, const cuda::Limits& limits) {
  constexpr std::size_t kMaxShared = 200 << 10;  // of a multiprocessor: the cache has the rest
  constexpr std::size_t kWarpsPerMultiprocessor = 32;
  const std::size_t shared_bytes = std::min(kMaxShared, limits.multiprocessor_shared_bytes);
  const std::size_t warps = std::min(kWarpsPerMultiprocessor, shared_bytes / warp_bytes);
  const std::size_t fitting = std::min(warps, limits.block_shared_bytes / warp_bytes);
  const auto block_warps = static_cast<unsigned>(std::min<std::size_t>(kMaxBatchWarps, fitting));
  const auto blocks_each = static_cast<unsigned>(warps / block_warps);
  return {.num_blocks = limits.num_multiprocessors * blocks_each,
          .num_threads = block_warps * kWarpSize,
          .shared_bytes = block_warps * warp_bytes};
}

// The walks alone, for queries that are never handed over.
template <typename T, int kHeight, QueryKind kKind, QueryPlace kPlace = QueryPlace::shared>
void launch_walks(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  const cuda::Shape shape = batch_shape(warp_bytes<kHeight>(batch.k, batch.query_stride), limits);
  cuda::launch(search_batch<T, kHeight, kKind, kPlace>, shape, stream, mirror, batch);
}

template <typename T, int kHeight, QueryKind kKind, QueryPlace kPlace = QueryPlace::shared>
void launch_up_to(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  const cuda::Shape shape = batch_shape(warp_bytes<kHeight>(batch.k, batch.query_stride), limits);
  const bool shares = batch.shared_bounds != nullptr;
  const bool begins = begins_with_products(mirror) && batch.sweep.most > 0;
  if (begins) launch_start_of_products<T>(mirror, batch, stream);
  if (!begins || batch.sweep.most < batch.num_queries)
    launch_walks<T, kHeight, kKind, kPlace>(mirror, batch, limits, stream);
  if (batch.sweep.most == 0) return;
  if (shares) launch_share_bounds(batch, stream);
  if (!begins) {
    launch_frontier<T>(mirror, batch, limits, stream);
    if (shares) launch_share_bounds(batch, stream);
  }
  if (has_products(mirror)) {
    if (!begins) launch_start_of_products<T>(mirror, batch, stream);
    launch_products<T>(mirror, batch, limits, stream);
    launch_end_of_products<T>(mirror, batch, stream);
  } else {
    launch_sweep<T>(mirror, batch, limits, stream);
  }
  cuda::launch(finish_batch<T, kHeight, kKind, kPlace>, shape, stream, mirror, batch);
}

}  // namespace

template <typename T>
void launch_batch(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  if (batch.kind == QueryKind::with_functions) {
    launch_walks<T, kMaxLevels, QueryKind::with_functions, QueryPlace::device>(mirror, batch, limits, stream);
  } else if (shared_query_bytes(batch.query_stride) == 0) {
    launch_up_to<T, kMaxLevels, QueryKind::filtered, QueryPlace::device>(mirror, batch, limits, stream);
  } else if (batch.kind == QueryKind::filtered) {
    launch_up_to<T, kMaxLevels, QueryKind::filtered>(mirror, batch, limits, stream);
  } else if (mirror.height <= kUsualHeight) {
    launch_up_to<T, kUsualHeight, QueryKind::plain>(mirror, batch, limits, stream);
  } else {
    launch_up_to<T, kMaxLevels, QueryKind::plain>(mirror, batch, limits, stream);  // no tree is taller
  }
}

template void launch_batch<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_batch<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_batch<Packed<float>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                          cudaStream_t);
template void launch_batch<Packed<double>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                           cudaStream_t);

}  // namespace culmen::gpu
