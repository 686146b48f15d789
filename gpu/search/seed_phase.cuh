// The seed phase of a search by the whole grid: it bounds all level-1 nodes, and scores a sample, some of the best
// leaves below them, whose rows give the first k-th score bound.
#pragma once

#include "gpu/search/child_bound.cuh"
#include "gpu/search/grid_search.cuh"

namespace culmen::gpu {

// A team of warps and its groups of slots: `index`, `index + num_teams`, ... The bounds of the first groups are in
// shared memory, those of further groups, if they do not fit, in device memory.
class Team {
 public:
  std::uint32_t index;      // in the grid
  std::uint32_t num_teams;  // in the grid
  Shares shares;
  int warp;  // in the team
  int lane;
  // [groups_inside][32] in shared memory, of the nodes in the slots
  double* bounds;
  std::int64_t* min_ids;
  std::uint32_t* nodes;
  double* outside;  // [num_slots], in device memory
  const MirrorRef& mirror;

  // The lane's slot of a share: its number in the team is the cell, its number in the mirror the slot.
  __device__ std::uint32_t cell(std::uint32_t share) const {
    return share * kWarpSize + static_cast<std::uint32_t>(lane);
  }
  __device__ std::uint32_t slot(std::uint32_t share) const { return slot_at(cell(share)); }

  // The bound and the smallest id of the node in a cell, after set(); -infinity and kNoNode if there is no node.
  __device__ double bound(std::uint32_t cell) const {
    if (is_inside(cell)) return bounds[cell];
    return has_slot(cell) ? outside[slot_at(cell)] : -infinity();
  }
  __device__ std::int64_t min_id(std::uint32_t cell) const {
    if (is_inside(cell)) return min_ids[cell];
    return has_slot(cell) ? mirror.slot_min_ids[slot_at(cell)] : kNoId;
  }
  __device__ std::uint32_t node(std::uint32_t cell) const {
    if (is_inside(cell)) return nodes[cell];
    return has_slot(cell) ? mirror.slot_nodes[slot_at(cell)] : kNoNode;
  }

  __device__ bool has_slot(std::uint32_t cell) const {
    return cell % kWarpSize < shares.group_size && slot_at(cell) < mirror.num_slots;
  }
  __device__ void set(std::uint32_t cell, double bound, std::int64_t min_id, std::uint32_t node) const {
    if (is_inside(cell)) {
      bounds[cell] = bound;
      min_ids[cell] = min_id;
      nodes[cell] = node;
    } else if (has_slot(cell)) {
      outside[slot_at(cell)] = bound;
    }
  }
  // Excludes the node, because it has been opened.
  __device__ void take_out(std::uint32_t cell) const {
    (is_inside(cell) ? bounds[cell] : outside[slot_at(cell)]) = -infinity();
  }

 private:
  __device__ bool is_inside(std::uint32_t cell) const { return cell < shares.groups_inside * kWarpSize; }
  __device__ std::uint32_t slot_at(std::uint32_t cell) const {
    return (index + cell / kWarpSize * num_teams) * shares.group_size + cell % kWarpSize;
  }
};

// The calling warp's team. `memory`: slot_bytes(groups_inside); `rest` becomes the memory after it.
__device__ inline Team make_team(const MirrorRef& mirror, const SearchStateRef& state, const Shares& shares,
                                 double* memory, std::uint32_t*& rest) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const std::size_t each = std::size_t{shares.groups_inside} * kWarpSize;
  const std::size_t first = static_cast<std::size_t>(warp) / kTeamWarps * each;
  auto* min_ids = reinterpret_cast<std::int64_t*>(memory + kTeams * each);
  auto* nodes = reinterpret_cast<std::uint32_t*>(min_ids + kTeams * each);
  rest = nodes + kTeams * each;
  // Different blocks take neighbouring groups.
  return {static_cast<std::uint32_t>(warp) / kTeamWarps * gridDim.x + blockIdx.x,
          gridDim.x * kTeams,
          shares,
          warp % static_cast<int>(kTeamWarps),
          static_cast<int>(threadIdx.x) % kWarpSize,
          memory + first,
          min_ids + first,
          nodes + first,
          state.outside,
          mirror};
}

template <QueryKind kKind>
__device__ void bound_slots(const MirrorRef& mirror, QueryRef query, const Team& team) {
  for (auto share = static_cast<std::uint32_t>(team.warp); share < team.shares.groups_each;
       share += kTeamWarps) {
    const std::uint32_t cell = team.cell(share);
    std::uint32_t node = kNoNode;
    std::int64_t min_id = kNoId;
    double bound = -infinity();
    if (team.has_slot(cell)) {
      const std::uint32_t slot = team.slot(share);
      node = mirror.slot_nodes[slot];
      min_id = mirror.slot_min_ids[slot];
      bound = slot_bound<kKind>(mirror, query, slot, node);
    }
    team.set(cell, node == kNoNode ? -infinity() : bound, min_id, node);
  }
}

// To choose what to open first.
__device__ inline std::uint32_t bound_key(double bound, const KeyScale& scale) {
  return bound == -infinity() ? KeyScale::kNone : scale.key(bound);
}

