// bounded: the k best rows of one query, found by the whole grid in one launch.
//
//   1. Each team of 4 warps bounds its share of the level-1 nodes (2 bytes a node and weight step) and keeps
//      the bounds in shared memory.
//   2. It opens its best node and scores the 4 best leaves in it; each block publishes the best rows.
//   3. While the others do so too, each warp opens one of the team's 4 best nodes.
//   4. Behind the only barrier, every block takes the k-th best of what was published as floor.
//   5. The block opens its other nodes that reach the floor, scores the leaves that reach it, and appends
//   their
//      rows that do to the candidate list.
//   6. The last block to finish sorts the candidates.
//
// Exact for any floor: a row is left out only if the chain bound of its leaf or node (docs/how-it-works.md)
// or its own score shows that k published rows rank before it.
#include <algorithm>

#include "query/cuda/launch.h"
#include "query/gpu/answer.cuh"
#include "query/gpu/engines.h"

namespace culmen::gpu {
namespace {

constexpr int kTeamWarps = 4;
constexpr int kTeams = kSearchWarps / kTeamWarps;  // of a block
constexpr int kLoads = 8;

// Nodes and leaves that a block lists to share them out among its warps; what is more is visited at once.
constexpr std::uint32_t kListedNodes = 1024;
constexpr std::uint32_t kListedLeaves = 4096;
constexpr std::size_t kVisitBytes =
    BlockCandidates::kBytes + (kListedNodes + kListedLeaves) * sizeof(std::uint32_t);
static_assert(kSortBytes <= kVisitBytes);

// How the slots are shared out: in groups of up to 32, one a lane, to teams in turn. A small table's groups
// are smaller, so that all teams have a share.
struct Shares {
  std::uint32_t group_slots;
  std::uint32_t groups_each;  // the largest share
};

Shares share_out(std::uint32_t num_slots, unsigned num_blocks) {
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
  double* bounds;        // [groups_each][32], in shared memory
  std::uint32_t* nodes;  // the same

  // The lane's in the share.
  __device__ std::uint32_t slot(std::uint32_t share) const {
    return (index + share * num_teams) * shares.group_slots + static_cast<std::uint32_t>(lane);
  }
  // Of the lane's slot in bounds and nodes.
  __device__ std::uint32_t place(std::uint32_t share) const {
    return share * kWarpSize + static_cast<std::uint32_t>(lane);
  }
};

__device__ void bound_slots(const MirrorRef& mirror, QueryRef query, const Team& team) {
  const bool has_slots = static_cast<std::uint32_t>(team.lane) < team.shares.group_slots;
  for (auto share = static_cast<std::uint32_t>(team.warp); share < team.shares.groups_each;
       share += kTeamWarps) {
    std::uint32_t node = kNoNode;
    double bound = -infinity();
    if (has_slots && team.slot(share) < mirror.num_slots) {
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
  __device__ BestNodes(const MirrorRef& mirror, const Team& team, const KeyScale& scale)
      : mirror_(mirror), team_(team) {
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
  __device__ std::int64_t min_id(std::uint32_t share) const {
    return mirror_.slot_min_ids[team_.slot(share)];
  }

  const MirrorRef& mirror_;
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

__device__ Child child_of(const MirrorRef& mirror, QueryRef query, std::uint32_t index, int lane) {
  const NodeRef node = mirror.node(index);
  return {child_bound(query, node, lane), node.children()[lane], node.min_ids()[lane]};
}

// A warp's look into the tree while nothing is known of the scores.
template <typename T>
class FirstLook {
 public:
  __device__ FirstLook(const MirrorRef& mirror, QueryRef query, const KeyScale& scale, const Team& team)
      : mirror_(mirror), query_(query), scale_(scale), team_(team), nodes_(mirror, team, scale) {}

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

// A list in shared memory that all warps of a block fill and then share out.
class WorkList {
 public:
  __device__ WorkList(std::uint32_t* items, std::uint32_t capacity, std::uint32_t& num_pushed)
      : items_(items), capacity_(capacity), num_pushed_(num_pushed) {}

  // By a whole warp: takes the lanes' items where `wanted`; the lanes whose items found no room.
  __device__ unsigned push(bool wanted, std::uint32_t item, int lane) {
    const unsigned all = __ballot_sync(kFullWarp, wanted);
    if (all == 0) return 0;
    std::uint32_t first = 0;
    if (lane == 0) first = atomicAdd(&num_pushed_, static_cast<unsigned>(__popc(all)));
    first = __shfl_sync(kFullWarp, first, 0);
    const std::uint32_t place = first + static_cast<std::uint32_t>(__popc(all & ((1u << lane) - 1)));
    const bool fits = place < capacity_;
    if (wanted && fits) items_[place] = item;
    return __ballot_sync(kFullWarp, wanted && !fits);
  }

  // Behind a barrier.
  __device__ std::uint32_t size() const { return min(num_pushed_, capacity_); }
  __device__ std::uint32_t operator[](std::uint32_t i) const { return items_[i]; }

 private:
  std::uint32_t* items_;
  std::uint32_t capacity_;
  std::uint32_t& num_pushed_;
};

// The second half of a search by one block: nodes that reach the floor, then leaves that do. All warps share
// the work of each half, wherever in the block's share of the tree it lies.
template <typename T>
class Visit {
 public:
  __device__ Visit(const MirrorRef& mirror, QueryRef query, BlockShared& shared, BlockCandidates& found,
                   WorkList nodes, WorkList leaves)
      : mirror_(mirror), query_(query), shared_(shared), found_(found), nodes_(nodes), leaves_(leaves) {}

  // `child`: of the node that the warp has opened.
  __device__ void run(const Team& team, const Child& child) {
    list_leaf(child);
    for (auto share = static_cast<std::uint32_t>(team.warp); share < team.shares.groups_each;
         share += kTeamWarps)
      choose_slots(team, share);
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
  __device__ void choose_slots(const Team& team, std::uint32_t share) {
    const double bound = team.bounds[team.place(share)];
    const std::uint32_t node = team.nodes[team.place(share)];
    const std::uint32_t slot = team.slot(share);
    const bool kept = !is_excluded(
        bound, found_.floor(), [&] { return mirror_.slot_min_ids[slot]; },
        [&] { return corner_of_bounds(mirror_, query_, mirror_.slot_bounds + slot, mirror_.num_slots); });
    for (unsigned left = nodes_.push(kept, node, lane_); left != 0; left &= left - 1)
      open(__shfl_sync(kFullWarp, node, __ffs(static_cast<int>(left)) - 1));
  }

  __device__ void open(std::uint32_t index) {
    list_leaf(child_of(mirror_, query_, index, lane_));
    if (lane_ == 0) atomicAdd(&shared_.nodes_visited, 1ull);
  }

  __device__ void list_leaf(const Child& child) {
    const bool kept = !is_excluded(
        child.bound, found_.floor(), [&] { return child.min_id; },
        [&] { return corner_score<T>(mirror_, query_, child.leaf, Corner::maximum, Corner::minimum); });
    for (unsigned left = leaves_.push(kept, child.leaf, lane_); left != 0; left &= left - 1)
      visit(__shfl_sync(kFullWarp, child.leaf, __ffs(static_cast<int>(left)) - 1));
  }

  __device__ void visit(std::uint32_t leaf) {
    visit_leaf<T, kLoads>(mirror_, query_, found_.floor(), leaf, lane_, shared_,
                          [&](auto& pass, const auto& rows, int lane) { found_.append(pass, rows, lane); });
  }

  const MirrorRef& mirror_;
  QueryRef query_;
  BlockShared& shared_;
  BlockCandidates& found_;
  WorkList nodes_, leaves_;
  int lane_ = static_cast<int>(threadIdx.x) % kWarpSize;
};

// Dynamic shared memory: the slots' bounds and nodes, then room for the published keys, for what a block
// finds and its work lists, and for the answer, one after the other.
template <typename T>
__global__ void __launch_bounds__(kSearchThreads, 1)
    search_bounded(const MirrorRef mirror, const SearchStateRef state, const Shares shares,
                   const __grid_constant__ QueryArgument packed) {
  extern __shared__ double dynamic_shared[];
  __shared__ BlockShared shared;
  __shared__ std::uint32_t num_nodes, num_leaves;
  if (threadIdx.x == 0) num_nodes = num_leaves = 0;
  const QueryRef query = take_query(packed, shared);
  const KeyScale scale(query);
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  const std::uint32_t share_slots = shares.groups_each * kWarpSize;
  auto* slot_nodes = reinterpret_cast<std::uint32_t*>(dynamic_shared + std::size_t{kTeams} * share_slots);
  const std::size_t team_slots = static_cast<std::size_t>(warp / kTeamWarps) * share_slots;
  // Neighbouring groups, which hold neighbouring nodes, go to different blocks.
  const Team team = {static_cast<std::uint32_t>(warp / kTeamWarps) * gridDim.x + blockIdx.x,
                     gridDim.x * kTeams,
                     shares,
                     warp % kTeamWarps,
                     static_cast<int>(threadIdx.x) % kWarpSize,
                     dynamic_shared + team_slots,
                     slot_nodes + team_slots};
  std::uint32_t* rest = slot_nodes + std::size_t{kTeams} * share_slots;
  auto* candidates = reinterpret_cast<Candidate*>(rest);
  std::uint32_t* lists = rest + BlockCandidates::kBytes / sizeof(std::uint32_t);

  bound_slots(mirror, query, team);
  __syncthreads();  // a team's bounds are read by all its warps
  FirstLook<T> look(mirror, query, scale, team);
  publish(state, shared, look.sample(state.floor), team.lane);
  GridBarrier barrier(*state.counters, 1);
  barrier.arrive();
  const Child child = look.open_next(shared);
  barrier.wait();
  const Floor floor = floor_of_published(mirror, state, scale, shared, rest);
  __syncthreads();  // the published keys make room for the candidates
  BlockCandidates found(state, scale, floor, shared, candidates);
  Visit<T>(mirror, query, shared, found, WorkList(lists, kListedNodes, num_nodes),
           WorkList(lists + kListedNodes, kListedLeaves, num_leaves))
      .run(team, child);
  finish(state, scale, shared, candidates);
}

}  // namespace

template <typename T>
void launch_bounded(const MirrorRef& mirror, const SearchStateRef& state, const QueryArgument& query,
                    const Grid& grid, cudaStream_t stream) {
  const Shares shares = share_out(mirror.num_slots, grid.num_multiprocessors);
  const std::size_t slot_bytes =
      (sizeof(double) + sizeof(std::uint32_t)) * kTeams * shares.groups_each * kWarpSize;
  const cuda::Shape shape = {.num_blocks = grid.num_multiprocessors,
                             .num_threads = kSearchThreads,
                             .shared_bytes = slot_bytes + std::max(kVisitBytes, published_key_bytes(grid)),
                             .cooperative = true};
  cuda::launch(search_bounded<T>, shape, stream, mirror, state, shares, query);
}

template void launch_bounded<float>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                    const Grid&, cudaStream_t);
template void launch_bounded<double>(const MirrorRef&, const SearchStateRef&, const QueryArgument&,
                                     const Grid&, cudaStream_t);

}  // namespace culmen::gpu
