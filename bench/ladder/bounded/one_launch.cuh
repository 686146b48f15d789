// What rungs 1 to 4 share: one cooperative launch with one barrier, as gpu/search/bounded.cu was before commit 5f988e2.
// The `Steps` of a rung supply the parts in which it differs.
//
//   1. Each team of 4 warps bounds its share of the level-1 nodes. Neighbouring shares are in one block.
//   2. It opens its best node; its warps score the 4 best leaves in it and write the best rows as seeds.
//   3. After the barrier every block takes the k-th best of the seeds as k-th score bound.
//   4. The block opens its nodes that reach the bound, scores their leaves that reach it, and lists the rows that reach it.
//   5. The last block to finish writes the answer.
//
// All of them use today's loads in flight (gpu/search/leaf_rows.cuh) and work lists.
#pragma once

#include <algorithm>

#include "bench/ladder/bounded/rungs.h"
#include "gpu/cuda/launch.h"
#include "gpu/search/answer.cuh"
#include "gpu/search/seed_phase.cuh"
#include "gpu/search/work_list.cuh"

namespace culmen::gpu::ladder {

inline constexpr int kLoads = 8;

// The arguments of every step.
struct Search {
  const MirrorRef& mirror;
  const SearchStateRef& state;
  QueryRef query;
  KeyScale scale;
  BlockShared& shared;
  Team team;
};

// Step 4. `List` takes the rows found: kth_bound(), append(pass, rows, lane) by a warp, and make_room() and
// flush() by all threads.
template <typename List>
class Visit {
 public:
  __device__ Visit(const Search& search, List& found, WorkList nodes, WorkList leaves)
      : search_(search), found_(found), nodes_(nodes), leaves_(leaves), lane_(search.team.lane) {}

  __device__ void run() {
    const Team& team = search_.team;
    for (auto share = static_cast<std::uint32_t>(team.warp); share < team.shares.groups_each;
         share += kTeamWarps)
      choose_nodes(share);
    __syncthreads();
    const std::uint32_t warp = threadIdx.x / kWarpSize;
    for (std::uint32_t i = warp; i < nodes_.size(); i += kSearchWarps) open(nodes_[i]);
    __syncthreads();
    for (std::uint32_t first = 0; first < leaves_.size(); first += kSearchWarps) {
      if (first > 0) found_.make_room();
      if (first + warp < leaves_.size()) visit(leaves_[first + warp]);
    }
    found_.flush();
  }

 private:
  __device__ void choose_nodes(std::uint32_t share) {
    const MirrorRef& mirror = search_.mirror;
    const double bound = search_.team.bound(search_.team.cell(share));
    const std::uint32_t node = search_.team.node(search_.team.cell(share));
    const std::uint32_t slot = search_.team.slot(share);
    const bool kept = !is_excluded(
        bound, found_.kth_bound(), [&] { return mirror.slot_min_ids[slot]; },
        [&] { return zone_of_bounds<QueryKind::plain>(mirror, search_.query, SlotColumn(mirror, slot)); });
    for (unsigned left = nodes_.push(kept, node, lane_); left != 0; left &= left - 1)
      open(__shfl_sync(kFullWarp, node, __ffs(static_cast<int>(left)) - 1));
  }

  __device__ void open(std::uint32_t index) {
    const Child child = child_of<QueryKind::plain>(search_.mirror, search_.query, index, lane_);
    const auto zone_vector = [&] {
      return zone_score<float, QueryKind::plain>(search_.mirror, search_.query, child.leaf);
    };
    const bool kept = !is_excluded(
        child.bound, found_.kth_bound(), [&] { return child.min_id; }, zone_vector);
    for (unsigned left = leaves_.push(kept, child.leaf, lane_); left != 0; left &= left - 1)
      visit(__shfl_sync(kFullWarp, child.leaf, __ffs(static_cast<int>(left)) - 1));
    if (lane_ == 0) atomicAdd(&search_.shared.nodes_visited, 1ull);
  }

