// The sweep of gpu/search/sweep.h.
//
// A thread block takes some queries (a chunk), and then 8 leaves at a time. With m, r and v the middle of the box around
// them, its extent and a row, in units of bounds, and s the sum of |w| * r over the attributes:
//
//   1. w * m + s / 2, with an error bound for what rounds, bounds the leaves: the queries whose k-th score bound it reaches are listed.
//   2. w * r / s of those and (v - m) / r of the rows, all within -1 .. 1, become tiles of binary16 numbers; their products
//      bound the rows.
//   3. What reaches the k-th score bound is scored as everywhere, and found if the score does.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/engines.h"
#include "gpu/search/half_tiles.cuh"
#include "gpu/search/step_end.cuh"
#include "gpu/search/sweep.h"
#include "gpu/search/sweep_memory.cuh"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kWarps = kThreads / kWarpSize;
// Of a multiprocessor: what the registers of kThreads leave room for.
constexpr unsigned most_blocks_each(int steps) {
  return steps < 4 ? 3 : 2;
}
constexpr std::uint32_t kLeavesAtOnce = 8;
constexpr std::uint32_t kWorthScoring = kThreads;  // offers
constexpr std::uint32_t kMaxChunk = kThreads;
constexpr std::uint32_t kMaxAlive = kMaxChunk / kWarpSize;
constexpr std::uint32_t kTileRows = 16, kTileQueries = 8, kTilesAtOnce = kWarpSize / kTileQueries;
// The most bounds slots of the first step: 8 times as many leaves as the blocks that a walk has visited. Slots are shuffled, so
// they are a sample of the whole table.
constexpr std::uint32_t kFirstPlaces = kSweepGrowth * kVisitsAlone / kFanOut;

// Both factors of a product in binary16 are off by 2^-11 of themselves, and their sum is by less than 2^-14.
constexpr float kHalfErrorBound = 0x1.2p-10F;
// Of a sum of binary32 numbers, by terms and for what its terms have been rounded, twice as much as it can be.
__device__ inline float float_error_bound(int num_terms) {
  return static_cast<float>(num_terms + 8) * 0x1p-23F;
}
constexpr unsigned kSign = 0x80000000;
constexpr float kNothing = 0x1p-90F;  // more than products lose that underflow

// What a thread block takes at once: some children of the level-1 node in a bounds slot.
constexpr std::uint32_t kPartsOfNode = kFanOut / kLeavesAtOnce;

// The bounds slots of a step: the multiples of `stride`, except those of the steps before.
struct Step {
  std::uint32_t num_slots, stride;
  bool is_first;

  __device__ std::uint32_t multiples(std::uint32_t of) const { return (num_slots + of - 1) / of; }
  __device__ std::uint32_t size() const {
    return multiples(stride) - (is_first ? 0 : multiples(stride * kSweepGrowth));
  }
  __device__ std::uint32_t slot(std::uint32_t i) const {
    return (is_first ? i : i + i / (kSweepGrowth - 1) + 1) * stride;
  }
};

template <int kSteps>
inline constexpr std::uint32_t kTileStride = kSteps* kHalfStep + kHalfPadding;

// kSteps: of kHalfStep attributes.
template <typename T, int kSteps>
class Sweep {
 public:
  __device__ Sweep(const MirrorRef& mirror, const BatchRef& batch, const SweepMemory<T>& memory,
                   std::uint32_t chunk, std::uint32_t num_queries)
      : mirror_(mirror),
        batch_(batch),
        sweep_(batch.sweep),
        memory_(memory),
        num_attributes_(static_cast<std::uint32_t>(mirror.num_attributes)),
        chunk_(chunk),
        num_queries_(num_queries) {
    // What pads tiles must be a number.
    for (std::uint32_t i = threadIdx.x; i < 2 * kRowsAtOnce * kStride; i += kThreads)
      memory_.row_tiles[i] = 0;
    for (std::uint32_t i = threadIdx.x; i < chunk_ * kStride; i += kThreads) memory_.query_tile[i] = 0;
    if (threadIdx.x == 0) leaves().num_offers = 0;
  }