// The lane whose item has this rank, from 0 on, by key and then by smallest id; -1 if there is none.
template <typename MinId>
__device__ int lane_of_rank(std::uint32_t key, MinId&& min_id, int rank, int lane) {
  for (;; --rank) {  // at most rank + 1 times
    std::uint32_t top = key;
    const unsigned tied = warp_argmax(top);
    if (top == KeyScale::kNone) return -1;
    const int best = smallest_id(tied, lane, min_id);
    if (rank == 0) return best;
    if (lane == best) key = KeyScale::kNone;
  }
}

// Nodes with bounds above this are not chosen first: of a page, the score of its cursor. Most rows below them are on earlier
// pages, and so give no k-th score bound.
template <QueryKind kKind>
__device__ double most_to_begin_with(QueryRef query) {
  if constexpr (kKind == QueryKind::with_functions) return query.functions()->page.after_score;
  return infinity();
}

// The best node of each lane of a team, of those with bounds of `most` or less.
class BestNodes {
 public:
  __device__ BestNodes(const Team& team, const KeyScale& scale, double most) : team_(team) {
    double best_bound = -infinity();
    for (std::uint32_t share = 0; share < team.shares.groups_each; ++share) {
      const double bound = team.bound(team.cell(share));
      if (bound > most) continue;
      if (bound > best_bound ||
          (bound == best_bound && bound != -infinity() && min_id(share) < min_id(best_))) {
        best_ = share;
        best_bound = bound;
      }
    }
    key_ = bound_key(best_bound, scale);
  }

  // How many share the best key.
  __device__ int num_tied() const {
    std::uint32_t top = key_;
    return __popc(warp_argmax(top));
  }

  // The cell of the node with this rank; kNoNode if there are fewer.
  __device__ std::uint32_t cell_of_rank(int rank) const {
    const int lane = lane_of_rank(
        key_, [&] { return min_id(best_); }, rank, team_.lane);
    return lane < 0 ? kNoNode : __shfl_sync(kFullWarp, team_.cell(best_), lane);
  }

 private:
  __device__ std::int64_t min_id(std::uint32_t share) const { return team_.min_id(team_.cell(share)); }

  const Team& team_;
  std::uint32_t best_ = 0;  // the lane's share with its best node
  std::uint32_t key_;
};

// A lane's child of a node.
struct Child {
  double bound = -infinity();
  std::uint32_t leaf = 0;
  std::int64_t min_id = kNoId;
};

template <QueryKind kKind>
__device__ Child child_of(const MirrorRef& mirror, QueryRef query, std::uint32_t index, int lane) {
  const NodeRef node = mirror.node(index);
  return {child_bound<kKind>(mirror, query, index, lane), node.children()[lane], node.min_ids()[lane]};
}

// A warp's part in the seed phase, when no score is known yet.
template <typename T, int kLoads, QueryKind kKind>
class SeedPhase {
 public:
  __device__ SeedPhase(const MirrorRef& mirror, QueryRef query, const KeyScale& scale, const Team& team)
      : mirror_(mirror),
        query_(query),
        scale_(scale),
        team_(team),
        nodes_(team, scale, most_to_begin_with<kKind>(query)) {}

  // Scores one of the 4 best leaves in the team's best node. If several nodes tie, the warps take different ones: the
  // rows with the smallest ids need not all be in one.
  __device__ TwoBest sample(KthBound kth_bound) {
    const int num_nodes = min(nodes_.num_tied(), static_cast<int>(kTeamWarps));
    opened_rank_ = team_.warp % num_nodes;
    const std::uint32_t cell = nodes_.cell_of_rank(opened_rank_);
    if (cell == kNoNode) return {};
    child_ = child_of<kKind>(mirror_, query_, team_.node(cell), team_.lane);
    const int best = lane_of_rank(
        bound_key(child_.bound, scale_), [&] { return child_.min_id; }, team_.warp / num_nodes, team_.lane);
    if (best < 0) return {};
    return sample_leaf<T, kLoads, kKind>(mirror_, query_, scale_, kth_bound,
                                         __shfl_sync(kFullWarp, child_.leaf, best), team_.lane);
  }

  // After a barrier: opens the node that has the warp's rank in the team, which most likely reaches the k-th score
  // bound, and takes it out of the team's cells.
  __device__ Child open_next(BlockShared& shared) {
    const std::uint32_t cell = nodes_.cell_of_rank(team_.warp);
    if (cell == kNoNode) return {};
    if (opened_rank_ != team_.warp) child_ = child_of<kKind>(mirror_, query_, team_.node(cell), team_.lane);
    if (team_.lane == 0) {
      team_.take_out(cell);
      atomicAdd(&shared.nodes_visited, 1ull);
    }
    return child_;
  }

 private:
  const MirrorRef& mirror_;
  QueryRef query_;
  const KeyScale& scale_;
  const Team& team_;
  BestNodes nodes_;
  int opened_rank_ = 0;
  Child child_;
};

}  // namespace culmen::gpu
