// How a search by the whole grid begins: the bounds of all level-1 nodes, and a look at the best of them.
#pragma once

#include "query/gpu/grid_search.cuh"

namespace culmen::gpu {

inline constexpr int kTeamWarps = 4;
inline constexpr int kTeams = kSearchWarps / kTeamWarps;  // of a block

// How the slots are shared out: in groups of up to 32, one a lane, to teams in turn. A small table's groups
// are smaller, so that all teams have a share.
struct Shares {
  std::uint32_t group_slots;
  std::uint32_t groups_each;  // the largest share
};

inline Shares share_out(std::uint32_t num_slots, unsigned num_blocks) {
  const std::uint32_t num_teams = num_blocks * kTeams;
  std::uint32_t group_slots = kWarpSize;
  while (group_slots > 1 && group_slots / 2 * num_teams >= num_slots) group_slots /= 2;
  return {group_slots, (num_slots / group_slots + num_teams - 1) / num_teams};
}

// A team's place in the grid and its groups of slots: `index`, `index + num_teams`, ...
struct Team {
  std::uint32_t index;      // in the grid
  std::uint32_t num_teams;  // in the grid
  Shares shares;
  int warp;  // in the team
  int lane;
  // [groups_each][32], in shared memory: of the nodes in the slots
  double* bounds;
  std::int64_t* min_ids;
  std::uint32_t* nodes;

  // The lane's in the share.
  __device__ std::uint32_t slot(std::uint32_t share) const {
    return (index + share * num_teams) * shares.group_slots + static_cast<std::uint32_t>(lane);
  }
  // Of the lane's slot in bounds and nodes.
  __device__ std::uint32_t place(std::uint32_t share) const {
    return share * kWarpSize + static_cast<std::uint32_t>(lane);
  }
};

// What all teams of a block keep of their slots.
inline std::size_t slot_bytes(const Shares& shares) {
  return (sizeof(double) + sizeof(std::int64_t) + sizeof(std::uint32_t)) * kTeams * shares.groups_each *
         kWarpSize;
}

// The calling warp's team. `memory`: slot_bytes(), of which `rest` is what lies behind.
__device__ inline Team make_team(const Shares& shares, double* memory, std::uint32_t*& rest) {
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const std::size_t each = std::size_t{shares.groups_each} * kWarpSize;
  const std::size_t first = static_cast<std::size_t>(warp / kTeamWarps) * each;
  auto* min_ids = reinterpret_cast<std::int64_t*>(memory + kTeams * each);
  auto* nodes = reinterpret_cast<std::uint32_t*>(min_ids + kTeams * each);
  rest = nodes + kTeams * each;
  // Neighbouring groups, which hold neighbouring nodes, go to different blocks.
  return {static_cast<std::uint32_t>(warp / kTeamWarps) * gridDim.x + blockIdx.x,
          gridDim.x * kTeams,
          shares,
          warp % kTeamWarps,
          static_cast<int>(threadIdx.x) % kWarpSize,
          memory + first,
          min_ids + first,
          nodes + first};
}

__device__ inline void bound_slots(const MirrorRef& mirror, QueryRef query, const Team& team) {
  const bool has_slots = static_cast<std::uint32_t>(team.lane) < team.shares.group_slots;
  for (auto share = static_cast<std::uint32_t>(team.warp); share < team.shares.groups_each;
       share += kTeamWarps) {
    std::uint32_t node = kNoNode;
    std::int64_t min_id = kNoId;
    double bound = -infinity();
    if (has_slots && team.slot(share) < mirror.num_slots) {
      node = mirror.slot_nodes[team.slot(share)];
      min_id = mirror.slot_min_ids[team.slot(share)];
      bound = block_bound(query, mirror.slot_bounds + team.slot(share), mirror.num_slots);
    }
    team.bounds[team.place(share)] = node == kNoNode ? -infinity() : bound;
    team.min_ids[team.place(share)] = min_id;
    team.nodes[team.place(share)] = node;
  }
}

// For choosing what to look at first.
__device__ inline std::uint32_t bound_key(double bound, const KeyScale& scale) {
  return bound == -infinity() ? KeyScale::kNone : scale.key(bound);
}

// The lane whose item has a rank in the order of the keys, then of the smallest ids; -1 if there is none.
template <typename MinId>
__device__ int lane_of_rank(std::uint32_t key, MinId&& min_id, int rank, int lane) {
  for (;; --rank) {
    std::uint32_t top = key;
    const unsigned tied = warp_argmax(top);
    if (top == KeyScale::kNone) return -1;
    const int best = smallest_id(tied, lane, min_id);
    if (rank == 0) return best;
    if (lane == best) key = KeyScale::kNone;
  }
}

// The team's nodes as its lanes offer them, the best of its own each.
class BestNodes {
 public:
  __device__ BestNodes(const Team& team, const KeyScale& scale) : team_(team) {
    for (std::uint32_t share = 1; share < team.shares.groups_each; ++share) {
      const double bound = team.bounds[team.place(share)], best_bound = team.bounds[team.place(best_)];
      if (bound > best_bound ||
          (bound == best_bound && bound != -infinity() && min_id(share) < min_id(best_)))
        best_ = share;
    }
    key_ = bound_key(team.bounds[team.place(best_)], scale);
  }

