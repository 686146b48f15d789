// bounded: the k best rows of one query, found by the whole grid in one launch.
//
//   1. Each team of 4 warps bounds its share of the level-1 nodes (2 bytes a node and weight step) and keeps
//      the bounds in shared memory.
//   2. It opens its best node and scores the 4 best leaves in it; each block publishes the best scores.
//   3. Behind the only barrier, every block takes the k-th best of what was published as floor.
//   4. The block opens its nodes that reach the floor, scores their leaves that reach it, and appends their
//      rows that do to the candidate list.
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
constexpr int kLoads = 8;

// Nodes and leaves that a block lists to share them out among its warps; what is more is visited at once.
constexpr std::uint32_t kListedNodes = 1024;
constexpr std::uint32_t kListedLeaves = 4096;
static_assert((kListedNodes + kListedLeaves) * sizeof(std::uint32_t) <= kSortBytes);

struct WorkCounts {
  std::uint32_t pushed;
  std::uint32_t popped;
};

// A team's place in the grid and its share of the slots: groups of 32, `team`, `team + num_teams`, ...
struct Team {
  std::uint32_t index;        // in the grid
  std::uint32_t num_teams;    // in the grid
  std::uint32_t num_groups;   // of slots, in the mirror
  std::uint32_t groups_each;  // the largest share
  int warp;                   // in the team
  int lane;
  double* bounds;        // [groups_each][32], in shared memory
  std::uint32_t* nodes;  // the same

  __device__ std::uint32_t slot(std::uint32_t share) const {
    return (index + share * num_teams) * kWarpSize + static_cast<std::uint32_t>(lane);
  }
  // Of the lane's slot in bounds and nodes.
  __device__ std::uint32_t place(std::uint32_t share) const {
    return share * kWarpSize + static_cast<std::uint32_t>(lane);
  }
};

std::uint32_t groups_per_team(std::uint32_t num_slots, unsigned num_blocks) {
  const std::uint32_t num_teams = num_blocks * kTeams;
  return (num_slots / kWarpSize + num_teams - 1) / num_teams;
}

__device__ void bound_slots(const MirrorRef& mirror, QueryRef query, const Team& team) {
  for (auto share = static_cast<std::uint32_t>(team.warp); share < team.groups_each; share += kTeamWarps) {
    std::uint32_t node = kNoNode;
    double bound = -infinity();
    if (team.index + share * team.num_teams < team.num_groups) {
      node = mirror.slot_nodes[team.slot(share)];
      bound = block_bound(query, mirror.slot_bounds + team.slot(share), mirror.num_slots);
    }
    team.bounds[team.place(share)] = node == kNoNode ? -infinity() : bound;
    team.nodes[team.place(share)] = node;
  }
}

// For choosing what to look at first.
__device__ std::uint32_t bound_key(double bound, const KeyScale& scale) {
  return bound == -infinity() ? KeyScale::kNone : scale.key(bound);
}

// The team's best node, or one of about the same bound; kNoNode if no node is left. The same for all its
// warps.
__device__ std::uint32_t best_node(const Team& team, const KeyScale& scale) {
  double best = -infinity();
  std::uint32_t place = team.place(0);
  for (std::uint32_t share = 0; share < team.groups_each; ++share)
    if (team.bounds[team.place(share)] > best) {
      place = team.place(share);
      best = team.bounds[place];
    }
  std::uint32_t key = bound_key(best, scale);
  place = __shfl_sync(kFullWarp, place, warp_argmax(key));
  return key == KeyScale::kNone ? kNoNode : team.nodes[place];
}

// The child of a rank in the order of the bounds, as far as keys tell them apart; -1 if it does not exist.
__device__ int child_of_rank(double bound, int rank, int lane, const KeyScale& scale) {
  std::uint32_t key = bound_key(bound, scale);
  for (;; --rank) {
    std::uint32_t top = key;
    const int child = warp_argmax(top);
    if (top == KeyScale::kNone) return -1;
    if (rank == 0) return child;
    if (lane == child) key = KeyScale::kNone;
  }
}

