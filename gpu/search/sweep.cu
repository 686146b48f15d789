// The sweep of gpu/search/sweep.h.
//
// A thread block takes some queries (a chunk), and then 8 leaves at a time. Let m and r be the middle and the extent
// of the box around them and v a row, all in bound units, and s the sum of |w| * r over the attributes:
//
//   1. w * m + s / 2, plus an error bound, bounds the leaves. The queries whose k-th score bounds it reaches are listed
//      (sweep_bounds.cuh).
//   2. w * r / s of these and (v - m) / r of the rows, all within -1 .. 1, become tiles of binary16 numbers. Their
//      products bound the rows (sweep_tiles.cuh).
//   3. A row whose bound reaches the k-th score bound is scored as in all engines, and found if its score does.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/engines.h"
#include "gpu/search/growing_step.cuh"
#include "gpu/search/step_end.cuh"
#include "gpu/search/sweep.h"
#include "gpu/search/sweep_bounds.cuh"
#include "gpu/search/sweep_tiles.cuh"

namespace culmen::gpu {
namespace {

// Thread blocks per multiprocessor: as many as the register file holds.
constexpr unsigned most_blocks_each(int steps) {
  return steps < 4 ? 3 : 2;
}
// Offers that are worth a barrier to score them: one for each thread.
constexpr std::uint32_t kWorthScoring = kSweepThreads;
// Bounds slots of the first step, at most: 16 times as many leaves as a walk has visited nodes and leaves. Slots are
// shuffled, so they are a sample of the whole table.
constexpr std::uint32_t kFirstSlots = 2 * kSweepGrowth * kVisitsAlone / kFanOut;
// More than products lose by underflow.
constexpr float kUnderflow = 0x1p-90F;
constexpr std::uint32_t kPartsOfNode = kFanOut / kLeavesAtOnce;

template <typename T, int kSteps, QueryKind kKind>
class Sweep {
 public:
  __device__ Sweep(const MirrorRef& mirror, const BatchRef& batch, const SweepMemory<ValueOf<T>>& memory,
                   std::uint32_t chunk, std::uint32_t num_queries)
      : mirror_(mirror),
        batch_(batch),
        sweep_(batch.sweep),
        memory_(memory),
        num_attributes_(static_cast<std::uint32_t>(mirror.num_attributes)),
        chunk_(chunk),
        num_queries_(num_queries),
        bounds_(mirror, memory, num_attributes_, chunk),
        tiles_(mirror, memory, num_attributes_, chunk) {
    if (threadIdx.x == 0) sweep_leaves().num_offers = 0;
  }

  // step: of the bounds slots. is_repeated: only for queries whose rows did not fit.
  __device__ void run(const GrowingStep& step, bool is_repeated) {
    const std::uint32_t size = step.size() * kPartsOfNode;
    for (first_ = 0; first_ < num_queries_; first_ += chunk_) {
      if (!take_chunk(is_repeated)) continue;
      // If a step has fewer parts than there are thread blocks, other blocks start with the next chunk.
      const std::uint32_t turned =
          (blockIdx.x + first_ / chunk_ % gridDim.x * (size % gridDim.x)) % gridDim.x;
      for (std::uint32_t i = turned; i < size; i += gridDim.x) {
        const std::uint32_t node = __ldg(mirror_.slot_nodes + step.place(i / kPartsOfNode));
        if (node != kNoNode) take_children(mirror_.node(node), i % kPartsOfNode * kLeavesAtOnce);
      }
      score_offers(1);
      add_work();
    }
  }

 private:
  // Loads the queries from first_ on. Returns false if none of them is to find rows.
  __device__ bool take_chunk(bool is_repeated) {
    __syncthreads();  // no thread reads the previous chunk any more
    for (std::uint32_t i = threadIdx.x; i < num_attributes_ * chunk_; i += kSweepThreads) {
      const std::uint32_t q = i % chunk_;
      memory_.weights[i] =
          first_ + q < num_queries_ ? sweep_.weights[i / chunk_ * sweep_.most + entry(q)] : 0;
    }
    bool any = false;
    for (std::uint32_t q = threadIdx.x; q < chunk_; q += kSweepThreads) {
      const float kth_bound =
          first_ + q < num_queries_ ? kth_bound_of(sweep_.queries[entry(q)], is_repeated) : HUGE_VALF;
      any |= kth_bound < HUGE_VALF;
      memory_.kth_bounds[q] = kth_bound;
      memory_.work[q] = memory_.rows[q] = 0;
    }
    return __syncthreads_or(any ? 1 : 0) != 0;
  }

