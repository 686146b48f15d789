// bounded: the k best rows of one query, found by the whole grid.
//
//   1. Each team of 4 warps bounds its share of the level-1 nodes (2 bytes a node and weight step) and keeps
//      the bounds in shared memory, or those that do not fit in device memory.
//   2. It opens its best node and scores the 4 best leaves in it; each block writes the best rows as seeds.
//   3. While other blocks still do so, each warp opens one of the team's 4 best nodes.
//   4. After the only barrier, every block takes the k-th best of the seeds as k-th score bound.
//   5. The block opens its other nodes that reach that bound, scores the leaves that reach it (of many those whose codes do, too),
//      and collects their rows that do. The best of these go to the candidate list.
//   6. The last block to finish sorts the candidates.
//
// Exact for any k-th score bound: a row is skipped only if the chain bound of its leaf or node (docs/how-it-works.md)
// or its own score shows that k seeds rank before it.
#pragma once

#include "gpu/search/answer.cuh"
#include "gpu/search/keep_reaching.cuh"
#include "gpu/search/seed_phase.cuh"
#include "gpu/search/work_list.cuh"

namespace culmen::gpu {

inline constexpr int kBoundedLoads = 8;

// A block's search after the barrier: nodes that reach the k-th score bound, then leaves that do. All of its warps
// share each of the two.
template <typename T, QueryKind kKind>
class BoundedVisit {
 public:
  __device__ BoundedVisit(const MirrorRef& mirror, QueryRef query, BlockShared& shared,
                          BlockCandidates& found, WorkList nodes, WorkList leaves, std::uint32_t& num_kept)
      : mirror_(mirror),
        query_(query),
        shared_(shared),
        found_(found),
        nodes_(nodes),
        leaves_(leaves),
        num_kept_(num_kept) {}

  // `child`: of the node that the warp has opened.
  __device__ void run(const Team& team, const Child& child) {
    list_leaf(child);
    for (auto share = static_cast<std::uint32_t>(team.warp); share < team.shares.groups_each;
         share += kTeamWarps)
      choose_nodes(team, share);
    __syncthreads();
    const std::uint32_t warp = threadIdx.x / kWarpSize;
    for (std::uint32_t i = warp; i < nodes_.size(); i += kSearchWarps) open(nodes_[i]);
    __syncthreads();
    keep_reaching<T, kKind>(mirror_, query_, found_.kth_bound().score, leaves_, num_kept_);
    for (std::uint32_t first = 0; first < leaves_.size(); first += kSearchWarps) {
      if (first > 0) found_.make_room();
      if (first + warp < leaves_.size()) visit(leaves_[first + warp]);
    }
    found_.flush();
  }

 private:
  __device__ void choose_nodes(const Team& team, std::uint32_t share) {
    const std::uint32_t cell = team.cell(share);
    const double bound = team.bound(cell);
    const std::uint32_t node = team.node(cell);
    const std::uint32_t slot = team.slot(share);
    const bool kept = !is_excluded(
        bound, found_.kth_bound(), [&] { return team.min_id(cell); },
        [&] { return zone_of_bounds<kKind>(mirror_, query_, SlotColumn(mirror_, slot)); });
    for (unsigned left = nodes_.push(kept, node, lane_); left != 0; left &= left - 1)
      open(__shfl_sync(kFullWarp, node, __ffs(static_cast<int>(left)) - 1));
  }

  __device__ void open(std::uint32_t index) {
    list_leaf(child_of<kKind>(mirror_, query_, index, lane_));
    if (lane_ == 0) atomicAdd(&shared_.nodes_visited, 1ull);
  }

  __device__ void list_leaf(const Child& child) {
    const bool kept = !is_excluded(
        child.bound, found_.kth_bound(), [&] { return child.min_id; },
        [&] { return zone_score<T, kKind>(mirror_, query_, child.leaf); });
    for (unsigned left = leaves_.push(kept, child.leaf, lane_); left != 0; left &= left - 1)
      visit(__shfl_sync(kFullWarp, child.leaf, __ffs(static_cast<int>(left)) - 1));
  }

  __device__ void visit(std::uint32_t leaf) {
    visit_leaf<T, kBoundedLoads, kKind>(
        mirror_, query_, found_.kth_bound(), leaf, lane_, shared_,
        [&](auto& pass, const auto& rows, int lane) { found_.append(pass, rows, lane); });
  }

  const MirrorRef& mirror_;
  QueryRef query_;
  BlockShared& shared_;
  BlockCandidates& found_;
  WorkList nodes_, leaves_;
  std::uint32_t& num_kept_;  // of leaves_, by codes
  int lane_ = static_cast<int>(threadIdx.x) % kWarpSize;
};

// A block's shared memory, beside the dynamic one.
struct BoundedShared {
  BlockShared block;
  std::uint32_t num_nodes, num_leaves, num_kept;
};

// The query is in the block's shared memory (take_query). Dynamic shared memory: the slots' bounds and nodes, then memory
// that holds in turn the seeds' keys, the rows found and work lists, and the answer.
template <typename T, QueryKind kKind>
__device__ void search_by_bounds(const MirrorRef& mirror, const SearchStateRef& state, const GridRoom& room,
                                 QueryRef query, BoundedShared& shared, double* dynamic_shared) {
  if (threadIdx.x == 0) shared.num_nodes = shared.num_leaves = shared.num_kept = 0;
  const KeyScale scale(query);
  std::uint32_t* rest = nullptr;
  const Team team = make_team(mirror, state, room.shares, dynamic_shared, rest);
  auto* candidates = reinterpret_cast<Candidate*>(rest);
  std::uint32_t* lists = rest + room.visit.candidate_bytes() / sizeof(std::uint32_t);

  bound_slots<kKind>(mirror, query, team);
  __syncthreads();  // a team's bounds are read by all its warps
  SeedPhase<T, kBoundedLoads, kKind> seed(mirror, query, scale, team);
  write_seeds<T>(mirror, state, room, shared.block, seed.sample(state.kth_bound), team.lane);
  GridBarrier barrier(state.counters->barrier, 1);
  barrier.arrive();
  const Child child = seed.open_next(shared.block);
  barrier.wait();
  const KthBound kth_bound = kth_bound_of_seeds<T>(mirror, state, room, scale, shared.block, rest);
  __syncthreads();  // the candidates overwrite the seeds' keys
  BlockCandidates found(state, scale, kth_bound, shared.block, candidates, room.visit.candidates);
  BoundedVisit<T, kKind>(
      mirror, query, shared.block, found, WorkList(lists, room.visit.nodes, shared.num_nodes),
      WorkList(lists + room.visit.nodes, room.visit.leaves, shared.num_leaves), shared.num_kept)
      .run(team, child);
  finish(state, scale, shared.block, candidates);
}

}  // namespace culmen::gpu
