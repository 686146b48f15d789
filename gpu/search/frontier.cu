// The frontier of gpu/search/sweep.h.
//
// Descends the tree one level at a time, for all queries at once. It expands the nodes whose bounds reach their
// query's k-th score bound, and appends the children that reach it to one list, the input of the next level. All
// warps of the grid share that list. Leaves are visited in two parts: first those below the best level-1 node of each
// group of kGroup, whose rows raise the k-th score bounds, and then those below the other nodes, most of which no
// longer reach them.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/child_bound.cuh"
#include "gpu/search/engines.h"
#include "gpu/search/leaf_rows.cuh"
#include "gpu/search/step_end.cuh"
#include "gpu/search/sweep.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / kWarpSize;
// Thread blocks per multiprocessor: at 64 registers a thread they fill the register file.
constexpr unsigned kBlocksEach = 4;
// Shares of a list per warp, at least, so that a warp with cheap items takes more of them. Larger shares would leave
// warps idle at the end of a step, smaller ones would make all warps contend for one counter.
constexpr std::uint32_t kSharesEach = 8;
// Neighbouring level-1 nodes of the list, of any queries, of which the best is visited first. The others are at most
// 7 times as many, growth that sweep_capacity() has room for.
constexpr unsigned kGroup = kSweepGrowth;
// Items that a warp collects before it appends them: a node has up to 32 children, and room for twice as many
// makes one atomic serve more than one node.
constexpr std::uint32_t kMaxWaiting = 64;
static_assert(kMaxWaiting >= kWarpSize);

// Which items of a list to use: all, the one with the best bound of each group, or the rest of each group.
enum class Part { every, best, others };

// A warp's shared memory.
struct WarpMemory {
  FrontierItem* waiting;  // [kMaxWaiting] not yet appended to the list
  std::byte* query;

  static constexpr __host__ __device__ std::size_t num_bytes(std::uint32_t query_stride) {
    return kMaxWaiting * sizeof(FrontierItem) + query_stride;
  }
  __device__ explicit WarpMemory(std::byte* memory)
      : waiting(reinterpret_cast<FrontierItem*>(memory)),
        query(memory + kMaxWaiting * sizeof(FrontierItem)) {}
};
static_assert(kWarps * WarpMemory::num_bytes(kMaxSharedQueryBytes) <= kMinSharedBytes);

// One warp's part in the work; its methods are called by whole warps unless they say otherwise.
//
// Between two barriers of the grid k-th score bounds do not change, items are only appended, and counts of rows found
// only grow, except for a query that is left to the sweep.
template <typename T, QueryKind kKind>
class Frontier {
 public:
  __device__ Frontier(const MirrorRef& mirror, const BatchRef& batch, const WarpMemory& memory)
      : mirror_(mirror), batch_(batch), sweep_(batch.sweep), memory_(memory) {}

  // Appends the children of nodes [first, end) of the list that reach their query's k-th score bound, at end + count,
  // which all warps advance. A query that has listed more than `most` items may be left to the sweep.
  __device__ void expand(std::uint32_t first, std::uint32_t end, Part part, std::uint32_t most,
                         std::uint32_t& count) {
    most_listed_ = most;
    for_each(first, end, part, false, [&](std::uint32_t node) {
      const NodeRef ref = mirror_.node(node);
      const double bound = child_bound<kKind>(mirror_, query(), node, static_cast<int>(lane_));
      ++nodes_;
      push({entry_, ref.children()[lane_], __double2float_ru(bound)}, bound >= kth_bound_, end, count);
    });
    write_waiting(end, count);
  }