  // is_repeated: only for the queries whose rows did not fit.
  __device__ void run(const Step& step, bool is_repeated) {
    const std::uint32_t size = step.size() * kPartsOfNode;
    for (first_ = 0; first_ < num_queries_; first_ += chunk_) {
      if (!take_chunk(is_repeated)) continue;
      // Where a step has fewer parts than there are blocks, others take those of the next queries.
      const std::uint32_t turned =
          (blockIdx.x + first_ / chunk_ % gridDim.x * (size % gridDim.x)) % gridDim.x;
      for (std::uint32_t i = turned; i < size; i += gridDim.x) {
        const std::uint32_t node = __ldg(mirror_.slot_nodes + step.slot(i / kPartsOfNode));
        if (node != kNoNode) look_at(mirror_.node(node), i % kPartsOfNode * kLeavesAtOnce);
      }
      score_offers(1);
      add_work();
    }
  }

 private:
  static constexpr std::uint32_t kStride = kTileStride<kSteps>;

  // The leaves that the block looks at.
  struct Leaves {
    std::uint32_t count;
    std::uint32_t slots[kLeavesAtOnce], num_rows[kLeavesAtOnce];
    std::uint32_t alive[kMaxAlive];  // queries whose k-th score bounds they may reach, a bit each
    std::uint32_t all_rows;
    std::uint32_t num_listed;
    std::uint32_t num_offers;  // those that found no room among them
  };
  __device__ static Leaves& leaves() {
    __shared__ Leaves leaves;
    return leaves;
  }

  // The queries from first_ on. False: none of them has anything to find.
  __device__ bool take_chunk(bool is_repeated) {
    __syncthreads();  // nobody uses those before any more
    for (std::uint32_t i = threadIdx.x; i < num_attributes_ * chunk_; i += kThreads) {
      const std::uint32_t q = i % chunk_;
      memory_.weights[i] =
          first_ + q < num_queries_ ? sweep_.weights[i / chunk_ * sweep_.most + entry(q)] : 0;
    }
    bool any = false;
    for (std::uint32_t q = threadIdx.x; q < chunk_; q += kThreads) {
      const float kth_bound =
          first_ + q < num_queries_ ? kth_bound_of(sweep_.queries[entry(q)], is_repeated) : HUGE_VALF;
      any |= kth_bound < HUGE_VALF;
      memory_.kth_bounds[q] = kth_bound;
      memory_.work[q] = memory_.rows[q] = 0;
    }
    return __syncthreads_or(any ? 1 : 0) != 0;
  }

  // The entry among all queries that were handed over of query q of the chunk.
  __device__ std::uint32_t entry(std::uint32_t q) const { return __ldg(sweep_.swept + first_ + q); }

  // In units of keys; rounded down. Infinity: nothing is to be found.
  __device__ float kth_bound_of(const SweepQuery& query, bool is_repeated) const {
    if (query.num_found > sweep_.capacity || (is_repeated && query.is_behind == 0)) return HUGE_VALF;
    const PackedHeader& header =
        QueryRef{batch_.queries + std::size_t{query.query} * batch_.query_stride}.header();
    const double kth_bound = ((query.kth_bound - query.base) - query.error_bound) * header.key_scale;
    // Origins may be of values that have gone, far from all there are: then nothing is known.
    return kth_bound < infinity() ? __double2float_rd(kth_bound) - kNothing : -HUGE_VALF;
  }

  // Children of a node from the first on.
  __device__ void look_at(NodeRef node, std::uint32_t first) {
    const std::uint32_t num_children = node.header().num_children;
    if (num_children <= first) return;
    score_offers(kWorthScoring);  // behind it nobody looks at those before any more
    if (threadIdx.x < kWarpSize) take_leaves(node, first, min(kLeavesAtOnce, num_children - first));
    __syncthreads();
    take_sides();
    __syncthreads();
    bound_leaves();
    __syncthreads();
    const std::uint32_t count = list_queries();
    if (count == 0) return;
    __syncthreads();
    write_query_tile(count);
    look_at_rows(count);
  }

