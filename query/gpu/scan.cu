// scan: scores every row, whatever the data: scoring, filter and selection in one pass, and no score is ever
// written to memory.
//
//   1. Each warp scores one leaf of a sample spread over the table; the k-th best score of it is the first
//      floor.
//   2. Every 32nd leaf is scored against that floor; the k-th best of the rows that reach it is the floor for
//      all others. So few rows are appended in any order of the data.
//   3. The other leaves follow, a warp a leaf, neighbours together.
#include <algorithm>

#include "query/cuda/launch.h"
#include "query/gpu/answer.cuh"
#include "query/gpu/engines.h"

namespace culmen::gpu {
namespace {

constexpr std::uint32_t kFirstStride = 32;
constexpr unsigned kBlocksPerMultiprocessor = 2;
constexpr int kLoads = 4;  // with 8 a thread needs more than the 64 registers that 2 blocks leave it

// The leaf that a warp samples, spread evenly over the table; the number of leaves if there is none for it.
__device__ std::uint32_t sampled_leaf(const MirrorRef& mirror, std::uint32_t warp, std::uint32_t num_warps) {
  if (mirror.num_leaves <= num_warps) return min(warp, mirror.num_leaves);
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(warp) * mirror.num_leaves / num_warps);
}

template <typename T>
__global__ void __launch_bounds__(kSearchThreads, kBlocksPerMultiprocessor)
    search_scan(const MirrorRef mirror, const SearchStateRef state,
                const __grid_constant__ QueryArgument packed) {
  extern __shared__ Candidate dynamic_shared[];
  __shared__ BlockShared shared;
  const QueryRef query = take_query(packed, shared);
  const KeyScale scale(query);
  auto* staging = reinterpret_cast<std::uint32_t*>(dynamic_shared);
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const std::uint32_t warp = blockIdx.x * kSearchWarps + threadIdx.x / kWarpSize;
  const std::uint32_t num_warps = gridDim.x * kSearchWarps;

  const std::uint32_t sampled = sampled_leaf(mirror, warp, num_warps);
  TwoBest best;
  if (sampled < mirror.num_leaves)
    best = sample_leaf<T, kLoads>(mirror, query, scale, state.floor, sampled, lane);
  publish(state, shared, best, lane);
  grid_barrier(*state.counters, 1);
  Floor floor = floor_of_published(mirror, state, scale, shared, staging);

  const auto visit = [&](std::uint64_t leaf) {
    visit_leaf<T, kLoads>(
        mirror, query, floor, static_cast<std::uint32_t>(leaf), lane, shared,
        [&](auto& pass, const auto& rows, int) { append(candidates_of_all(state), pass, rows, lane); });
  };
  const std::uint64_t num_leaves = mirror.num_leaves;
  for (std::uint64_t leaf = static_cast<std::uint64_t>(warp) * kFirstStride; leaf < num_leaves;
       leaf += static_cast<std::uint64_t>(num_warps) * kFirstStride)
    visit(leaf);
  grid_barrier(*state.counters, 2);
  const std::uint64_t count = __ldcg(&state.counters->num_candidates);
  grid_barrier(*state.counters, 3);  // nobody appends before all have read the count
  const auto looked_at = static_cast<std::uint32_t>(
      min(min(count, state.capacity), std::uint64_t{kSortBytes / sizeof(std::uint32_t)}));
  floor = floor_of_candidates(state, floor, looked_at, scale, staging, shared.select);

  for (std::uint64_t leaf = warp; leaf < num_leaves; leaf += num_warps)
    if (leaf % kFirstStride != 0) visit(leaf);
  finish(state, scale, shared, dynamic_shared);
}

}  // namespace

template <typename T>
void launch_scan(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                 const Grid& grid, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = grid.num_multiprocessors * kBlocksPerMultiprocessor,
                             .num_threads = kSearchThreads,
                             .shared_bytes = std::max(kSortBytes, published_key_bytes(grid)),
                             .cooperative = true};
  cuda::launch(search_scan<T>, shape, stream, mirror, state, query);
}

template void launch_scan<float>(const MirrorRef&, const SearchStateRef&, const QueryArgument&, const Grid&,
                                 cudaStream_t);
template void launch_scan<double>(const MirrorRef&, const SearchStateRef&, const QueryArgument&, const Grid&,
                                  cudaStream_t);

}  // namespace culmen::gpu
