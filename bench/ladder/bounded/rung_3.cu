// Rung 3, commit 24b4711: the best of a warp by one instruction over keys; 32 keys per block for large k; one atomic
// per leaf; the answer is ranked by counting instead of a sort, and crosses the bus word by word with one fence. The
// last step is today's (gpu/search/answer.cuh), which counts a little faster.
#include "bench/ladder/bounded/by_keys.cuh"

namespace culmen::gpu::ladder {
namespace {

// Straight to the list of all blocks.
class LeafByLeaf {
 public:
  __device__ LeafByLeaf(const SearchStateRef& state, const KeyScale&, KthBound kth_bound, BlockShared&,
                        Candidate*, std::uint32_t)
      : state_(state), kth_bound_(kth_bound) {}

  __device__ KthBound kth_bound() const { return kth_bound_; }
  __device__ void append(bool (&pass)[kRowsPerLane], const Candidate (&rows)[kRowsPerLane], int lane) {
    gpu::append(candidates_of_all(state_), pass, rows, lane);
  }
  __device__ void make_room() {}
  __device__ void flush() {}

 private:
  const SearchStateRef& state_;
  KthBound kth_bound_;
};

struct Steps {
  static constexpr bool kSmallGroups = false;
  using List = LeafByLeaf;

  __device__ static std::uint32_t leaf_to_sample(const Search& search) {
    return leaf_to_sample_by_keys(search);
  }

  __device__ static void write_seeds(const Search& search, std::uint32_t leaf) {
    write_seeds_by_keys<false>(search, leaf, seeds_by_k(search));
  }

  __device__ static KthBound kth_bound(const Search& search, std::uint32_t* memory) {
    return kth_bound_by_keys(search, seeds_by_k(search), memory);
  }

  __device__ static void finish(const Search& search, Candidate* items) {
    gpu::finish(search.state, search.scale, search.shared, items);
  }
};

}  // namespace

void launch_rung_3(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream) {
  launch_in_one<Steps>(mirror, state, query, plan, stream);
}

}  // namespace culmen::gpu::ladder
