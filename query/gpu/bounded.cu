// bounded: the k best rows of one query, found by the whole grid in one launch.
//
//   1. Each team of 4 warps bounds its share of the level-1 nodes (2 bytes a node and weight step,
//   subset-major)
//      and keeps the bounds in shared memory.
//   2. It opens its best node, scores the 4 best leaves in it and publishes the best scores.
//   3. Behind the only barrier, every block takes the k-th best published score as floor.
//   4. The team opens its nodes that reach the floor, scores their leaves that reach it, and appends the rows
//   that
//      reach it to the candidate list.
//   5. The last block to finish sorts the candidates.
//
// Exact for any floor: a row is left out only if the chain bound of its leaf or node (docs/how-it-works.md)
// or its own score shows that k published rows rank before it.
#include <algorithm>

#include "query/cuda/launch.h"
#include "query/gpu/engines.h"
#include "query/gpu/grid_search.cuh"

namespace culmen::gpu {
namespace {

constexpr int kTeamWarps = 4;
constexpr int kTeams = kSearchWarps / kTeamWarps;  // of a block

// A team's place in the grid and its share of the slots: groups of 32, `team`, `team + num_teams`, ...
struct Team {
  std::uint32_t index;        // in the grid
  std::uint32_t num_teams;    // in the grid
  std::uint32_t num_groups;   // of slots, in the mirror
  std::uint32_t groups_each;  // the largest share
  int warp;                   // in the team
  int lane;
  double* bounds;  // [groups_each][32], in shared memory

