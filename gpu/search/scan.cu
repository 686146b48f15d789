// scan: scores every row. Scoring, filter and selection are one pass, which writes no scores to memory.
//
//   1. Each warp scores one of the leaves with the best bounds, as `bounded` does; the k-th best row of them
//      gives the first k-th score bound, so that few rows are appended whatever the order of the data.
//   2. Every 32nd leaf is scored against that bound; the k-th best of the rows that reach it raises it, in case the
//      seed phase found too little.
//   3. The other leaves follow, a warp for each, neighbours together.
#include "gpu/cuda/launch.h"
#include "gpu/search/answer.cuh"
#include "gpu/search/engines.h"
#include "gpu/search/seed_phase.cuh"

namespace culmen::gpu {
namespace {

constexpr std::uint32_t kFirstStride = 32;
constexpr unsigned kBlocksPerMultiprocessor = 2;
constexpr int kLoads = 4;  // with 8 a thread needs more than the 64 registers that 2 blocks leave it

template <typename T, typename Argument, QueryKind kKind>
__global__ void __launch_bounds__(kSearchThreads, kBlocksPerMultiprocessor)
    search_scan(const MirrorRef mirror, const SearchStateRef state, const GridRoom room,
                const __grid_constant__ Argument packed) {
  extern __shared__ double dynamic_shared[];
  __shared__ BlockShared shared;
  const QueryRef query = take_query(packed, shared);
  const KeyScale scale(query);
  std::uint32_t* keys = nullptr;
  const Team team = make_team(mirror, state, room.shares, dynamic_shared, keys);
  const int lane = team.lane;
  const std::uint32_t warp = blockIdx.x * kSearchWarps + threadIdx.x / kWarpSize;
  const std::uint32_t num_warps = gridDim.x * kSearchWarps;

  bound_slots<kKind>(mirror, query, team);
  __syncthreads();  // a team's bounds are read by all its warps
  write_seeds(mirror, state, room, shared,
              SeedPhase<T, kLoads, kKind>(mirror, query, scale, team).sample(state.kth_bound), lane);
  grid_barrier(state.counters->barrier, 1);
  KthBound kth_bound = kth_bound_of_seeds(mirror, state, room, scale, shared, keys);

  const auto visit = [&](std::uint64_t position) {
    visit_leaf<T, kLoads, kKind>(
        mirror, query, kth_bound, __ldg(mirror.leaf_order + position), lane, shared,
        [&](auto& pass, const auto& rows, int) { append(candidates_of_all(state), pass, rows, lane); });
  };
  const std::uint64_t num_leaves = mirror.num_leaves;
  // Each warp takes neighbours, so that the first rows in the list, which give the bound, are from all over the table.
  const std::uint64_t num_first = (num_leaves + kFirstStride - 1) / kFirstStride;
  const std::uint64_t each = (num_first + num_warps - 1) / num_warps;
  for (std::uint64_t i = warp * each; i < min((warp + 1) * each, num_first); ++i) visit(i * kFirstStride);
  grid_barrier(state.counters->barrier, 2);
  const std::uint64_t count = __ldcg(&state.counters->num_candidates);
  grid_barrier(state.counters->barrier, 3);  // all blocks have read the count
  const auto looked_at = static_cast<std::uint32_t>(
      min(min(count, state.capacity), std::uint64_t{kSortBytes / sizeof(std::uint32_t)}));
  kth_bound = kth_bound_of_candidates(state, kth_bound, looked_at, scale, keys, shared.select);

  for (std::uint64_t i = warp; i < num_leaves; i += num_warps)
    if (i % kFirstStride != 0) visit(i);
  finish(state, scale, shared, reinterpret_cast<Candidate*>(keys));
}

}  // namespace

template <typename T>
void launch_scan(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                 const GridPlan& plan, QueryKind kind, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = plan.num_blocks,
                             .num_threads = kSearchThreads,
                             .shared_bytes = plan.shared_bytes,
                             .cooperative = true};
  if (kind == QueryKind::with_functions || needs_wide_argument(query, mirror.num_attributes))
    return cuda::launch(kind == QueryKind::with_functions
                            ? search_scan<T, WideQueryArgument, QueryKind::with_functions>
                            : search_scan<T, WideQueryArgument, QueryKind::filtered>,
                        shape, stream, mirror, state, plan.room, WideQueryArgument{query.outside});
  cuda::launch(kind == QueryKind::filtered ? search_scan<T, QueryArgument, QueryKind::filtered>
                                           : search_scan<T, QueryArgument, QueryKind::plain>,
               shape, stream, mirror, state, plan.room, query);
}

template void launch_scan<float>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                 const GridPlan&, QueryKind, cudaStream_t);
template void launch_scan<double>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                  const GridPlan&, QueryKind, cudaStream_t);

}  // namespace culmen::gpu