  __device__ void take_leaves(NodeRef node, std::uint32_t first, std::uint32_t count) const {
    std::uint32_t num_rows = 0;
    if (lane_ < kLeavesAtOnce) {
      const std::uint32_t leaf = node.children()[first + min(lane_, count - 1)];
      num_rows = lane_ < count
                     ? min(mirror_.leaves[leaf].num_rows, static_cast<std::uint32_t>(mirror_.leaf_rows))
                     : 0;
      leaves().slots[lane_] = leaf;  // behind the last once more
      leaves().num_rows[lane_] = num_rows;
    }
    const std::uint32_t all_rows = cuda::warp_reduce_add(kFullWarp, num_rows);
    if (lane_ != 0) return;
    leaves().count = count;
    leaves().all_rows = all_rows;
  }

  // The box around the leaves.
  __device__ void take_sides() const {
    const std::uint32_t leaf = leaves().slots[threadIdx.x % kLeavesAtOnce];
    // Whole warps: the lanes of a leaf's box exchange its zone_map.
    for (std::uint32_t a = threadIdx.x / kLeavesAtOnce; a < (num_attributes_ + 3) / 4 * 4;
         a += kThreads / kLeavesAtOnce) {
      const std::uint32_t attribute = min(a, num_attributes_ - 1);
      T minimum = __ldg(mirror_.zone_vector<T>(leaf, Extreme::minimum) + attribute);
      T maximum = __ldg(mirror_.zone_vector<T>(leaf, Extreme::maximum) + attribute);
      for (int offset = 1; offset < static_cast<int>(kLeavesAtOnce); offset *= 2) {
        minimum = min(minimum, __shfl_xor_sync(kFullWarp, minimum, offset));
        maximum = max(maximum, __shfl_xor_sync(kFullWarp, maximum, offset));
      }
      if (threadIdx.x % kLeavesAtOnce != 0 || a >= num_attributes_) continue;
      memory_.minima[a] = minimum;
      memory_.sides[a] =
          side_of(static_cast<double>(minimum), static_cast<double>(maximum), mirror_.attributes[a]);
    }
  }

  __device__ static Side side_of(double low, double high, const AttributeBounds& bounds) {
    const double inverse = 1 / bounds.unit;  // exactly: a power of two
    const auto from = static_cast<float>((low - bounds.origin) * inverse);
    const auto to = static_cast<float>((high - bounds.origin) * inverse);
    const double range = high - low;
    // What is too small or large for binary32 numbers has no bounds: infinity makes all of it NaN or infinity.
    const bool is_usual = range == 0 || (range > 0x1p-100 && range < 0x1p100);
    return {from / 2 + to / 2, is_usual ? static_cast<float>(range * inverse) : HUGE_VALF,
            fmaxf(fabsf(from), fabsf(to)), range == 0 ? 0 : static_cast<float>(1 / range)};
  }

  // Which queries' k-th score bounds the leaves may reach, and what their rows must.
  __device__ void bound_leaves() const {
    const std::uint32_t q = threadIdx.x;
    if (q >= chunk_) return;  // whole warps
    float middle = 0, extent = 0, size = 0;
#pragma unroll 4
    for (std::uint32_t a = 0; a < num_attributes_; ++a) {
      const float weight = memory_.weights[a * chunk_ + q];
      const Side side = memory_.sides[a];
      middle = fmaf(weight, side.middle, middle);
      extent = fmaf(fabsf(weight), side.extent, extent);
      size = fmaf(fabsf(weight), side.farthest, size);
    }
    const float kth_bound = memory_.kth_bounds[q];
    const float least = kth_bound - size * float_error_bound(mirror_.num_attributes) - middle;
    const bool reaches =
        kth_bound < HUGE_VALF && !(extent * (0.5F + kHalfErrorBound) < least);  // NaN: it may
    const unsigned alive = __ballot_sync(kFullWarp, reaches);
    if (lane_ == 0) leaves().alive[warp_] = alive;
    if (reaches) memory_.bounds[q] = row_bound(least, extent);
  }