  __device__ std::uint32_t slot(std::uint32_t share) const {
    return (index + share * num_teams) * kWarpSize + static_cast<std::uint32_t>(lane);
  }
};

std::uint32_t groups_per_team(std::uint32_t num_slots, unsigned num_blocks) {
  const std::uint32_t num_teams = num_blocks * kTeams;
  return (num_slots / kWarpSize + num_teams - 1) / num_teams;
}

__device__ void bound_slots(const MirrorRef& mirror, QueryRef query, const Team& team) {
  for (auto share = static_cast<std::uint32_t>(team.warp); share < team.groups_each; share += kTeamWarps) {
    const bool exists = team.index + share * team.num_teams < team.num_groups;
    double bound = -infinity();
    if (exists && mirror.slot_nodes[team.slot(share)] != kNoNode)
      bound = block_bound(query, mirror.slot_bounds + team.slot(share), mirror.num_slots);
    team.bounds[share * kWarpSize + static_cast<std::uint32_t>(team.lane)] = bound;
  }
}

// The slot of the team's best node; kNoNode if no node is left. The same for all its warps.
__device__ std::uint32_t best_slot(const Team& team) {
  double best = -infinity();
  std::uint32_t best_share = 0;
  for (std::uint32_t share = 0; share < team.groups_each; ++share) {
    const double bound = team.bounds[share * kWarpSize + static_cast<std::uint32_t>(team.lane)];
    if (bound > best) {
      best = bound;
      best_share = share;
    }
  }
  const std::uint32_t slot = team.slot(best_share);
  const int owner = warp_argmax(best);
  return best == -infinity() ? kNoNode : __shfl_sync(kFullWarp, slot, owner);
}

// The child with the warp's place in the order of the bounds; -1 if it has none.
__device__ int child_of_rank(double bound, int rank, int lane) {
  int mine = 0;
  for (int other = 0; other < kWarpSize; ++other) {
    const double theirs = __shfl_sync(kFullWarp, bound, other);
    mine += theirs > bound || (theirs == bound && other < lane) ? 1 : 0;
  }
  return __ffs(static_cast<int>(__ballot_sync(kFullWarp, mine == rank && bound != -infinity()))) - 1;
}

template <typename T>
__device__ TwoBest sample_best_node(const MirrorRef& mirror, QueryRef query, Floor floor, const Team& team) {
  TwoBest best = {-infinity(), -infinity()};
  const std::uint32_t slot = best_slot(team);
  if (slot == kNoNode) return best;
  const NodeRef node = mirror.node(mirror.slot_nodes[slot]);
  const int child = child_of_rank(child_bound(query, node, team.lane), team.warp, team.lane);
  if (child < 0) return best;
  score_leaf<T>(mirror, query, node.children()[child], team.lane,
                [&](std::uint32_t, double score, bool valid) {
                  if (valid && score >= floor.score) best.offer(score);
                });
  return best;
}

// Opens a node; the team's warps take turns with the leaves that reach the floor.
template <typename T>
__device__ void visit_node(const MirrorRef& mirror, QueryRef query, const SearchStateRef& state, Floor floor,
                           NodeRef node, const Team& team, int& turn, BlockShared& shared) {
  const double bound = child_bound(query, node, team.lane);
  const std::uint32_t leaf = node.children()[team.lane];
  const bool kept = !is_excluded(bound, floor, [&] { return node.min_ids()[team.lane]; });
  for (unsigned left = __ballot_sync(kFullWarp, kept); left != 0; left &= left - 1) {
    const std::uint32_t next = __shfl_sync(kFullWarp, leaf, __ffs(static_cast<int>(left)) - 1);
    if (turn == team.warp) visit_leaf<T>(mirror, query, state, floor, next, team.lane, shared);
    turn = (turn + 1) % kTeamWarps;
  }
}

template <typename T>
__device__ void visit_slots(const MirrorRef& mirror, QueryRef query, const SearchStateRef& state, Floor floor,
                            const Team& team, BlockShared& shared) {
  int turn = 0;
  for (std::uint32_t share = 0; share < team.groups_each; ++share) {
    const std::uint32_t slot = team.slot(share);
    const double bound = team.bounds[share * kWarpSize + static_cast<std::uint32_t>(team.lane)];
    const bool kept = !is_excluded(bound, floor, [&] { return mirror.slot_min_ids[slot]; });
    const unsigned all_kept = __ballot_sync(kFullWarp, kept);
    if (all_kept == 0) continue;
    const std::uint32_t node = kept ? mirror.slot_nodes[slot] : kNoNode;
    for (unsigned left = all_kept; left != 0; left &= left - 1) {
      const std::uint32_t next = __shfl_sync(kFullWarp, node, __ffs(static_cast<int>(left)) - 1);
      visit_node<T>(mirror, query, state, floor, mirror.node(next), team, turn, shared);
    }
    if (team.warp == 0 && team.lane == 0)
      atomicAdd(&shared.nodes_visited, static_cast<unsigned long long>(__popc(all_kept)));
  }
}

// Dynamic shared memory: the slots' bounds, then room for the published scores and later for the answer.
template <typename T>
__global__ void __launch_bounds__(kSearchThreads)
    search_bounded(const MirrorRef mirror, const SearchStateRef state, std::uint32_t groups_each,
                   const __grid_constant__ PackedQuery packed) {
  extern __shared__ double dynamic_shared[];
  __shared__ BlockShared shared;
  const QueryRef query = take_query(packed, shared);
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const Team team = {blockIdx.x * kTeams + static_cast<std::uint32_t>(warp / kTeamWarps),
                     gridDim.x * kTeams,
                     mirror.num_slots / kWarpSize,
                     groups_each,
                     warp % kTeamWarps,
                     static_cast<int>(threadIdx.x) % kWarpSize,
                     dynamic_shared + static_cast<std::size_t>(warp / kTeamWarps) * groups_each * kWarpSize};
  double* rest = dynamic_shared + static_cast<std::size_t>(kTeams) * groups_each * kWarpSize;

  bound_slots(mirror, query, team);
  __syncthreads();  // a team's bounds are read by all its warps
  publish(state, blockIdx.x * kSearchWarps + static_cast<std::uint32_t>(warp), team.lane,
          sample_best_node<T>(mirror, query, state.floor, team));
  grid_barrier(*state.counters, 1);
  const Floor floor = floor_of_published(state, shared, rest);
  visit_slots<T>(mirror, query, state, floor, team, shared);
  finish(state, shared, reinterpret_cast<Candidate*>(rest));
}

}  // namespace

template <typename T>
void launch_bounded(const MirrorRef& mirror, const SearchStateRef& state, const PackedQuery& query,
                    const Grid& grid, cudaStream_t stream) {
  const std::uint32_t groups_each = groups_per_team(mirror.num_slots, grid.num_multiprocessors);
  const std::size_t bounds_bytes = sizeof(double) * kTeams * groups_each * kWarpSize;
  const cuda::Shape shape = {.num_blocks = grid.num_multiprocessors,
                             .num_threads = kSearchThreads,
                             .shared_bytes = bounds_bytes + std::max(kSortBytes, published_bytes(grid)),
                             .cooperative = true};
  cuda::allow_shared_bytes(search_bounded<T>, shape.shared_bytes);
  cuda::launch(search_bounded<T>, shape, stream, mirror, state, groups_each, query);
}

template void launch_bounded<float>(const MirrorRef&, const SearchStateRef&, const PackedQuery&, const Grid&,
                                    cudaStream_t);
template void launch_bounded<double>(const MirrorRef&, const SearchStateRef&, const PackedQuery&, const Grid&,
                                     cudaStream_t);

}  // namespace culmen::gpu