template <typename T>
__device__ TwoBest sample_best_node(const MirrorRef& mirror, QueryRef query, const KeyScale& scale,
                                    Floor floor, const Team& team) {
  const std::uint32_t index = best_node(team, scale);
  if (index == kNoNode) return {};
  const NodeRef node = mirror.node(index);
  const std::uint32_t leaves = node.children()[team.lane];  // asked for together with the bounds
  const int child = child_of_rank(child_bound(query, node, team.lane), team.warp, team.lane, scale);
  if (child < 0) return {};
  return sample_leaf<T, kLoads>(mirror, query, scale, floor, __shfl_sync(kFullWarp, leaves, child),
                                team.lane);
}

// A list in shared memory that all warps of a block fill and then empty.
class WorkList {
 public:
  __device__ WorkList(std::uint32_t* items, std::uint32_t capacity, WorkCounts& counts)
      : items_(items), capacity_(capacity), counts_(counts) {}

  // By a whole warp: takes the lanes' items where `wanted`; the lanes whose items found no room.
  __device__ unsigned push(bool wanted, std::uint32_t item, int lane) {
    const unsigned all = __ballot_sync(kFullWarp, wanted);
    if (all == 0) return 0;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(&counts_.pushed, static_cast<unsigned>(__popc(all)));
    first = __shfl_sync(kFullWarp, first, 0);
    const std::uint32_t place = first + static_cast<std::uint32_t>(__popc(all & ((1u << lane) - 1)));
    const bool fits = place < capacity_;
    if (wanted && fits) items_[place] = item;
    return __ballot_sync(kFullWarp, wanted && !fits);
  }

  // By a whole warp, behind a barrier: the next item, kNoNode if there is none.
  __device__ std::uint32_t pop(int lane) {
    std::uint32_t place = 0;
    if (lane == 0) place = atomicAdd(&counts_.popped, 1u);
    place = __shfl_sync(kFullWarp, place, 0);
    return place < min(counts_.pushed, capacity_) ? items_[place] : kNoNode;
  }

 private:
  std::uint32_t* items_;
  std::uint32_t capacity_;
  WorkCounts& counts_;
};

// The second half of a search by one block: nodes that reach the floor, then leaves that do. All warps share
// the work of each half, wherever in the block's share of the tree it lies.
template <typename T>
class Visit {
 public:
  __device__ Visit(const MirrorRef& mirror, QueryRef query, const SearchStateRef& state, Floor floor,
                   int lane, BlockShared& shared, WorkList nodes, WorkList leaves)
      : mirror_(mirror),
        query_(query),
        state_(state),
        floor_(floor),
        lane_(lane),
        shared_(shared),
        nodes_(nodes),
        leaves_(leaves) {}

  __device__ void run(const Team& team) {
    for (auto share = static_cast<std::uint32_t>(team.warp); share < team.groups_each; share += kTeamWarps)
      choose_slots(team, share);
    __syncthreads();
    for (std::uint32_t node; (node = nodes_.pop(lane_)) != kNoNode;) open(node);
    __syncthreads();
    for (std::uint32_t leaf; (leaf = leaves_.pop(lane_)) != kNoNode;) visit(leaf);
  }

 private:
  __device__ void choose_slots(const Team& team, std::uint32_t share) {
    const double bound = team.bounds[team.place(share)];
    const std::uint32_t node = team.nodes[team.place(share)];
    const bool kept = !is_excluded(bound, floor_, [&] { return mirror_.slot_min_ids[team.slot(share)]; });
    for (unsigned left = nodes_.push(kept, node, lane_); left != 0; left &= left - 1)
      open(__shfl_sync(kFullWarp, node, __ffs(static_cast<int>(left)) - 1));
  }