  __device__ static RowBound row_bound(float least, float extent) {
    const float factor = 1 / extent, in_extents = least * factor - kHalfErrorBound;
    const bool is_usual = extent > 0x1p-80F && extent < 0x1p80F && fabsf(in_extents) < 0x1p20F;
    return is_usual ? RowBound{in_extents, factor} : RowBound{-1, 0};  // all rows may reach it
  }

  // Numbers those whose k-th score bounds the leaves may reach. Returns how many there are.
  __device__ std::uint32_t list_queries() const {
    std::uint32_t count = 0, before = 0;
    for (std::uint32_t word = 0; word < chunk_ / kWarpSize; ++word) {
      if (word == warp_) before = count;
      count += static_cast<std::uint32_t>(__popc(leaves().alive[word]));
    }
    const std::uint32_t q = threadIdx.x;
    if (q == 0) leaves().num_listed = count;
    if (q >= chunk_ || (leaves().alive[warp_] >> lane_ & 1) == 0) return count;
    const unsigned smaller = leaves().alive[warp_] & ((1u << lane_) - 1);
    memory_.listed[before + static_cast<std::uint32_t>(__popc(smaller))] = static_cast<std::uint16_t>(q);
    memory_.work[q] += leaves().count;
    memory_.rows[q] += leaves().all_rows;
    return count;
  }

  // Warps share the list, 32 queries each, and where these are few the rest of the work: each its first item, and then
  // one in `step`.
  struct Share {
    std::uint32_t group, first, step;
  };
  __device__ Share share_of(std::uint32_t count) const {
    const std::uint32_t groups = (count + kWarpSize - 1) / kWarpSize, shares = kWarps / groups,
                        share = warp_ / groups;
    return {warp_ % groups, share < shares ? share : 1 << 16, shares};  // one too many: no work
  }

  __device__ void write_query_tile(std::uint32_t count) const {
    const Share mine = share_of(count);
    const std::uint32_t i = mine.group * kWarpSize + lane_, q = memory_.listed[min(i, count - 1)];
    const float factor = memory_.bounds[q].factor;
    const auto number = [&](std::uint32_t a) {
      return a < num_attributes_ && factor != 0  // extents may be infinite
                 ? memory_.weights[a * chunk_ + q] * (memory_.sides[a].extent * factor)
                 : 0.0F;
    };
    for (std::uint32_t a = mine.first * 2; a < num_attributes_; a += mine.step * 2)
      *reinterpret_cast<__half2*>(memory_.query_tile + i * kStride + a) =
          __floats2half2_rn(number(a), number(a + 1));
  }

  // The lane's part of its warp's queries: what their sums begin with, and their numbers.
  struct Columns {
    float starts[kTilesAtOnce][4];
    HalfFragment numbers[kSteps][kTilesAtOnce / 2];
  };

  // Two tiles of rows: one is written while others still multiply by the one before.
  __device__ void look_at_rows(std::uint32_t count) {
    const Share mine = share_of(count);
    std::uint32_t tile = 0;
    Columns columns;
    bool has_columns = false;
    for (std::uint32_t l = 0; l < leaves().count; ++l)
      for (std::uint32_t first = 0; first < leaves().num_rows[l]; first += kRowsAtOnce) {
        const std::uint32_t num_rows =
            min(static_cast<std::uint32_t>(kRowsAtOnce), leaves().num_rows[l] - first);
        __half* rows = memory_.row_tiles + tile * kRowsAtOnce * kStride;
        write_row_tile(leaves().slots[l], first, num_rows, rows);
        __syncthreads();  // and the queries' tile is written
        if (!has_columns) take_columns(mine.group, count, columns);
        has_columns = true;
        multiply(l, first, num_rows, mine, columns, rows);
        tile ^= 1;
      }
  }

  __device__ void take_columns(std::uint32_t group, std::uint32_t count, Columns& columns) const {
#pragma unroll
    for (std::uint32_t n = 0; n < kTilesAtOnce; ++n)
#pragma unroll
      for (std::uint32_t c = 0; c < 4; ++c) {
        const std::uint32_t i = group * kWarpSize + column(n, c % 2);
        columns.starts[n][c] =
            i < count ? -memory_.bounds[memory_.listed[i]].least : -0x1p30F;  // never reached
      }
    const __half* numbers = memory_.query_tile + group * kWarpSize * kStride;
#pragma unroll
    for (int step = 0; step < kSteps; ++step)
#pragma unroll
      for (std::uint32_t n = 0; n < kTilesAtOnce / 2; ++n)
        columns.numbers[step][n].load(numbers +
                                      (n * 2 * kTileQueries + lane_ % 8 + lane_ / 16 * 8) * kStride +
                                      lane_ / 8 % 2 * 8 + step * kHalfStep);
  }

