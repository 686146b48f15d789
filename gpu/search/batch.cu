// batch: many queries at once, a warp each. The warp walks the tree depth first, always into the best child
// that is left: no frontier to keep, only the children's bounds on the way down, a lane a child. A first walk
// into a few leaves gives the floor that such a walk lacks in its beginning. It visits somewhat more than a
// best-first search, but 4,000 warps do so at once.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/engines.h"
#include "gpu/search/warp_best.cuh"
#include "index/tree_height.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kMaxBatchWarps = 8;  // of a thread block

// Levels of the trees that the usual kernel takes. Another, whose warps need more shared memory, takes taller
// ones: changes can leave nodes of 8 children. (Tried, 16 M x 8 on an H100: a struct for each level of the
// tree instead of these arrays; 3 % slower with k = 16, and 13 % with k = 128.)
constexpr int kUsualHeight = 8;

// A warp's shared memory, before its query and its list.
template <int kHeight>
struct WarpShared {
  double bounds[kHeight][kWarpSize];  // of the open node's children, by level
  std::uint32_t nodes[kHeight];       // the open node
  unsigned left[kHeight];             // its children not yet taken, a bit a child
  int num_taken[kHeight];
};

template <typename T, int kHeight>
class DepthFirst {
 public:
  __device__ DepthFirst(const MirrorRef& mirror, QueryRef query, WarpShared<kHeight>& shared, WarpBest& best)
      : mirror_(mirror),
        query_(query),
        shared_(shared),
        best_(best),
        lane_(static_cast<int>(threadIdx.x) % kWarpSize) {}

  // Walks the tree, twice: the first time only into few children of each node, for a floor; then, with it,
  // into all that can hold a row of the answer.
  __device__ void run(ResultHeader& work) {
    walk([](int level) { return level == 0 ? 2 : 3; }, work);
    best_.restart();
    walk([](int) { return kFanOut; }, work);
  }

 private:
  // most(level): children of a node of the level to go into. Ends whatever the nodes say: each step takes a
  // child from a node that has 32 at most, or goes up.
  template <typename Most>
  __device__ void walk(Most&& most, ResultHeader& work) {
    const int root = mirror_.height - 1;
    int level = root;  // 0: children are leaves
    open(level, mirror_.root, work);
    while (level <= root) {
      const int child = take_best(level, most(level));
      if (child < 0) {
        ++level;
        continue;
      }
      const std::uint32_t below = mirror_.node(shared_.nodes[level]).children()[child];
      if (level > 0) {
        open(--level, below, work);
      } else {
        visit(below, work);
      }
    }
  }

  __device__ void open(int level, std::uint32_t node, ResultHeader& work) {
    const NodeRef ref = mirror_.node(node);
    double bound = child_bound(query_, ref, lane_);
    if (ties_ && bound != -infinity()) bound = fmin(bound, corner(level, ref));
    const unsigned left = __ballot_sync(kFullWarp, bound != -infinity());
    __syncwarp();  // all have read what is written over now
    shared_.bounds[level][lane_] = bound;
    if (lane_ == 0) {
      shared_.num_taken[level] = 0;
      shared_.nodes[level] = node;
      shared_.left[level] = left;
    }
    __syncwarp();
    ++work.nodes_visited;
  }

  // A bound without margin on the lane's child, without which ids could not decide.
  __device__ double corner(int level, NodeRef node) const {
    if (level == 0)
      return corner_score<T>(mirror_, query_, node.children()[lane_], Corner::maximum, Corner::minimum);
    return corner_of_bounds(mirror_, query_, NodeColumn{node.bounds(), lane_});
  }

  // The best child left at a level that can hold a row of the answer, of equal ones that with the smallest
  // id, so that the others are out soonest; now taken. -1: there is none.
  __device__ int take_best(int level, int most) {
    if (shared_.num_taken[level] == most) return -1;
    const unsigned left = shared_.left[level];
    const double mine = (left >> lane_ & 1) != 0 ? shared_.bounds[level][lane_] : -infinity();
    const double bound = warp_max(mine);
    if (bound == -infinity()) return -1;
    const NodeRef node = mirror_.node(shared_.nodes[level]);
    const int child =
        smallest_id(__ballot_sync(kFullWarp, mine == bound), lane_, [&] { return node.min_ids()[lane_]; });
    if (is_excluded(bound, best_.floor(), [&] { return node.min_ids()[child]; })) return -1;
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
    work.tuples_scored += score_leaf<T, 8>(mirror_, query_, leaf, lane_, [&](ScoredRows& rows) {
      std::int64_t ids[kRowsPerLane];
      bool ties = false;
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j) ties |= rows.valid[j] && rows.score[j] == best_.floor().score;
      keep_passing(mirror_, leaf, best_.floor(), rows, ids);
      Candidate found[kRowsPerLane];
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j) found[j] = {rows.score[j], ids[j], first_row + rows.index[j]};
      ties_ |= __any_sync(kFullWarp, ties) != 0;
      best_.append(rows.valid, found);
    });
    ++work.leaves_visited;
  }

  const MirrorRef& mirror_;
  QueryRef query_;
  WarpShared<kHeight>& shared_;
  WarpBest& best_;
  int lane_;
  bool ties_ = false;  // rows have been seen that tie with the k-th best
};

