// The frontier of gpu/search/sweep.h.
//
// From the root down, a level at a time: what has a bound that reaches its query's floor is listed for the level below, of
// all queries in one list, which all warps of the grid share. Of the leaves that are listed last every kSweepGrowth-th
// is scored first, so that floors are close for the others.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/engines.h"
#include "gpu/search/step_end.cuh"
#include "gpu/search/sweep.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / kWarpSize;
constexpr std::uint32_t kSharesEach =
    8;  // that a warp takes of a list, one after the other, where all are slow alike
constexpr unsigned kGroup = 8;
constexpr unsigned kBlocksEach = 4;  // of a multiprocessor: what the registers leave room for

constexpr std::uint32_t kMostWaiting = 64;

// Of a list: all of it, of each group what has the best bound, or what has not.
enum class Part { every, best, others };

// A warp's shared memory.
struct WarpMemory {
  FrontierItem* waiting;  // [kMostWaiting] to be listed
  std::byte* query;

  static constexpr __host__ __device__ std::size_t num_bytes(std::uint32_t query_stride) {
    return kMostWaiting * sizeof(FrontierItem) + query_stride;
  }
  __device__ explicit WarpMemory(std::byte* memory)
      : waiting(reinterpret_cast<FrontierItem*>(memory)),
        query(memory + kMostWaiting * sizeof(FrontierItem)) {}
};

template <typename T>
class Frontier {
 public:
  __device__ Frontier(const MirrorRef& mirror, const BatchRef& batch, const WarpMemory& memory)
      : mirror_(mirror), batch_(batch), sweep_(batch.sweep), memory_(memory) {}

  // Lists those children of the nodes from `first` on that reach the floor, behind `end`. count: of all that are listed.
  __device__ void expand(std::uint32_t first, std::uint32_t end, Part part, std::uint32_t& count) {
    for_each(first, end, part, false, [&](std::uint32_t node) {
      const NodeRef ref = mirror_.node(node);
      const double bound = child_bound(query(), ref, static_cast<int>(lane_));
      ++nodes_;
      push({place_, ref.children()[lane_], __double2float_ru(bound)}, bound >= floor_, end, count);
    });
    write_waiting(end, count);
  }

  // Scores the rows of the leaves from `first` on.
  __device__ void visit(std::uint32_t first, std::uint32_t end, bool is_repeated) {
    for_each(first, end, Part::every, is_repeated, [&](std::uint32_t leaf) {
      ++leaves_;
      scored_ +=
          score_leaf<T, 8>(mirror_, query(), leaf, static_cast<int>(lane_), [&](const ScoredRows& rows) {
#pragma unroll
            for (int j = 0; j < kRowsPerLane; ++j)
              if (rows.valid[j] && rows.score[j] >= floor_)
                add_found(sweep_, place_, {rows.score[j], mirror_.first_row(leaf) + rows.index[j]});
          });
    });
  }

  // Before each of the others.
  __device__ void begin_step() {
    ++step_;
    if (blockIdx.x == 0 && threadIdx.x == 0)
      batch_.counters->next_item[(step_ + 1) % 2] = 0;  // all are done with it
  }

 private:
  // Calls use(block) for those items whose bounds reach their queries' floors, with the query and its floor at hand. The
  // lanes of a warp look at one each, and then all at what is left.
  template <typename Use>
  __device__ void for_each(std::uint32_t first, std::uint32_t end, Part part, bool is_repeated, Use&& use) {
    place_ = kNobody;
    const std::uint32_t share = max((end - first) / (gridDim.x * kWarps * kSharesEach), 1),
                        at_once = share < kWarpSize ? share : share / kWarpSize * kWarpSize;
    for (std::uint32_t i; (i = first + claim(at_once)) < end;)
      for (const std::uint32_t mine = min(i + at_once, end); i < mine; i += kWarpSize) {
        const bool is_one = i + lane_ < mine;
        const FrontierItem item = is_one ? item_at(i + lane_) : FrontierItem{0, 0, -HUGE_VALF};
        double floor = 0;
        const bool is_in_part = part == Part::every || is_best(item.bound) == (part == Part::best);
        const bool is_taken = is_one && is_in_part && reaches_floor(item, is_repeated, floor);
        for (unsigned left = __ballot_sync(kFullWarp, is_taken); left != 0; left &= left - 1) {
          const int next = __ffs(static_cast<int>(left)) - 1;
          take_query(__shfl_sync(kFullWarp, item.place, next));
          floor_ = __shfl_sync(kFullWarp, floor, next);
          use(__shfl_sync(kFullWarp, item.block, next));
        }
      }
    add_work();
  }