  // How many share the best key.
  __device__ int num_tied() const {
    std::uint32_t top = key_;
    return __popc(warp_argmax(top));
  }

  // The place of a node; kNoNode if there are not so many.
  __device__ std::uint32_t place_of_rank(int rank) const {
    const int lane = lane_of_rank(
        key_, [&] { return min_id(best_); }, rank, team_.lane);
    return lane < 0 ? kNoNode : __shfl_sync(kFullWarp, team_.place(best_), lane);
  }

 private:
  __device__ std::int64_t min_id(std::uint32_t share) const { return team_.min_ids[team_.place(share)]; }

  const Team& team_;
  std::uint32_t best_ = 0;  // the lane's share with its best node
  std::uint32_t key_;
};

// What a lane knows of its child of a node.
struct Child {
  double bound = -infinity();
  std::uint32_t leaf = 0;
  std::int64_t min_id = kNoId;
};

__device__ inline Child child_of(const MirrorRef& mirror, QueryRef query, std::uint32_t index, int lane) {
  const NodeRef node = mirror.node(index);
  return {child_bound(query, node, lane), node.children()[lane], node.min_ids()[lane]};
}

// A warp's look into the tree while nothing is known of the scores.
template <typename T, int kLoads>
class FirstLook {
 public:
  __device__ FirstLook(const MirrorRef& mirror, QueryRef query, const KeyScale& scale, const Team& team)
      : mirror_(mirror), query_(query), scale_(scale), team_(team), nodes_(team, scale) {}

  // Scores one of the 4 best leaves in the team's best node. If several nodes tie, the warps share them out,
  // for the rows with the smallest ids need not be all in one.
  __device__ TwoBest sample(Floor floor) {
    const int num_nodes = min(nodes_.num_tied(), kTeamWarps);
    opened_rank_ = team_.warp % num_nodes;
    const std::uint32_t place = nodes_.place_of_rank(opened_rank_);
    if (place == kNoNode) return {};
    child_ = child_of(mirror_, query_, team_.nodes[place], team_.lane);
    const int best = lane_of_rank(
        bound_key(child_.bound, scale_), [&] { return child_.min_id; }, team_.warp / num_nodes, team_.lane);
    if (best < 0) return {};
    return sample_leaf<T, kLoads>(mirror_, query_, scale_, floor, __shfl_sync(kFullWarp, child_.leaf, best),
                                  team_.lane);
  }

  // Opens the node that has the warp's rank among the team's, which most likely reaches the floor, and takes
  // it out of the team's. Behind a barrier.
  __device__ Child open_next(BlockShared& shared) {
    const std::uint32_t place = nodes_.place_of_rank(team_.warp);
    if (place == kNoNode) return {};
    if (opened_rank_ != team_.warp) child_ = child_of(mirror_, query_, team_.nodes[place], team_.lane);
    if (team_.lane == 0) {
      team_.bounds[place] = -infinity();
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