  __device__ void open(std::uint32_t index) {
    const NodeRef node = mirror_.node(index);
    const double bound = child_bound(query_, node, lane_);
    const std::uint32_t leaf = node.children()[lane_];
    const bool kept = !is_excluded(bound, floor_, [&] { return node.min_ids()[lane_]; });
    for (unsigned left = leaves_.push(kept, leaf, lane_); left != 0; left &= left - 1)
      visit(__shfl_sync(kFullWarp, leaf, __ffs(static_cast<int>(left)) - 1));
    if (lane_ == 0) atomicAdd(&shared_.nodes_visited, 1ull);
  }

  __device__ void visit(std::uint32_t leaf) {
    visit_leaf<T, kLoads>(mirror_, query_, state_, floor_, leaf, lane_, shared_);
  }

  const MirrorRef& mirror_;
  QueryRef query_;
  const SearchStateRef& state_;
  Floor floor_;
  int lane_;
  BlockShared& shared_;
  WorkList nodes_, leaves_;
};

// Dynamic shared memory: the slots' bounds and nodes, then room for the published keys, the work lists and
// the answer, one after the other.
template <typename T>
__global__ void __launch_bounds__(kSearchThreads, 1)
    search_bounded(const MirrorRef mirror, const SearchStateRef state, std::uint32_t groups_each,
                   const __grid_constant__ QueryArgument packed) {
  extern __shared__ double dynamic_shared[];
  __shared__ BlockShared shared;
  __shared__ WorkCounts node_counts, leaf_counts;
  if (threadIdx.x == 0) node_counts = leaf_counts = {0, 0};
  const QueryRef query = take_query(packed, shared);
  const KeyScale scale(query);
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const std::uint32_t share_slots = groups_each * kWarpSize;
  const Team team = {blockIdx.x * kTeams + static_cast<std::uint32_t>(warp / kTeamWarps),
                     gridDim.x * kTeams,
                     mirror.num_slots / kWarpSize,
                     groups_each,
                     warp % kTeamWarps,
                     static_cast<int>(threadIdx.x) % kWarpSize,
                     dynamic_shared + static_cast<std::size_t>(warp / kTeamWarps) * share_slots,
                     reinterpret_cast<std::uint32_t*>(dynamic_shared + std::size_t{kTeams} * share_slots) +
                         static_cast<std::size_t>(warp / kTeamWarps) * share_slots};
  auto* rest = reinterpret_cast<std::uint32_t*>(dynamic_shared + std::size_t{kTeams} * share_slots) +
               std::size_t{kTeams} * share_slots;

  bound_slots(mirror, query, team);
  __syncthreads();  // a team's bounds are read by all its warps
  publish(state, shared, sample_best_node<T>(mirror, query, scale, state.floor, team), team.lane);
  grid_barrier(*state.counters, 1);
  const Floor floor = floor_of_published(state, scale, shared, rest);
  __syncthreads();  // the published scores make room for the lists
  Visit<T>(mirror, query, state, floor, team.lane, shared, WorkList(rest, kListedNodes, node_counts),
           WorkList(rest + kListedNodes, kListedLeaves, leaf_counts))
      .run(team);
  finish(state, scale, shared, reinterpret_cast<Candidate*>(rest));
}

}  // namespace

template <typename T>
void launch_bounded(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                    const Grid& grid, cudaStream_t stream) {
  const std::uint32_t groups_each = groups_per_team(mirror.num_slots, grid.num_multiprocessors);
  const std::size_t slot_bytes = (sizeof(double) + sizeof(std::uint32_t)) * kTeams * groups_each * kWarpSize;
  const cuda::Shape shape = {.num_blocks = grid.num_multiprocessors,
                             .num_threads = kSearchThreads,
                             .shared_bytes = slot_bytes + std::max(kSortBytes, published_bytes(grid)),
                             .cooperative = true};
  cuda::launch(search_bounded<T>, shape, stream, mirror, state, groups_each, query);
}

template void launch_bounded<float>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                    const Grid&, cudaStream_t);
template void launch_bounded<double>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                     const Grid&, cudaStream_t);

}  // namespace culmen::gpu