  // The first of the next items, for the warp.
  __device__ std::uint32_t claim(std::uint32_t count) const {
    std::uint32_t first = 0;
    if (lane_ == 0) first = atomicAdd(&batch_.counters->next_item[step_ % 2], count);
    return __shfl_sync(kFullWarp, first, 0);
  }

  __device__ FrontierItem item_at(std::uint32_t i) const {
    const FrontierItem& item = sweep_.items[i];
    return {__ldcg(&item.place), __ldcg(&item.block), __ldcg(&item.bound)};
  }

  // Whether the lane's is the best bound of its group, of equal ones the first.
  __device__ bool is_best(float bound) const {
    float best = bound;
    for (unsigned offset = kGroup / 2; offset > 0; offset /= 2)
      best = fmaxf(best, __shfl_xor_sync(kFullWarp, best, offset));
    const unsigned equal =
        __ballot_sync(kFullWarp, bound == best) >> (lane_ & ~(kGroup - 1)) & ((1u << kGroup) - 1);
    return __ffs(static_cast<int>(equal)) - 1 == static_cast<int>(lane_ % kGroup);
  }

  // By a lane.
  __device__ bool reaches_floor(const FrontierItem& item, bool is_repeated, double& floor) const {
    const SweepQuery& query = sweep_.queries[item.place];
    floor = __ldcg(&query.floor);
    return item.bound >= floor && __ldcg(&query.is_swept) == 0 &&
           __ldcg(&query.num_found) <= sweep_.capacity && (!is_repeated || __ldcg(&query.is_behind) != 0);
  }

  __device__ void take_query(std::uint32_t place) {
    if (place == place_) return;
    add_work();
    place_ = place;
    const auto* from = reinterpret_cast<const std::uint64_t*>(
        batch_.queries + std::size_t{__ldcg(&sweep_.queries[place].query)} * batch_.query_stride);
    auto* to = reinterpret_cast<std::uint64_t*>(memory_.query);
    __syncwarp();  // the one before is done
    for (std::uint32_t i = lane_; i < batch_.query_stride / sizeof(std::uint64_t); i += kWarpSize)
      to[i] = __ldg(from + i);
    __syncwarp();
  }

  __device__ QueryRef query() const {
    return {memory_.query};
  }

  // The lane's item, if it reaches the floor.
  __device__ void push(const FrontierItem& item, bool reaches, std::uint32_t end, std::uint32_t& count) {
    const unsigned reaching = __ballot_sync(kFullWarp, reaches);
    const auto more = static_cast<std::uint32_t>(__popc(reaching));
    if (num_waiting_ + more > kMostWaiting) write_waiting(end, count);
    if (reaches)
      memory_.waiting[num_waiting_ + static_cast<std::uint32_t>(__popc(reaching & ((1u << lane_) - 1)))] =
          item;
    num_waiting_ += more;
    listed_ += more;
  }

  // Many at once, as each time all warps ask at one address where to.
  __device__ void write_waiting(std::uint32_t end, std::uint32_t& count) {
    __syncwarp();
    std::uint32_t first = 0;
    if (lane_ == 0 && num_waiting_ > 0) first = end + atomicAdd(&count, num_waiting_);
    first = __shfl_sync(kFullWarp, first, 0);
    for (std::uint32_t i = lane_; i < num_waiting_; i += kWarpSize) {
      const FrontierItem item = memory_.waiting[i];
      if (first + i < sweep_.most_items) {
        sweep_.items[first + i] = item;
      } else {
        leave(item.place);
      }
    }
    __syncwarp();
    num_waiting_ = 0;
  }