  __device__ void write_row_tile(std::uint32_t leaf, std::uint32_t first, std::uint32_t num_rows,
                                 __half* rows) const {
    const auto leaf_rows = static_cast<std::uint32_t>(mirror_.leaf_rows);
    const T* values = mirror_.leaf_values<T>(leaf) + first;
    for (std::uint32_t a = warp_ * 2; a < num_attributes_; a += kWarps * 2) {
      const std::uint32_t b = min(a + 1, num_attributes_ - 1);  // the last alone: once more, against zeros
      const T minima[2] = {memory_.minima[a], memory_.minima[b]};
      const float per_value[2] = {memory_.sides[a].per_value, memory_.sides[b].per_value};
#pragma unroll
      for (std::uint32_t part = 0; part < kRowsPerLane; ++part) {
        const std::uint32_t row = part * kWarpSize + lane_, position = min(row, num_rows - 1);
        const auto above = static_cast<float>(__ldg(values + a * leaf_rows + position) - minima[0]);
        const auto next = static_cast<float>(__ldg(values + b * leaf_rows + position) - minima[1]);
        *reinterpret_cast<__half2*>(rows + row * kStride + a) =
            __floats2half2_rn(fmaf(above, per_value[0], -0.5F), fmaf(next, per_value[1], -0.5F));
      }
    }
  }

