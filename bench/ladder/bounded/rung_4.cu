// Rung 4, commit 744efb1: the k-th score bound is a score and an id, so that ties cost little; a block keeps its rows
// in shared memory and passes on its k best; small tables are distributed over all teams. The last version with
// neighbouring nodes in one block and idle warps at the barrier. The last step is today's, as in rung 3.
#include "bench/ladder/bounded/by_keys.cuh"

namespace culmen::gpu::ladder {
namespace {

struct Steps {
  static constexpr bool kSmallGroups = true;
  using List = BlockCandidates;

  __device__ static std::uint32_t leaf_to_sample(const Search& search) {
    return leaf_to_sample_by_keys(search);
  }

  __device__ static void write_seeds(const Search& search, std::uint32_t leaf) {
    write_seeds_by_keys<true>(search, leaf, seeds_by_k(search));
  }

  __device__ static KthBound kth_bound(const Search& search, std::uint32_t* memory) {
    const SearchStateRef& state = search.state;
    const std::uint32_t count = load_seeds(search, seeds_by_k(search), memory);
    return select_kth_bound(
        state.kth_bound, {memory, nullptr, count}, state.k, search.scale,
        [&](std::uint32_t i) { return __ldcg(&state.seed_rows[i].score); },
        [&](std::uint32_t i) { return search.mirror.id<float>(__ldcg(&state.seed_rows[i].row)); },
        search.shared.select);
  }

  __device__ static void finish(const Search& search, Candidate* items) {
    gpu::finish(search.state, search.scale, search.shared, items);
  }
};

}  // namespace

void launch_rung_4(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream) {
  launch_in_one<Steps>(mirror, state, query, plan, stream);
}

}  // namespace culmen::gpu::ladder