template <int kHeight>
CULMEN_HOST_DEVICE constexpr std::size_t warp_bytes(std::uint32_t k, std::uint32_t query_stride) {
  return sizeof(WarpShared<kHeight>) + query_stride + WarpBest::num_bytes(k);
}
static_assert(warp_bytes<kMostLevels>(kMaxSortedHits, kMaxPackedBytes) <= kLeastSharedBytes);

template <typename T, int kHeight>
__global__ void __launch_bounds__(kMaxBatchWarps* kWarpSize, 4)
    search_batch(const MirrorRef mirror, const BatchRef batch) {
  extern __shared__ double dynamic_shared[];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  std::byte* mine = reinterpret_cast<std::byte*>(dynamic_shared) +
                    threadIdx.x / kWarpSize * warp_bytes<kHeight>(batch.k, batch.query_stride);
  auto& shared = *reinterpret_cast<WarpShared<kHeight>*>(mine);
  std::byte* query_bytes = mine + sizeof(WarpShared<kHeight>);
  for (;;) {  // ends when all queries are taken
    std::uint32_t q = 0;
    if (lane == 0) q = atomicAdd(&batch.counters->next_item, 1u);
    q = __shfl_sync(kFullWarp, q, 0);
    if (q >= batch.num_queries) return;
    const auto* from =
        reinterpret_cast<const std::uint64_t*>(batch.queries + std::size_t{q} * batch.query_stride);
    for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < batch.query_stride / sizeof(std::uint64_t);
         i += kWarpSize)
      reinterpret_cast<std::uint64_t*>(query_bytes)[i] = from[i];
    __syncwarp();
    const QueryRef query = {query_bytes};
    const KeyScale scale(query);
    WarpBest best(query_bytes + batch.query_stride, batch.k, scale, {query.header().min_score, kNoId});
    ResultHeader work = {};
    DepthFirst<T, kHeight>(mirror, query, shared, best).run(work);
    work.num_hits = best.finish();
    for (std::uint32_t i = static_cast<std::uint32_t>(lane); i < work.num_hits; i += kWarpSize)
      batch.hits[std::size_t{q} * batch.k + i] = best[i];
    if (lane == 0) batch.results[q] = work;
    __syncwarp();  // before the next query takes the shared memory
  }
}

template <typename T, int kHeight>
void launch_up_to(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  const std::size_t each = warp_bytes<kHeight>(batch.k, batch.query_stride);
  constexpr std::size_t kMostShared = 200 << 10;  // of a multiprocessor: the cache has the rest
  constexpr std::size_t kWarpsPerMultiprocessor = 32;
  const std::size_t shared_bytes = std::min(kMostShared, limits.multiprocessor_shared_bytes);
  const std::size_t warps = std::min(kWarpsPerMultiprocessor, shared_bytes / each);
  const std::size_t fitting = std::min(warps, limits.block_shared_bytes / each);
  const auto block_warps = static_cast<unsigned>(std::min<std::size_t>(kMaxBatchWarps, fitting));
  const auto blocks_each = static_cast<unsigned>(warps / block_warps);
  const cuda::Shape shape = {.num_blocks = limits.num_multiprocessors * blocks_each,
                             .num_threads = block_warps * kWarpSize,
                             .shared_bytes = block_warps * each};
  cuda::launch(search_batch<T, kHeight>, shape, stream, mirror, batch);
}

}  // namespace

template <typename T>
void launch_batch(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  if (mirror.height <= kUsualHeight) {
    launch_up_to<T, kUsualHeight>(mirror, batch, limits, stream);
  } else {
    launch_up_to<T, kMostLevels>(mirror, batch, limits, stream);  // a mirror has no taller tree
  }
}

template void launch_batch<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_batch<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);

}  // namespace culmen::gpu