  // Scores the rows of leaves [first, end) of the list. is_repeated: only for queries whose rows did not fit.
  __device__ void visit(std::uint32_t first, std::uint32_t end, bool is_repeated) {
    for_each(first, end, Part::every, is_repeated, [&](std::uint32_t leaf) {
      ++leaves_;
      scored_ += score_leaf<T, 8, kKind>(
          mirror_, query(), leaf, static_cast<int>(lane_), kth_bound_, [&](const ScoredRows& rows) {
#pragma unroll
            for (int j = 0; j < kRowsPerLane; ++j)
              if (rows.valid[j] && rows.score[j] >= kth_bound_)
                add_found(sweep_, entry_, {rows.score[j], mirror_.first_row(leaf) + rows.index[j]});
          });
    });
  }

  // All threads of the grid call this before each expand() and visit().
  __device__ void begin_step() {
    ++step_;
    if (blockIdx.x == 0 && threadIdx.x == 0)
      batch_.counters->next_item[(step_ + 1) % 2] = 0;  // of the step before, which a barrier has ended
  }

 private:
  // Sets entry_, kth_bound_ and query(), and calls use(node or leaf), for each item of [first, end) whose bound
  // reaches its query's k-th score bound. Each lane checks one item, then the warp handles the remaining ones one by
  // one.
  //
  // Two calls for the same items form the same groups: shares are numbered from `first` on and have the same size.
  template <typename Use>
  __device__ void for_each(std::uint32_t first, std::uint32_t end, Part part, bool is_repeated, Use&& use) {
    entry_ = kNobody;
    const std::uint32_t share = max((end - first) / (gridDim.x * kWarps * kSharesEach), 1),
                        at_once = share < kWarpSize ? share : share / kWarpSize * kWarpSize;
    for (std::uint32_t i; (i = first + claim(at_once)) < end;)
      for (const std::uint32_t mine = min(i + at_once, end); i < mine; i += kWarpSize) {
        const bool is_one = i + lane_ < mine;
        const FrontierItem item = is_one ? item_at(i + lane_) : FrontierItem{0, 0, -HUGE_VALF};
        double kth_bound = 0;
        const bool is_in_part = part == Part::every || is_best(item.bound) == (part == Part::best);
        const bool is_taken = is_one && is_in_part && reaches_kth_bound(item, is_repeated, kth_bound);
        for (unsigned left = __ballot_sync(kFullWarp, is_taken); left != 0; left &= left - 1) {
          const int next = __ffs(static_cast<int>(left)) - 1;
          take_query(__shfl_sync(kFullWarp, item.entry, next));
          kth_bound_ = __shfl_sync(kFullWarp, kth_bound, next);
          use(__shfl_sync(kFullWarp, item.block, next));
        }
      }
    add_work();
  }

  // Takes the next `count` items for the warp. Returns the number of the first, which may be beyond the last item.
  __device__ std::uint32_t claim(std::uint32_t count) const {
    std::uint32_t first = 0;
    if (lane_ == 0) first = atomicAdd(&batch_.counters->next_item[step_ % 2], count);
    return __shfl_sync(kFullWarp, first, 0);
  }

  __device__ FrontierItem item_at(std::uint32_t i) const {
    const FrontierItem& item = sweep_.items[i];
    return {__ldcg(&item.entry), __ldcg(&item.block), __ldcg(&item.bound)};
  }

