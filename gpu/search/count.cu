// count: how many rows rank before a place of the order, which is the k-th score bound of a search that finds them all.
// What bounds put on one side of the place is not read:
//
//   1. A block bounds its nodes of level 1, a thread each, and keeps those that reach the place.
//   2. Its warps open these, a lane for each leaf. By its zone map a leaf is dropped, or counted whole, or else kept.
//   3. Its warps score the leaves that were kept, of many those whose codes reach the place.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/answer.cuh"
#include "gpu/search/child_bound.cuh"
#include "gpu/search/engines.h"
#include "gpu/search/keep_reaching.cuh"

namespace culmen::gpu {
namespace {

constexpr int kLoads = 8;
// Nodes that a block looks at before it opens any.
constexpr std::uint32_t kMostNodes = 128;
static_assert(kMostNodes <= kSearchThreads);

struct CountShared {
  BlockShared block;
  std::uint32_t nodes[kMostNodes], leaves[kMostNodes * kFanOut];
  std::uint32_t num_nodes, num_leaves, num_kept;
  unsigned long long count;
};

template <typename T, QueryKind kKind>
class Counting {
 public:
  __device__ Counting(const MirrorRef& mirror, QueryRef query, KthBound place, CountShared& shared)
      : mirror_(mirror),
        query_(query),
        place_(place),
        nodes_(shared.nodes, kMostNodes, shared.num_nodes),
        leaves_(shared.leaves, kMostNodes * kFanOut, shared.num_leaves),
        num_kept_(shared.num_kept) {}

  // By all threads, between barriers: the next step for each of them, in this order.

  __device__ void choose_nodes(std::uint32_t first_slot, std::uint32_t num_slots) {
    const std::uint32_t slot = first_slot + threadIdx.x;
    std::uint32_t node = kNoNode;
    if (threadIdx.x < num_slots && slot < mirror_.num_slots) node = mirror_.slot_nodes[slot];
    const bool is_kept = node != kNoNode && !is_excluded(slot_bound<kKind>(mirror_, query_, slot, node),
                                                         place_, [&] { return mirror_.slot_min_ids[slot]; });
    nodes_.push(is_kept, node, lane_);
  }

  __device__ void open_nodes() {
    for (std::uint32_t i = warp_; i < nodes_.size(); i += kSearchWarps) open(nodes_[i]);
  }

  __device__ void count_in_leaves() {
    keep_reaching<T, kKind>(mirror_, query_, place_.score, leaves_, num_kept_);
    for (std::uint32_t i = warp_; i < leaves_.size(); i += kSearchWarps) count_in(leaves_[i]);
  }

  // Of the lane.
  __device__ unsigned long long count() const { return count_; }

 private:
  // Whether all rows of a leaf are counted if they rank before the place.
  __device__ bool takes_all_rows() const {
    return kKind != QueryKind::with_functions && query_.header().num_ranges == 0 &&
           (kKind == QueryKind::plain || query_.predicate() == nullptr);
  }

  __device__ void open(std::uint32_t index) {
    const NodeRef node = mirror_.node(index);
    const std::uint32_t leaf = node.children()[lane_];
    const auto reaches = [&](double bound) {
      return !is_excluded(bound, place_, [&] { return node.min_ids()[lane_]; });
    };
    bool is_kept = reaches(child_bound<kKind>(mirror_, query_, index, lane_));
    if (is_kept && kKind != QueryKind::with_functions) {
      const auto* maxima = mirror_.zone_vector<T>(leaf, Extreme::maximum);
      const auto* minima = mirror_.zone_vector<T>(leaf, Extreme::minimum);
      is_kept = reaches(zone_score(query_, maxima, minima));
      // Rule A, turned around: no row of the leaf scores less.
      if (is_kept && takes_all_rows() && passes(zone_score(query_, minima, maxima), kNoId, place_)) {
        count_ += mirror_.leaves[leaf].num_rows;
        is_kept = false;
      }
    }
    leaves_.push(is_kept, leaf, lane_);
  }

