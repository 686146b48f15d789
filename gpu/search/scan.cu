// scan: looks at every row. Scoring, filter and selection are one pass, which writes no scores to memory. Where the mirror
// has codes, only leaves of which a row may reach the k-th score bound are scored.
//
//   1. Each warp scores one of the leaves with the best bounds, as `bounded` does; the k-th best row of them
//      gives the first k-th score bound, so that few rows are appended whatever the order of the data.
//   2. Every 32nd leaf is scored against that bound; the k-th best of the rows that reach it raises it, in case the
//      seed phase found too little. With codes, which leave few rows for any bound, only if it found none.
//   3. The other leaves follow, a warp for each, neighbours together; with codes those that reach the bound by these.
#include "gpu/cuda/launch.h"
#include "gpu/search/answer.cuh"
#include "gpu/search/engines.h"
#include "gpu/search/leaf_code_sums.cuh"
#include "gpu/search/seed_phase.cuh"
#include "gpu/search/work_list.cuh"

namespace culmen::gpu {
namespace {

constexpr std::uint32_t kSampleStride = 32;
constexpr int kLoads = 8;

// By all threads: the block's leaves of which a row may reach the k-th score bound, by their codes. (A leaf that follows its
// codes at once is read with so few registers that of its values few are on their way at a time.)
template <typename T, QueryKind kKind, typename IsSampled>
__device__ void list_reaching(const MirrorRef& mirror, QueryRef query, const SearchStateRef& state,
                              KthBound kth_bound, IsSampled&& is_sampled, BlockShared& shared,
                              WorkList& reaching) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const LeafCodeSums<T> codes(mirror, query, lane);
  const std::uint32_t num_leaves = mirror.num_leaves,
                      step = gridDim.x * kSearchWarps * codes.leaves_at_once();
  const std::uint32_t warp = blockIdx.x * kSearchWarps + threadIdx.x / kWarpSize;
  const std::uint32_t first = warp * codes.leaves_at_once() + codes.leaf_of_lane();
  const auto leaf_at = [&](std::uint32_t i) { return __ldg(mirror.leaf_order + min(i, num_leaves - 1)); };
  std::uint32_t num_rows = 0;  // of the lane's leaves
  std::uint32_t leaf_after = leaf_at(first + step);
  auto next = codes.load(leaf_at(first));
  for (std::uint32_t i = first; i - codes.leaf_of_lane() < num_leaves; i += step) {
    const auto loaded = next;
    next = codes.load(leaf_after);
    leaf_after = leaf_at(i + 2 * step);
    const bool is_wanted = i < num_leaves && !is_sampled(i);
    if (is_wanted) num_rows += mirror.leaves[loaded.leaf].num_rows;
    const unsigned lanes = codes.reaching(loaded, is_wanted, kth_bound.score);
    unsigned left = reaching.push((lanes >> lane & 1) != 0, loaded.leaf, lane);
    for (; left != 0; left &= left - 1)
      visit_leaf<T, 1, kKind>(
          mirror, query, kth_bound, __shfl_sync(kFullWarp, loaded.leaf, __ffs(static_cast<int>(left)) - 1),
          lane, shared,
          [&](auto& pass, const auto& rows, int) { append(candidates_of_all(state), pass, rows, lane); });
  }
  if (codes.is_first_lane()) atomicAdd(&shared.rows_by_codes, static_cast<unsigned long long>(num_rows));
}

template <typename T, typename Argument, QueryKind kKind>
__global__ void __launch_bounds__(kSearchThreads, 1)
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
  write_seeds<T>(mirror, state, room, shared,
                 SeedPhase<T, kLoads, kKind>(mirror, query, scale, team).sample(state.kth_bound), lane);
  grid_barrier(state.counters->barrier, 1);
  KthBound kth_bound = kth_bound_of_seeds<T>(mirror, state, room, scale, shared, keys);

  const std::uint32_t num_leaves = mirror.num_leaves;
  const auto visit = [&](std::uint32_t leaf) {
    visit_leaf<T, kLoads, kKind>(
        mirror, query, kth_bound, leaf, lane, shared,
        [&](auto& pass, const auto& rows, int) { append(candidates_of_all(state), pass, rows, lane); });
  };
  const bool has_codes = kKind != QueryKind::with_functions && mirror.codes.words != nullptr;
  const bool has_sample = !has_codes || kth_bound.score == state.kth_bound.score;
  if (has_sample) {
    // Each warp takes neighbours, so that the first rows in the list, which give the bound, are from all over the table.
    const std::uint32_t count = (num_leaves + kSampleStride - 1) / kSampleStride;
    const std::uint32_t each = (count + num_warps - 1) / num_warps;
    for (std::uint32_t i = warp * each; i < min((warp + 1) * each, count); ++i)
      visit(__ldg(mirror.leaf_order + i * kSampleStride));
    grid_barrier(state.counters->barrier, 2);
    const std::uint64_t found = __ldcg(&state.counters->num_candidates);
    grid_barrier(state.counters->barrier, 3);  // all blocks have read the count
    const auto looked_at = static_cast<std::uint32_t>(
        min(min(found, state.capacity), std::uint64_t{kSortBytes / sizeof(std::uint32_t)}));
    kth_bound = kth_bound_of_candidates(state, kth_bound, looked_at, scale, keys, shared.select);
  }
  const auto is_sampled = [&](std::uint32_t position) { return has_sample && position % kSampleStride == 0; };
  WorkList reaching(keys, kSortBytes / sizeof(std::uint32_t), shared.num_found);
  __syncthreads();  // the list overwrites keys
  if (has_codes) list_reaching<T, kKind>(mirror, query, state, kth_bound, is_sampled, shared, reaching);
  __syncthreads();
  std::uint32_t i = has_codes ? threadIdx.x / kWarpSize : warp;
  const std::uint32_t end = has_codes ? reaching.size() : num_leaves;
  for (; i < end; i += has_codes ? kSearchWarps : num_warps)
    if (has_codes || !is_sampled(i)) visit(has_codes ? reaching[i] : __ldg(mirror.leaf_order + i));
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
template void launch_scan<Packed<float>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                         const GridPlan&, QueryKind, cudaStream_t);
template void launch_scan<Packed<double>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                          const GridPlan&, QueryKind, cudaStream_t);

}  // namespace culmen::gpu