  // By a lane: what the query lists beyond its share counts for all together, as a sweep's first query costs far more than
  // its others.
  __device__ bool is_too_much() const {
    if (listed_ == 0) return false;
    const std::uint32_t before = atomicAdd(&sweep_.queries[place_].num_items, listed_);
    if (before + listed_ <= sweep_.most_of_query) return false;
    return atomicAdd(&batch_.counters->num_beyond, listed_) + listed_ > sweep_.most_beyond;
  }

  // By a lane.
  __device__ void leave(std::uint32_t place) const {
    if (atomicExch(&sweep_.queries[place].is_swept, 1u) != 0) return;
    sweep_.swept[atomicAdd(&batch_.counters->num_swept, 1u)] = place;
  }

  __device__ void add_work() {
    if (lane_ == 0 && nodes_ + leaves_ > 0) {
      SweepQuery& query = sweep_.queries[place_];
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.nodes), static_cast<unsigned long long>(nodes_));
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.leaves),
                static_cast<unsigned long long>(leaves_));
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.scored),
                static_cast<unsigned long long>(scored_));
      if (is_too_much()) leave(place_);
    }
    nodes_ = leaves_ = scored_ = listed_ = 0;
  }

  static constexpr std::uint32_t kNobody = 0xffffffff;

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  const SweepRef& sweep_;
  WarpMemory memory_;
  std::uint32_t lane_ = threadIdx.x % kWarpSize;
  std::uint32_t step_ = 0;
  std::uint32_t place_ = kNobody;
  double floor_ = 0;  // of the query at the place
  std::uint32_t num_waiting_ = 0;
  std::uint32_t nodes_ = 0, leaves_ = 0, scored_ = 0, listed_ = 0;  // the query's, since it was taken
};

// Cooperative: each level waits for the one before. Dynamic shared memory: WarpMemory, a warp each.
template <typename T>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    frontier_batch(const MirrorRef mirror, const BatchRef batch) {
  const std::uint32_t num_queries = min(batch.counters->num_handed_over, batch.sweep.most);
  if (num_queries == 0) return;
  extern __shared__ double frontier_shared[];
  const WarpMemory memory(reinterpret_cast<std::byte*>(frontier_shared) +
                          threadIdx.x / kWarpSize * WarpMemory::num_bytes(batch.query_stride));
  Frontier<T> frontier(mirror, batch, memory);
  StepEnd step_end(batch, batch.counters->frontier_barrier);
  for (std::uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < num_queries; i += gridDim.x * kThreads)
    batch.sweep.items[i] = {i, mirror.root, HUGE_VALF};
  step_end.wait();
  std::uint32_t first = 0, end = num_queries;
  const auto expand = [&](std::int32_t level, Part part) {
    std::uint32_t& count = batch.counters->num_items[level];
    frontier.begin_step();
    frontier.expand(first, end, part, count);
    step_end.wait();
    return min(end + __ldcg(&count), batch.sweep.most_items);
  };
  for (std::int32_t level = mirror.height - 1; level > 0; --level) {
    const std::uint32_t listed = expand(level, Part::every);
    first = end;
    end = listed;
  }
  std::uint32_t leaf = end;
  for (const Part part : {Part::best, Part::others}) {
    const std::uint32_t listed = expand(0, part);
    for (bool is_repeated = false;;) {
      frontier.begin_step();
      frontier.visit(leaf, listed, is_repeated);
      is_repeated = step_end.raise_floors(num_queries, is_repeated, [](std::uint32_t i) { return i; });
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
  cuda::launch(frontier_batch<T>, shape, stream, mirror, batch);
}

template void launch_frontier<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_frontier<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);

}  // namespace culmen::gpu