  __device__ void visit(std::uint32_t leaf) {
    visit_leaf<float, kLoads, QueryKind::plain>(
        search_.mirror, search_.query, found_.kth_bound(), leaf, lane_, search_.shared,
        [&](auto& pass, const auto& rows, int lane) { found_.append(pass, rows, lane); });
  }

  const Search& search_;
  List& found_;
  WorkList nodes_, leaves_;
  int lane_;
};

// Steps:
//   kSmallGroups               slots of a small table are distributed in groups of fewer than 32
//   leaf_to_sample(search)     by a warp: the leaf of step 2, kNoNode if there is none
//   write_seeds(search, leaf)      by all threads
//   kth_bound(search, memory)      by all threads: of the seeds, which fit in memory
//   List                       of step 4
//   finish(search, items)      by all threads: step 5, items: [kSortCapacity] in shared memory
template <typename Steps>
__global__ void __launch_bounds__(kSearchThreads, 1)
    search_in_one_launch(const MirrorRef mirror, const SearchStateRef state, const Shares shares,
                         const __grid_constant__ QueryArgument packed) {
  extern __shared__ double dynamic_shared[];
  __shared__ BlockShared shared;
  __shared__ std::uint32_t num_nodes, num_leaves;
  if (threadIdx.x == 0) num_nodes = num_leaves = 0;
  const QueryRef query = take_query(packed, shared);
  std::uint32_t* rest = nullptr;
  Team team = make_team(mirror, state, shares, dynamic_shared, rest);
  team.index = blockIdx.x * kTeams + threadIdx.x / (kWarpSize * kTeamWarps);
  const Search search = {mirror, state, query, KeyScale(query), shared, team};
  auto* candidates = reinterpret_cast<Candidate*>(rest);
  std::uint32_t* lists = rest + kUsualRoom.candidate_bytes() / sizeof(std::uint32_t);

  bound_slots<QueryKind::plain>(mirror, query, team);
  __syncthreads();  // a team's bounds are read by all its warps
  Steps::write_seeds(search, Steps::leaf_to_sample(search));
  grid_barrier(state.counters->barrier, 1);
  const KthBound kth_bound = Steps::kth_bound(search, rest);
  __syncthreads();  // the seeds make room for the lists
  typename Steps::List found(state, search.scale, kth_bound, shared, candidates, kUsualRoom.candidates);
  Visit<typename Steps::List>(search, found, WorkList(lists, kUsualRoom.nodes, num_nodes),
                              WorkList(lists + kUsualRoom.nodes, kUsualRoom.leaves, num_leaves))
      .run();
  Steps::finish(search, candidates);
}

inline Shares share_out_whole_groups(std::uint32_t num_slots, unsigned num_blocks) {
  const std::uint32_t num_teams = num_blocks * kTeams;
  const std::uint32_t groups_each = (num_slots / kWarpSize + num_teams - 1) / num_teams;
  return {kWarpSize, groups_each, groups_each};
}

template <typename Steps>
void launch_in_one(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                   const GridPlan& plan, cudaStream_t stream) {
  const Shares shares = Steps::kSmallGroups ? share_out(mirror.num_slots, plan.num_blocks)
                                            : share_out_whole_groups(mirror.num_slots, plan.num_blocks);
  const std::size_t seed_bytes = std::size_t{2} * plan.num_blocks * kMaxSeeds * sizeof(std::uint32_t);
  const cuda::Shape shape = {
      .num_blocks = plan.num_blocks,
      .num_threads = kSearchThreads,
      .shared_bytes = slot_bytes(shares.groups_inside) + std::max(kUsualRoom.num_bytes(), seed_bytes),
      .cooperative = true};
  cuda::launch(search_in_one_launch<Steps>, shape, stream, mirror, state, shares, query);
}

}  // namespace culmen::gpu::ladder
