// batch: many queries at once, a warp each. The warp walks the tree depth first, always into the best child
// that is left: no frontier to keep, only the children's bounds on the way down, a lane a child. A first walk
// into a few leaves gives the k-th score bound that such a walk lacks in its beginning. It visits somewhat more than a
// best-first search, but 4,000 warps do so at once. What visits too many hands its query over (gpu/search/sweep.h).
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/engines.h"
#include "gpu/search/warp_best.cuh"
#include "index/tree_height.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kMaxBatchWarps = 8;                   // of a thread block
constexpr std::uint64_t kAnyNumber = ~std::uint64_t{0};  // of visits

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

  // Walks the tree, twice: the first time only into few children of each node, for a k-th score bound; then, with it,
  // into all that can hold a row of the answer. That walk ends, and false is returned, where it has visited so many nodes
  // and leaves; again() goes on with it.
  __device__ bool run(std::uint64_t most_visits, ResultHeader& work) {
    begin(work);
    walk([](int level) { return level == 0 ? 2 : 3; }, kAnyNumber, work);
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

  // most(level): children of a node of the level to go into. Ends whatever the nodes say: each step takes a
  // child from a node that has 32 at most, or goes up.
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
    double bound = child_bound(query_, ref, lane_);
    if (ties_ && bound != -infinity()) bound = fmin(bound, zone_vector(level, ref));
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

  // A bound without error bound on the lane's child, without which ids could not decide.
  __device__ double zone_vector(int level, NodeRef node) const {
    if (level == 0) return zone_score<T>(mirror_, query_, node.children()[lane_]);
    return zone_of_bounds(mirror_, query_, NodeColumn{node.bounds(), lane_});
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
    work.rows_scored += score_leaf<T, 8>(mirror_, query_, leaf, lane_, [&](ScoredRows& rows) {
      std::int64_t ids[kRowsPerLane];
      bool ties = false;
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j)
        ties |= rows.valid[j] && rows.score[j] == best_.kth_bound().score;
      keep_passing(mirror_, leaf, best_.kth_bound(), rows, ids);
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
  int level_ = 0;      // of the open node; 0: its children are leaves
  bool ties_ = false;  // rows have been seen that tie with the k-th best
};

template <int kHeight>
CULMEN_HOST_DEVICE constexpr std::size_t warp_bytes(std::uint32_t k, std::uint32_t query_stride) {
  return sizeof(WarpShared<kHeight>) + query_stride + WarpBest::num_bytes(k);
}
static_assert(warp_bytes<kMaxLevels>(kMaxSortedHits, kMaxPackedBytes) <= kMinSharedBytes);

// A warp's shared memory: the walk's, the query, the list.
template <typename T, int kHeight>
class WarpSearch {
 public:
  __device__ WarpSearch(const MirrorRef& mirror, const BatchRef& batch, std::byte* block_memory)
      : mirror_(mirror),
        batch_(batch),
        memory_(block_memory + threadIdx.x / kWarpSize * warp_bytes<kHeight>(batch.k, batch.query_stride)),
        lane_(threadIdx.x % kWarpSize) {}

  // One query of the batch, from the beginning.
  __device__ void search(std::uint32_t q) {
    const QueryRef query = take_query(q);
    const KeyScale scale(query);
    WarpBest best = make_best(scale, query.header().min_score);
    ResultHeader work = {};
    DepthFirst<T, kHeight> walk(mirror_, query, walk_memory(), best);
    std::uint64_t most_visits = batch_.sweep.most > 0 ? batch_.sweep.visits_alone : kAnyNumber;
    for (bool ended = walk.run(most_visits, work); !ended; ended = walk.again(most_visits, work)) {
      if (hand_over(q, query, best.kth_bound().score, work)) return;
      most_visits *= 2;
    }
    write(q, best, work);
  }

  // Answers a query that was handed over, after the sweep: from the rows that were found or, if they did not fit, by a walk
  // that begins with their k-th score bound.
  __device__ void finish(std::uint32_t entry) {
    const SweepQuery& swept = batch_.sweep.queries[entry];
    const QueryRef query = take_query(swept.query);
    const KeyScale scale(query);
    WarpBest best = make_best(scale, swept.kth_bound);
    ResultHeader work = batch_.results[swept.query];
    work.nodes_visited += swept.nodes;
    work.leaves_visited += swept.leaves;
    work.rows_by_bounds = swept.rows;
    work.rows_scored += swept.scored;
    if (swept.num_found <= batch_.sweep.capacity) {
      take_found(entry, swept.num_found, best);
    } else {
      DepthFirst<T, kHeight>(mirror_, query, walk_memory(), best).run(kAnyNumber, work);
    }
    write(swept.query, best, work);
  }

 private:
  __device__ WarpShared<kHeight>& walk_memory() const {
    return *reinterpret_cast<WarpShared<kHeight>*>(memory_);
  }
  __device__ WarpBest make_best(const KeyScale& scale, double kth_bound) const {
    return WarpBest(memory_ + sizeof(WarpShared<kHeight>) + batch_.query_stride, batch_.k, scale,
                    {kth_bound, kNoId});
  }

  __device__ QueryRef take_query(std::uint32_t q) const {
    const auto* from =
        reinterpret_cast<const std::uint64_t*>(batch_.queries + std::size_t{q} * batch_.query_stride);
    auto* to = reinterpret_cast<std::uint64_t*>(memory_ + sizeof(WarpShared<kHeight>));
    __syncwarp();  // the query before is done
    for (std::uint32_t i = lane_; i < batch_.query_stride / sizeof(std::uint64_t); i += kWarpSize)
      to[i] = from[i];
    __syncwarp();
    return {reinterpret_cast<const std::byte*>(to)};
  }

  // Hands a query over to the frontier. Returns false if the sweep could not take it, or if there is no room.
  __device__ bool hand_over(std::uint32_t q, QueryRef query, double kth_bound,
                            const ResultHeader& work) const {
    const SweepRef& sweep = batch_.sweep;
    const PackedHeader& header = query.header();
    if (kth_bound == -infinity()) return false;  // all rows would be found
    SweepQuery mine = {};
    mine.kth_bound = kth_bound;
    mine.base = header.offset;
    mine.error_bound = fabs(header.offset);
    mine.query = q;
    bool is_usual = true;
    for (int t = 0; t < header.num_terms; ++t) {
      const PackedTerm term = query.terms()[t];
      const AttributeBounds& bounds = mirror_.attributes[term.attribute];
      mine.base = fma(term.weight, bounds.origin, mine.base);
      mine.error_bound = fma(fabs(term.weight), fabs(bounds.origin), mine.error_bound);
      // Smaller ones lose digits as binary32 numbers.
      is_usual = is_usual && fabs(term.weight * bounds.unit * header.key_scale) > 0x1p-100;
    }
    mine.error_bound = mine.error_bound * 0x1p-44 + 0x1p-1060;  // scores may be denormal
    if (!is_usual) return false;
    std::uint32_t entry = 0;
    if (lane_ == 0) entry = atomicAdd(&batch_.counters->num_handed_over, 1u);
    entry = __shfl_sync(kFullWarp, entry, 0);
    if (entry >= sweep.most) return false;
    for (int a = static_cast<int>(lane_); a < mirror_.num_attributes; a += kWarpSize)
      sweep.weights[static_cast<std::size_t>(a) * sweep.most + entry] = 0;
    __syncwarp();
    for (int t = static_cast<int>(lane_); t < header.num_terms; t += kWarpSize) {
      const PackedTerm term = query.terms()[t];
      sweep.weights[static_cast<std::size_t>(term.attribute) * sweep.most + entry] =
          static_cast<float>(term.weight * mirror_.attributes[term.attribute].unit * header.key_scale);
    }
    if (lane_ == 0) {
      sweep.queries[entry] = mine;
      batch_.results[q] = work;
    }
    return true;
  }

  __device__ void take_found(std::uint32_t entry, std::uint32_t count, WarpBest& best) const {
    const SeedRow* found = batch_.sweep.found + std::size_t{entry} * batch_.sweep.capacity;
    for (std::uint32_t first = 0; first < count; first += kRowsAtOnce) {
      bool pass[kRowsPerLane];
      Candidate rows[kRowsPerLane];
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j) {
        const std::uint32_t i = first + static_cast<std::uint32_t>(j * kWarpSize) + lane_;
        const SeedRow row = found[min(i, count - 1)];
        rows[j] = {row.score, __ldg(mirror_.ids + row.row), row.row};
        pass[j] = i < count && passes(row.score, rows[j].id, best.kth_bound());
      }
      best.append(pass, rows);
    }
  }

  __device__ void write(std::uint32_t q, WarpBest& best, ResultHeader& work) const {
    work.num_hits = best.finish();
    for (std::uint32_t i = lane_; i < work.num_hits; i += kWarpSize)
      batch_.hits[std::size_t{q} * batch_.k + i] = best[i];
    if (lane_ == 0) batch_.results[q] = work;
  }

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  std::byte* memory_;
  std::uint32_t lane_;
};

template <typename T, int kHeight>
__global__ void __launch_bounds__(kMaxBatchWarps* kWarpSize, 4)
    search_batch(const MirrorRef mirror, const BatchRef batch) {
  extern __shared__ double dynamic_shared[];
  WarpSearch<T, kHeight> warp(mirror, batch, reinterpret_cast<std::byte*>(dynamic_shared));
  for (;;) {  // ends when all queries are taken
    std::uint32_t q = 0;
    if (threadIdx.x % kWarpSize == 0) q = atomicAdd(&batch.counters->next_query, 1u);
    q = __shfl_sync(kFullWarp, q, 0);
    if (q >= batch.num_queries) return;
    warp.search(q);
  }
}

// After the sweep.
template <typename T, int kHeight>
__global__ void __launch_bounds__(kMaxBatchWarps* kWarpSize, 4)
    finish_batch(const MirrorRef mirror, const BatchRef batch) {
  extern __shared__ double dynamic_shared[];
  WarpSearch<T, kHeight> warp(mirror, batch, reinterpret_cast<std::byte*>(dynamic_shared));
  const std::uint32_t num_warps = blockDim.x / kWarpSize,
                      first = blockIdx.x + threadIdx.x / kWarpSize * gridDim.x;
  const std::uint32_t count = min(batch.counters->num_handed_over, batch.sweep.most);
  for (std::uint32_t entry = first; entry < count; entry += gridDim.x * num_warps) warp.finish(entry);
}

template <typename T, int kHeight>
void launch_up_to(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  const std::size_t each = warp_bytes<kHeight>(batch.k, batch.query_stride);
  constexpr std::size_t kMaxShared = 200 << 10;  // of a multiprocessor: the cache has the rest
  constexpr std::size_t kWarpsPerMultiprocessor = 32;
  const std::size_t shared_bytes = std::min(kMaxShared, limits.multiprocessor_shared_bytes);
  const std::size_t warps = std::min(kWarpsPerMultiprocessor, shared_bytes / each);
  const std::size_t fitting = std::min(warps, limits.block_shared_bytes / each);
  const auto block_warps = static_cast<unsigned>(std::min<std::size_t>(kMaxBatchWarps, fitting));
  const auto blocks_each = static_cast<unsigned>(warps / block_warps);
  const cuda::Shape shape = {.num_blocks = limits.num_multiprocessors * blocks_each,
                             .num_threads = block_warps * kWarpSize,
                             .shared_bytes = block_warps * each};
  cuda::launch(search_batch<T, kHeight>, shape, stream, mirror, batch);
  if (batch.sweep.most == 0) return;
  launch_frontier<T>(mirror, batch, limits, stream);
  launch_sweep<T>(mirror, batch, limits, stream);
  cuda::launch(finish_batch<T, kHeight>, shape, stream, mirror, batch);
}

}  // namespace

template <typename T>
void launch_batch(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  if (mirror.height <= kUsualHeight) {
    launch_up_to<T, kUsualHeight>(mirror, batch, limits, stream);
  } else {
    launch_up_to<T, kMaxLevels>(mirror, batch, limits, stream);  // a mirror has no taller tree
  }
}

template void launch_batch<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_batch<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);

}  // namespace culmen::gpu