  __device__ void multiply(std::uint32_t l, std::uint32_t first, std::uint32_t num_rows, const Share& mine,
                           const Columns& columns, const __half* rows) const {
    for (std::uint32_t row = mine.first * kTileRows; row < num_rows; row += mine.step * kTileRows) {
      __syncwarp();
      float sums[kTilesAtOnce][4];
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        HalfFragment numbers;
        numbers.load(rows + (row + lane_ % kTileRows) * kStride + lane_ / kTileRows * 8 + step * kHalfStep);
#pragma unroll
        for (std::uint32_t n = 0; n < kTilesAtOnce; ++n) {
          const std::uint32_t* of_query = columns.numbers[step][n / 2].words + n % 2 * 2;
          if (step == 0) {
            multiply_add(sums[n], numbers, of_query[0], of_query[1], columns.starts[n]);
          } else {
            multiply_add(sums[n], numbers, of_query[0], of_query[1], sums[n]);
          }
        }
      }
      unsigned below = 0xffffffff;
#pragma unroll
      for (std::uint32_t i = 0; i < kTilesAtOnce * 4; ++i) below &= __float_as_uint(sums[i / 4][i % 4]);
      if ((below & kSign) == 0) offer_all(l, first + row, num_rows - row, mine.group, sums);
    }
  }

  // Those of the lane's sums that are not below 0.
  __device__ void offer_all(std::uint32_t l, std::uint32_t first, std::uint32_t num_rows, std::uint32_t group,
                            const float (&sums)[kTilesAtOnce][4]) const {
#pragma unroll
    for (std::uint32_t i = 0; i < kTilesAtOnce * 4; ++i) {
      const std::uint32_t row = lane_ / 4 + i % 4 / 2 * 8, listed = group * kWarpSize + column(i / 4, i % 2);
      if ((__float_as_uint(sums[i / 4][i % 4]) & kSign) == 0 && row < num_rows &&
          listed < leaves().num_listed)
        put({leaves().slots[l], static_cast<std::uint16_t>(first + row), memory_.listed[listed]});
    }
  }

  // By a lane.
  __device__ void put(const Offer& offer) const {
    const std::uint32_t i = atomicAdd(&leaves().num_offers, 1u);
    if (i < kMaxOffers) {
      memory_.offers[i] = offer;
    } else {
      score(offer);
    }
  }

  // By all threads, whole warps at once: what many lanes wait for takes no longer than what one does.
  __device__ void score_offers(std::uint32_t at_least) const {
    __syncthreads();
    const std::uint32_t count = min(leaves().num_offers, kMaxOffers);
    if (count < at_least) return;
    __syncthreads();  // all have read it
    if (threadIdx.x == 0) leaves().num_offers = 0;
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) score(memory_.offers[i]);
    __syncthreads();
  }

  // Where the lane's sums c and c + 2 of tile n stand.
  __device__ std::uint32_t column(std::uint32_t n, std::uint32_t c) const {
    return n * kTileQueries + lane_ % 4 * 2 + c;
  }

  // By a lane.
  __device__ void score(const Offer& offer) const {
    const std::uint32_t entry_of_query = entry(offer.query);
    SweepQuery& mine = sweep_.queries[entry_of_query];
    const QueryRef query = {batch_.queries + std::size_t{mine.query} * batch_.query_stride};
    const T* values = mirror_.leaf_values<T>(offer.leaf) + offer.row;
    const auto value = [&](std::int32_t attribute) {
      return static_cast<double>(__ldg(values + static_cast<std::uint32_t>(attribute) *
                                                    static_cast<std::uint32_t>(mirror_.leaf_rows)));
    };
    atomicAdd(reinterpret_cast<unsigned long long*>(&mine.scored), 1ull);
    for (int r = 0; r < query.header().num_ranges; ++r) {
      const PackedRange& range = query.ranges()[r];
      const double x = value(range.attribute);
      if (x < range.minimum || x > range.maximum) return;
    }
    double score = query.header().offset;
    for (int t = 0; t < query.header().num_terms; ++t)
      score = score_step(score, query.terms()[t].weight, value(query.terms()[t].attribute));
    score = score_finish(score);
    if (score >= mine.kth_bound)
      add_found(sweep_, entry_of_query, {score, mirror_.first_row(offer.leaf) + offer.row});
  }

  __device__ void add_work() const {
    __syncthreads();
    for (std::uint32_t q = threadIdx.x; q < min(chunk_, num_queries_ - first_); q += kThreads) {
      if (memory_.work[q] == 0) continue;
      SweepQuery& query = sweep_.queries[entry(q)];
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.leaves), std::uint64_t{memory_.work[q]});
      atomicAdd(reinterpret_cast<unsigned long long*>(&query.rows), std::uint64_t{memory_.rows[q]});
    }
  }

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  const SweepRef& sweep_;
  const SweepMemory<T>& memory_;
  std::uint32_t num_attributes_, chunk_, num_queries_;
  std::uint32_t first_ = 0;
  std::uint32_t lane_ = threadIdx.x % kWarpSize, warp_ = threadIdx.x / kWarpSize;
};

// Cooperative: k-th score bounds are raised between two steps. Dynamic shared memory: SweepMemory.
template <typename T, int kSteps>
__global__ void __launch_bounds__(kThreads, most_blocks_each(kSteps))
    sweep_batch(const MirrorRef mirror, const BatchRef batch, std::uint32_t chunk) {
  const std::uint32_t num_queries = batch.counters->num_swept;
  if (num_queries == 0) return;
  extern __shared__ uint4 sweep_shared[];  // as ldmatrix wants it aligned
  SweepMemory<T> memory;
  memory.lay_out(reinterpret_cast<std::byte*>(sweep_shared), chunk,
                 static_cast<std::uint32_t>(mirror.num_attributes), kTileStride<kSteps>);
  Sweep<T, kSteps> sweep(mirror, batch, memory, chunk, num_queries);
  StepEnd step_end(batch, batch.counters->sweep_barrier);
  std::uint32_t stride = 1;
  while (mirror.num_slots / stride > kFirstPlaces) stride *= kSweepGrowth;
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
  SweepMemory<T> memory;
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
                             .num_threads = kThreads,
                             .shared_bytes = bytes_of(chunk),
                             .cooperative = true};
  cuda::launch(sweep_batch<T, kSteps>, shape, stream, mirror, batch, chunk);
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

}  // namespace culmen::gpu