  // Returns true if the lane has the best bound of its group, the first of equal ones.
  __device__ bool is_best(float bound) const {
    float best = bound;
    for (unsigned offset = kGroup / 2; offset > 0; offset /= 2)
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, offset));
    const unsigned equal =
        __ballot_sync(kFullWarp, bound == best) >> (lane_ & ~(kGroup - 1)) & ((1u << kGroup) - 1);
    return __ffs(static_cast<int>(equal)) - 1 == static_cast<int>(lane_ % kGroup);
  }

  // By a lane. Returns false also if the query is left to the sweep, or if it has found more rows than there is room
  // for: then the step is repeated for it, or it returns to its walk.
  __device__ bool reaches_kth_bound(const FrontierItem& item, bool is_repeated, double& kth_bound) const {
    const SweepQuery& query = sweep_.queries[item.entry];
    kth_bound = __ldcg(&query.kth_bound);
    return item.bound >= kth_bound && __ldcg(&query.is_swept) == 0 &&
           __ldcg(&query.num_found) <= sweep_.capacity && (!is_repeated || __ldcg(&query.is_behind) != 0);
  }

  // Copies the query of an entry to the warp's shared memory.
  __device__ void take_query(std::uint32_t entry) {
    if (entry == entry_) return;
    add_work();
    entry_ = entry;
    const auto* from = reinterpret_cast<const std::uint64_t*>(
        batch_.queries + std::size_t{__ldcg(&sweep_.queries[entry].query)} * batch_.query_stride);
    auto* to = reinterpret_cast<std::uint64_t*>(memory_.query);
    __syncwarp();  // no lane reads the previous query any more
    for (std::uint32_t i = lane_; i < batch_.query_stride / sizeof(std::uint64_t); i += kWarpSize)
      to[i] = __ldg(from + i);
    __syncwarp();  // the query is complete
  }

  __device__ QueryRef query() const {
    return {memory_.query};
  }

  // Collects the lanes' items that reach the k-th score bound.
  __device__ void push(const FrontierItem& item, bool reaches, std::uint32_t end, std::uint32_t& count) {
    const unsigned reaching = __ballot_sync(kFullWarp, reaches);
    const auto more = static_cast<std::uint32_t>(__popc(reaching));
    if (num_waiting_ + more > kMaxWaiting) write_waiting(end, count);
    if (reaches)
      memory_.waiting[num_waiting_ + static_cast<std::uint32_t>(__popc(reaching & ((1u << lane_) - 1)))] =
          item;
    num_waiting_ += more;
    listed_ += more;
  }

  // Appends the collected items to the list. A query whose item does not fit is left to the sweep.
  __device__ void write_waiting(std::uint32_t end, std::uint32_t& count) {
    __syncwarp();  // all items of push() are written
    std::uint32_t first = 0;
    if (lane_ == 0 && num_waiting_ > 0) first = end + atomicAdd(&count, num_waiting_);
    first = __shfl_sync(kFullWarp, first, 0);
    for (std::uint32_t i = lane_; i < num_waiting_; i += kWarpSize) {
      const FrontierItem item = memory_.waiting[i];
      if (first + i < sweep_.most_items) {
        sweep_.items[first + i] = item;
      } else {
        leave(item.entry);
      }
    }
    __syncwarp();  // all are read: push() may overwrite them
    num_waiting_ = 0;
  }

  // By a lane. Returns true if the query has listed more items than it may, and all such queries together more
  // than most_beyond: the first query of a sweep costs far more than each further one.
  __device__ bool is_too_much() const {
    if (listed_ == 0) return false;
    const std::uint32_t before = atomicAdd(&sweep_.queries[entry_].num_items, listed_);
    if (before + listed_ <= most_listed_) return false;
    return atomicAdd(&batch_.counters->num_beyond, listed_) + listed_ > sweep_.most_beyond;
  }

  // By a lane, only in expand(): leaves a query to the sweep. The rows found so far are dropped: the sweep reads the
  // whole table and finds them again.
  __device__ void leave(std::uint32_t entry) const {
    SweepQuery& query = sweep_.queries[entry];
    if (atomicExch(&query.is_swept, 1u) != 0) return;
    query.num_found = query.num_kept = 0;
    sweep_.swept[atomicAdd(&batch_.counters->num_swept, 1u)] = entry;
  }

  // Adds the warp's work for the query at entry_.
  __device__ void add_work() {
    if (lane_ == 0 && nodes_ + leaves_ > 0) {
      SweepQuery& query = sweep_.queries[entry_];
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.nodes), static_cast<unsigned long long>(nodes_));
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.leaves),
                static_cast<unsigned long long>(leaves_));
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.scored),
                static_cast<unsigned long long>(scored_));
      if (is_too_much()) leave(entry_);
    }
    nodes_ = leaves_ = scored_ = listed_ = 0;
  }

  static constexpr std::uint32_t kNobody = 0xffffffff;

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  const SweepRef& sweep_;
  WarpMemory memory_;
  std::uint32_t lane_ = threadIdx.x % kWarpSize;
  std::uint32_t step_ = 0;         // counts expand() and visit() from 1 on
  std::uint32_t entry_ = kNobody;  // of the query in memory_
  double kth_bound_ = 0;           // its k-th score bound
  std::uint32_t num_waiting_ = 0;
  std::uint32_t most_listed_ = 0;
  std::uint32_t nodes_ = 0, leaves_ = 0, scored_ = 0, listed_ = 0;  // work for it since take_query()
};

