// The depth-first walk of one query by one warp: always into the best child that is left. There is no frontier to
// keep, only the bounds of the children on the way down, a lane for each child. A first walk into a few leaves gives
// the k-th score bound that such a walk lacks at its beginning.
#pragma once

#include "gpu/search/child_bound.cuh"
#include "gpu/search/leaf_rows.cuh"
#include "gpu/search/sweep.h"
#include "gpu/search/warp_best.cuh"

namespace culmen::gpu {

inline constexpr std::uint64_t kAnyNumber = ~std::uint64_t{0};  // of visits

// A warp's shared memory. (A struct for each level instead of these arrays was 3 % slower with k = 16, and 13 % with
// k = 128: 16 M x 8 on an H100.)
template <int kHeight>
struct WalkShared {
  double bounds[kHeight][kWarpSize];  // of the open node's children, by level
  std::uint32_t nodes[kHeight];       // the open node
  unsigned left[kHeight];             // its children not yet taken, a bit a child
  int num_taken[kHeight];
};

template <typename T, int kHeight, QueryKind kKind>
class DepthFirst {
 public:
  __device__ DepthFirst(const MirrorRef& mirror, QueryRef query, WalkShared<kHeight>& shared, WarpBest& best)
      : mirror_(mirror),
        query_(query),
        shared_(shared),
        best_(best),
        lane_(static_cast<int>(threadIdx.x) % kWarpSize) {}

  // Walks the tree twice: first into few children of each node, to get a k-th score bound, and then with that bound
  // into all that can hold a row of the answer. Returns false if the second walk has stopped after `most_visits`
  // nodes and leaves; again() continues it.
  __device__ bool run(std::uint64_t most_visits, ResultHeader& work) {
    begin(work);
    const int most_leaves = first_leaves_each(mirror_, best_.k());
    walk([most_leaves](int level) { return level == 0 ? most_leaves : 3; }, kAnyNumber, work);
    best_.restart();
    begin(work);
    return again(most_visits, work);
  }
  __device__ bool again(std::uint64_t most_visits, ResultHeader& work) {
    return walk([](int) { return kFanOut; }, most_visits, work);
  }

 private:
  __device__ void begin(ResultHeader& work) {
    level_ = mirror_.height - 1;
    open(level_, mirror_.root, work);
  }

  // most(level): children of a node of this level to visit, at most. Ends even in a damaged tree: each step takes one
  // of at most 32 children or goes up.
  template <typename Most>
  __device__ bool walk(Most&& most, std::uint64_t most_visits, ResultHeader& work) {
    const int root = mirror_.height - 1;
    while (level_ <= root) {
      const int child = take_best(level_, most(level_));
      if (child < 0) {
        ++level_;
        continue;
      }
      const std::uint32_t below = mirror_.node(shared_.nodes[level_]).children()[child];
      if (level_ > 0) {
        --level_;
        open(level_, below, work);
      } else {
        visit(below, work);
      }
      if (work.nodes_visited + work.leaves_visited >= most_visits) return false;
    }
    return true;
  }

  __device__ void open(int level, std::uint32_t node, ResultHeader& work) {
    const NodeRef ref = mirror_.node(node);
    double bound = child_bound<kKind>(mirror_, query_, node, lane_);
    if (ties_ && bound != -infinity()) bound = fmin(bound, zone_bound(level, ref));
    const unsigned left = __ballot_sync(kFullWarp, bound != -infinity());
    __syncwarp();  // all lanes have read what is overwritten now
    shared_.bounds[level][lane_] = bound;
    if (lane_ == 0) {
      shared_.num_taken[level] = 0;
      shared_.nodes[level] = node;
      shared_.left[level] = left;
    }
    __syncwarp();
    ++work.nodes_visited;
  }

  // A bound on the lane's child that includes no error bound, so that ids can decide.
  __device__ double zone_bound(int level, NodeRef node) const {
    if (level == 0) return zone_score<T, kKind>(mirror_, query_, node.children()[lane_]);
    return zone_of_bounds<kKind>(mirror_, query_, NodeColumn{node.bounds(), lane_});
  }

  // Takes the best remaining child of a level that can hold a row of the answer, of equal ones that with the smallest
  // id: it excludes the others soonest. -1: there is none.
  __device__ int take_best(int level, int most) {
    if (shared_.num_taken[level] == most) return -1;
    const unsigned left = shared_.left[level];
    const double mine = (left >> lane_ & 1) != 0 ? shared_.bounds[level][lane_] : -infinity();
    const double bound = warp_max(mine);
    if (bound == -infinity()) return -1;
    const NodeRef node = mirror_.node(shared_.nodes[level]);
    const int child =
        smallest_id(__ballot_sync(kFullWarp, mine == bound), lane_, [&] { return node.min_ids()[lane_]; });
    if (is_excluded(bound, best_.kth_bound(), [&] { return node.min_ids()[child]; })) return -1;
    __syncwarp();
    if (lane_ == 0) {
      shared_.left[level] = left & ~(1u << child);
      ++shared_.num_taken[level];
    }
    __syncwarp();
    return child;
  }

  __device__ void visit(std::uint32_t leaf, ResultHeader& work) {
    const std::uint64_t first_row = mirror_.first_row(leaf);
    work.rows_scored +=
        score_leaf<T, 8, kKind>(mirror_, query_, leaf, lane_, best_.kth_bound().score, [&](ScoredRows& rows) {
          std::int64_t ids[kRowsPerLane];
          bool ties = false;
#pragma unroll
          for (int j = 0; j < kRowsPerLane; ++j)
            ties |= rows.valid[j] && rows.score[j] == best_.kth_bound().score;
          keep_passing<T>(mirror_, leaf, best_.kth_bound(), rows, ids);
          Candidate found[kRowsPerLane];
#pragma unroll
          for (int j = 0; j < kRowsPerLane; ++j)
            found[j] = {rows.score[j], ids[j], first_row + rows.index[j]};
          ties_ |= __any_sync(kFullWarp, ties) != 0;
          best_.append(rows.valid, found);
        });
    ++work.leaves_visited;
  }

  const MirrorRef& mirror_;
  QueryRef query_;
  WalkShared<kHeight>& shared_;
  WarpBest& best_;
  int lane_;
  int level_ = 0;      // of the open node; the children of level 0 are leaves
  bool ties_ = false;  // a row has tied with the k-th best
};

}  // namespace culmen::gpu