  // The entry of query q of the chunk.
  __device__ std::uint32_t entry(std::uint32_t q) const { return __ldg(sweep_.swept + first_ + q); }

  // In units of keys, rounded down. Infinity: no row is to be found.
  __device__ float kth_bound_of(const SweepQuery& query, bool is_repeated) const {
    if (query.num_found > sweep_.capacity || (is_repeated && query.is_behind == 0)) return HUGE_VALF;
    const PackedHeader& header =
        QueryRef{batch_.queries + std::size_t{query.query} * batch_.query_stride}.header();
    const double kth_bound = ((query.kth_bound - query.base) - query.error_bound) * header.key_scale;
    // The origin may be that of erased values, far from all present ones: then nothing is known.
    return kth_bound < infinity() ? __double2float_rd(kth_bound) - kUnderflow : -HUGE_VALF;
  }

  // Takes the children of a node from `first` on.
  __device__ void take_children(NodeRef node, std::uint32_t first) {
    const std::uint32_t num_children = node.header().num_children;
    if (num_children <= first) return;
    score_offers(kWorthScoring);  // the leaf buffers are free after its barrier
    if (threadIdx.x < kWarpSize) bounds_.take_leaves(node, first, min(kLeavesAtOnce, num_children - first));
    __syncthreads();
    bounds_.take_sides();
    __syncthreads();
    bounds_.bound_leaves();
    __syncthreads();
    const std::uint32_t count = bounds_.list_queries();
    if (count == 0) return;
    __syncthreads();
    tiles_.write_query_tile(count);
    tiles_.for_each_offer(count, [this](const Offer& offer) { put(offer); });
  }

  // By a lane. Keeps the offer until many can be scored at once.
  __device__ void put(const Offer& offer) const {
    const std::uint32_t i = atomicAdd(&sweep_leaves().num_offers, 1u);
    if (i < kMaxOffers) {
      memory_.offers[i] = offer;
    } else {
      score(offer);
    }
  }

  // By all threads, if there are `at_least` so many: loads of all lanes of a warp together take no longer than one
  // lane's.
  __device__ void score_offers(std::uint32_t at_least) const {
    __syncthreads();
    const std::uint32_t count = min(sweep_leaves().num_offers, kMaxOffers);
    if (count < at_least) return;
    __syncthreads();  // all have read it
    if (threadIdx.x == 0) sweep_leaves().num_offers = 0;
    for (std::uint32_t i = threadIdx.x; i < count; i += kSweepThreads) score(memory_.offers[i]);
    __syncthreads();
  }

  // By a lane. A repeated step counts its rows again (SearchStats::rows_scored).
  __device__ void score(const Offer& offer) const {
    const std::uint32_t entry_of_query = entry(offer.query);
    SweepQuery& mine = sweep_.queries[entry_of_query];
    const QueryRef query = {batch_.queries + std::size_t{mine.query} * batch_.query_stride};
    atomicAdd(reinterpret_cast<unsigned long long*>(&mine.scored), 1ull);
    double score = 0;
    if (!score_row<T, kKind>(mirror_, query, offer.leaf, offer.row, mine.kth_bound, score)) return;
    if (score >= mine.kth_bound)
      add_found(sweep_, entry_of_query, {score, mirror_.first_row(offer.leaf) + offer.row});
  }