// Cooperative: each step needs what all blocks did in the one before. Dynamic shared memory: WarpMemory for each warp.
template <typename T, QueryKind kKind>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    frontier_batch(const MirrorRef mirror, const BatchRef batch) {
  const std::uint32_t num_queries = min(batch.counters->num_handed_over, batch.sweep.most);
  if (num_queries == 0) return;
  extern __shared__ double frontier_shared[];
  const WarpMemory memory(reinterpret_cast<std::byte*>(frontier_shared) +
                          threadIdx.x / kWarpSize * WarpMemory::num_bytes(batch.query_stride));
  Frontier<T, kKind> frontier(mirror, batch, memory);
  StepEnd step_end(batch, batch.counters->frontier_barrier);
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < num_queries; i += gridDim.x * kThreads)
    batch.sweep.items[i] = {i, mirror.root, HUGE_VALF};
  step_end.wait();  // the roots are listed
  std::uint32_t first = 0, end = num_queries;
  const auto expand = [&](std::int32_t level, Part part) {
    std::uint32_t& count = batch.counters->num_items[level];
    frontier.begin_step();
    frontier.expand(first, end, part, level > 0 ? batch.sweep.most_of_query : batch.sweep.most_with_leaves,
                    count);
    step_end.wait();  // all children are listed and counted
    return min(end + __ldcg(&count), batch.sweep.most_items);
  };
  for (std::int32_t level = mirror.height - 1; level > 0; --level) {
    const std::uint32_t listed = expand(level, Part::every);
    first = end;
    end = listed;
  }
  // Now [first, end) are the level-1 nodes. The leaves of both parts are listed one after the other from `end` on.
  std::uint32_t leaf = end;
  for (const Part part : {Part::best, Part::others}) {
    const std::uint32_t listed = expand(0, part);
    for (bool is_repeated = false;;) {
      frontier.begin_step();
      frontier.visit(leaf, listed, is_repeated);
      is_repeated = step_end.raise_kth_bounds(num_queries, is_repeated, [](std::uint32_t i) { return i; });
      if (!is_repeated) break;
    }
    leaf = listed;
  }
}

}  // namespace

template <typename T>
void launch_frontier(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     cudaStream_t stream) {
  const std::size_t shared_bytes = kWarps * WarpMemory::num_bytes(batch.query_stride);
  const auto fitting = static_cast<unsigned>(limits.multiprocessor_shared_bytes /
                                             (shared_bytes + limits.reserved_shared_bytes));
  const cuda::Shape shape = {.num_blocks = limits.num_multiprocessors * std::clamp(fitting, 1u, kBlocksEach),
                             .num_threads = kThreads,
                             .shared_bytes = shared_bytes,
                             .cooperative = true};
  cuda::launch(batch.kind == QueryKind::filtered ? frontier_batch<T, QueryKind::filtered>
                                                 : frontier_batch<T, QueryKind::plain>,
               shape, stream, mirror, batch);
}

template void launch_frontier<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_frontier<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_frontier<Packed<float>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                             cudaStream_t);
template void launch_frontier<Packed<double>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                              cudaStream_t);

}  // namespace culmen::gpu
