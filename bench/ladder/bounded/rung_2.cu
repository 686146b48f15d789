// Rung 2, commit ad84f49: the k-th score bound by 32-bit keys. A block writes the 8 best of all its warps as seeds, so
// the selection reads a quarter of the numbers, each of half the size, as integers. (That commit fenced its answer
// once; as in docs/decisions/0010-one-launch.md this counts as part of rung 3.)
#include "bench/ladder/bounded/by_keys.cuh"
#include "bench/ladder/bounded/plain_steps.cuh"

namespace culmen::gpu::ladder {
namespace {

constexpr std::uint32_t kSeedsEach = 8;

struct Steps {
  static constexpr bool kSmallGroups = false;
  using List = RowByRow;

  __device__ static std::uint32_t leaf_to_sample(const Search& search) {
    return plain_leaf_to_sample(search);
  }

  __device__ static void write_seeds(const Search& search, std::uint32_t leaf) {
    write_seeds_by_keys<false>(search, leaf, kSeedsEach);
  }

  __device__ static KthBound kth_bound(const Search& search, std::uint32_t* memory) {
    return kth_bound_by_keys(search, kSeedsEach, memory);
  }

  __device__ static void finish(const Search& search, Candidate* items) {
    plain_finish(search, items, [&](std::uint64_t count) {
      constexpr std::uint64_t kMaxKeys = kSortBytes / sizeof(std::uint32_t);
      return kth_bound_of_candidates(search.state, {-infinity(), kNoId},
                                     static_cast<std::uint32_t>(min(count, kMaxKeys)), search.scale,
                                     reinterpret_cast<std::uint32_t*>(items), search.shared.select);
    });
  }
};

}  // namespace

void launch_rung_2(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream) {
  launch_in_one<Steps>(mirror, state, query, plan, stream);
}

}  // namespace culmen::gpu::ladder