  __device__ void add_work() const {
    __syncthreads();
    for (std::uint32_t q = threadIdx.x; q < min(chunk_, num_queries_ - first_); q += kSweepThreads) {
      if (memory_.work[q] == 0) continue;
      SweepQuery& query = sweep_.queries[entry(q)];
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.leaves), std::uint64_t{memory_.work[q]});
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.rows), std::uint64_t{memory_.rows[q]});
    }
  }

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  const SweepRef& sweep_;
  const SweepMemory<ValueOf<T>>& memory_;
  std::uint32_t num_attributes_, chunk_, num_queries_;
  SweepBounds<T> bounds_;
  SweepTiles<T, kSteps> tiles_;
  std::uint32_t first_ = 0;
};

// Cooperative: k-th score bounds are raised between two steps. Dynamic shared memory: SweepMemory.
template <typename T, int kSteps, QueryKind kKind>
__global__ void __launch_bounds__(kSweepThreads, most_blocks_each(kSteps))
    sweep_batch(const MirrorRef mirror, const BatchRef batch, std::uint32_t chunk) {
  const std::uint32_t num_queries = batch.counters->num_swept;
  if (num_queries == 0) return;
  extern __shared__ uint4 sweep_shared[];  // as ldmatrix wants it aligned
  SweepMemory<ValueOf<T>> memory;
  memory.lay_out(reinterpret_cast<std::byte*>(sweep_shared), chunk,
                 static_cast<std::uint32_t>(mirror.num_attributes), kTileStride<kSteps>);
  Sweep<T, kSteps, kKind> sweep(mirror, batch, memory, chunk, num_queries);
  StepEnd step_end(batch, batch.counters->sweep_barrier);
  std::uint32_t stride = 1;
  while (mirror.num_slots / stride > kFirstSlots) stride *= kSweepGrowth;
  for (bool is_first = true, is_repeated = false; stride > 0;) {
    sweep.run({mirror.num_slots, stride, is_first}, is_repeated);
    is_repeated = step_end.raise_kth_bounds(num_queries, is_repeated,
                                            [&](std::uint32_t i) { return __ldg(batch.sweep.swept + i); });
    if (is_repeated) continue;
    is_first = false;
    stride /= kSweepGrowth;
  }
}

template <typename T, int kSteps>
void launch(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits, cudaStream_t stream) {
  SweepMemory<ValueOf<T>> memory;
  const auto bytes_of = [&](std::uint32_t chunk) {
    return memory.lay_out(nullptr, chunk, static_cast<std::uint32_t>(mirror.num_attributes),
                          kTileStride<kSteps>);
  };
  constexpr std::size_t kStatic = 1 << 10;
  const auto blocks_each = [&](std::uint32_t chunk) {
    const std::size_t each = bytes_of(chunk) + kStatic + limits.reserved_shared_bytes;
    return static_cast<unsigned>(
        std::min<std::size_t>(most_blocks_each(kSteps), limits.multiprocessor_shared_bytes / each));
  };
  std::uint32_t chunk = kMaxChunk;
  while (chunk > kWarpSize && blocks_each(chunk) < 2) chunk /= 2;
  const cuda::Shape shape = {.num_blocks = limits.num_multiprocessors * std::max(1u, blocks_each(chunk)),
                             .num_threads = kSweepThreads,
                             .shared_bytes = bytes_of(chunk),
                             .cooperative = true};
  cuda::launch(batch.kind == QueryKind::filtered ? sweep_batch<T, kSteps, QueryKind::filtered>
                                                 : sweep_batch<T, kSteps, QueryKind::plain>,
               shape, stream, mirror, batch, chunk);
}

}  // namespace

template <typename T>
void launch_sweep(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                  cudaStream_t stream) {
  const auto steps = (static_cast<std::uint32_t>(mirror.num_attributes) + kHalfStep - 1) / kHalfStep;
  if (steps == 1) return launch<T, 1>(mirror, batch, limits, stream);
  if (steps == 2) return launch<T, 2>(mirror, batch, limits, stream);
  launch<T, 4>(mirror, batch, limits, stream);
}

template void launch_sweep<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_sweep<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_sweep<Packed<float>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                          cudaStream_t);
template void launch_sweep<Packed<double>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                           cudaStream_t);

}  // namespace culmen::gpu