  __device__ void count_in(std::uint32_t leaf) {
    const LeafColumns<T> columns = mirror_.columns<T>(leaf);
    score_leaf<T, kLoads, kKind>(mirror_, query_, leaf, lane_, place_.score, [&](const ScoredRows& rows) {
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j)
        if (rows.valid[j] && (rows.score[j] > place_.score ||
                              (rows.score[j] == place_.score && columns.id(rows.index[j]) <= place_.id)))
          ++count_;
    });
  }

  const MirrorRef& mirror_;
  QueryRef query_;
  KthBound place_;
  WorkList nodes_, leaves_;  // with room for all
  std::uint32_t& num_kept_;  // of leaves_
  unsigned long long count_ = 0;
  int lane_ = static_cast<int>(threadIdx.x) % kWarpSize;
  std::uint32_t warp_ = threadIdx.x / kWarpSize;
};

// slots_at_once: of a block, at most kMostNodes.
template <typename T, typename Argument, QueryKind kKind>
__global__ void __launch_bounds__(kSearchThreads, 1)
    count_rows(const MirrorRef mirror, const SearchStateRef state, const std::uint32_t slots_at_once,
               const __grid_constant__ Argument packed) {
  __shared__ CountShared shared;
  if (threadIdx.x == 0) shared.count = 0;
  const QueryRef query = take_query(packed, shared.block);
  Counting<T, kKind> counting(mirror, query, state.kth_bound, shared);
  for (std::uint64_t first = blockIdx.x * std::uint64_t{slots_at_once}; first < mirror.num_slots;
       first += gridDim.x * std::uint64_t{slots_at_once}) {
    if (threadIdx.x == 0) shared.num_nodes = shared.num_leaves = shared.num_kept = 0;
    __syncthreads();
    counting.choose_nodes(static_cast<std::uint32_t>(first), slots_at_once);
    __syncthreads();
    counting.open_nodes();
    __syncthreads();
    counting.count_in_leaves();
    __syncthreads();  // the lists are cleared
  }
  const unsigned long long of_warp = warp_sum(counting.count());
  if (threadIdx.x % kWarpSize == 0) atomicAdd(&shared.count, of_warp);
  __syncthreads();
  Counters& counters = *state.counters;
  if (threadIdx.x == 0)
    atomicAdd(reinterpret_cast<unsigned long long*>(&counters.num_candidates), shared.count);
  if (is_last_block(counters, shared.block) && threadIdx.x == 0) {
    state.result->num_candidates = __ldcg(&counters.num_candidates);
    hand_out(state);
  }
}

}  // namespace

template <typename T>
void launch_count(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                  const cuda::Limits& limits, QueryKind kind, cudaStream_t stream) {
  const unsigned num_blocks = std::min(limits.num_multiprocessors, mirror.num_slots);
  // Of all blocks as many, in as few rounds as there is room for.
  const std::uint32_t num_rounds = (mirror.num_slots - 1) / (num_blocks * kMostNodes) + 1;
  const std::uint32_t slots_at_once = (mirror.num_slots - 1) / (num_blocks * num_rounds) + 1;
  const cuda::Shape shape = {.num_blocks = num_blocks, .num_threads = kSearchThreads};
  if (kind == QueryKind::with_functions || needs_wide_argument(query, mirror.num_attributes))
    return cuda::launch(kind == QueryKind::with_functions
                            ? count_rows<T, WideQueryArgument, QueryKind::with_functions>
                            : count_rows<T, WideQueryArgument, QueryKind::filtered>,
                        shape, stream, mirror, state, slots_at_once, WideQueryArgument{query.outside});
  cuda::launch(kind == QueryKind::filtered ? count_rows<T, QueryArgument, QueryKind::filtered>
                                           : count_rows<T, QueryArgument, QueryKind::plain>,
               shape, stream, mirror, state, slots_at_once, query);
}

template void launch_count<float>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                  const cuda::Limits&, QueryKind, cudaStream_t);
template void launch_count<double>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                   const cuda::Limits&, QueryKind, cudaStream_t);
template void launch_count<Packed<float>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                          const cuda::Limits&, QueryKind, cudaStream_t);
template void launch_count<Packed<double>>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                           const cuda::Limits&, QueryKind, cudaStream_t);

}  // namespace culmen::gpu
