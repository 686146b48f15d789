// The sweep of a wide table: a product of matrices, of the rows in half precision (gpu/mirror/half_rows.h) and the weights
// of a batch's queries, on tensor cores. It bounds rows by their products; few reach the k-th score bound, and what is
// left of these in the end is scored as in all engines.
//
// With p' the product of binary16 numbers and p that of what they were rounded from, v of the row and w of the query,
//
//   |p - p'| <= |w - w'| |v| + |w'| |v - v'| + what the sum loses
//
// by Cauchy and Schwarz, with lengths that queries and leaves have at hand. A leaf is left out if no query of a tile can
// reach its k-th score bound with rows of the leaf's length.
//
// Like the other sweep it begins with few leaves and grows, and between two steps raises the k-th score bounds. The
// scores of found rows are lower bounds here.
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/engines.h"
#include "gpu/search/half_tiles.cuh"
#include "gpu/search/leaf_rows.cuh"
#include "gpu/search/step_end.cuh"
#include "gpu/search/sweep.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksEach = 2;
// A tile of rows: of two segments, pieces of leaves. The usual leaf is one.
constexpr std::uint32_t kSegmentRows = kRowsAtOnce, kSegments = 2, kTileRows = kSegments * kSegmentRows;
constexpr std::uint32_t kTileQueries = 128;
// What a warp multiplies of a tile.
constexpr std::uint32_t kWarpRows = 48, kWarpQueries = 64, kWarpsOfRows = kTileRows / kWarpRows;
static_assert(kTileRows / kWarpRows * (kTileQueries / kWarpQueries) * kWarpSize == kThreads);
// Numbers between two rows of a tile in shared memory: ldmatrix then has no bank conflicts.
constexpr std::uint32_t kStride = kHalfDepth + kHalfPadding;
constexpr std::uint32_t kStageNumbers = (kTileRows + kTileQueries) * kStride;

// Copies of 16 bytes to shared memory, which the thread need not wait for before it has to.
__device__ inline void copy_16_bytes(__half* to, const Half* from) {
#if __CUDA_ARCH__ >= 800
  const auto address = static_cast<std::uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(address), "l"(from) : "memory");
#else
  *reinterpret_cast<uint4*>(to) = __ldg(reinterpret_cast<const uint4*>(from));
#endif
}
__device__ inline void end_group_of_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
// Until at most kLeft groups are under way.
template <int kLeft>
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
#endif
}

// The leaves of a step: the multiples of `stride` in the tree's order, except those of the steps before.
struct Step {
  std::uint32_t num_leaves, stride;
  bool is_first;

  __device__ std::uint32_t multiples(std::uint32_t of) const { return (num_leaves + of - 1) / of; }
  __device__ std::uint32_t size() const {
    return multiples(stride) - (is_first ? 0 : multiples(stride * kSweepGrowth));
  }
  __device__ std::uint32_t position(std::uint32_t i) const {
    return (is_first ? i : i + i / (kSweepGrowth - 1) + 1) * stride;
  }
};

struct Segment {
  std::uint32_t leaf, first_row, num_rows;
  HalfLeaf lengths;
};

// What the product of a row of a segment must reach, and by how much products may be off. error < 0: none reaches it.
struct Limit {
  float least, error;
};

struct TileShared {
  Segment segments[kSegments];
  Limit limits[kSegments][kTileQueries];
  std::uint32_t num_offers;  // includes those beyond kMaxOffers
};

// Rows of a tile that may reach k-th score bounds, where its numbers were: their products, and row and query in the
// tile. There is room for all that are in one of the 16 rows that warps multiply at once.
constexpr std::uint32_t kMaxOffers = kThreads / kWarpSize * 16 * kWarpQueries;
struct Offers {
  float products[kMaxOffers];
  std::uint16_t rows_and_queries[kMaxOffers];
};
static_assert(sizeof(Offers) <= 2 * kStageNumbers * sizeof(Half) && kTileRows * kTileQueries <= 1 << 16);

template <typename T, int kStages, bool kFiltered>
class WideSweep {
 public:
  __device__ WideSweep(const MirrorRef& mirror, const BatchRef& batch, TileShared& shared, __half* tiles,
                       std::uint32_t num_queries)
      : mirror_(mirror),
        batch_(batch),
        sweep_(batch.sweep),
        shared_(shared),
        tiles_(tiles),
        num_queries_(num_queries) {}

  // is_repeated: only for queries whose rows did not fit.
  __device__ void run(const Step& step, bool is_repeated) {
    const std::uint32_t each =
        (static_cast<std::uint32_t>(mirror_.leaf_rows) + kSegmentRows - 1) / kSegmentRows;
    const std::uint32_t num_segments = step.size() * each;
    const std::uint32_t num_tiles = (num_segments + kSegments - 1) / kSegments;
    const std::uint32_t num_chunks = (num_queries_ + kTileQueries - 1) / kTileQueries;
    // Blocks that run at once share tiles of rows.
    for (std::uint64_t i = blockIdx.x; i < std::uint64_t{num_tiles} * num_chunks; i += gridDim.x) {
      first_query_ = static_cast<std::uint32_t>(i % num_chunks) * kTileQueries;
      const auto first_segment = static_cast<std::uint32_t>(i / num_chunks) * kSegments;
      __syncthreads();  // the tile before is done
      if (threadIdx.x < kSegments)
        shared_.segments[threadIdx.x] = segment(step, first_segment + threadIdx.x, num_segments, each);
      __syncthreads();
      if (__syncthreads_or(set_limits(is_repeated) ? 1 : 0) != 0) multiply();
    }
  }

 private:
  __device__ Segment segment(const Step& step, std::uint32_t number, std::uint32_t num_segments,
                             std::uint32_t each) const {
    Segment of = {__ldg(mirror_.leaf_order + step.position(min(number, num_segments - 1) / each)),
                  number % each * kSegmentRows,
                  0,
                  {}};
    const std::uint32_t all =
        min(mirror_.leaves[of.leaf].num_rows, static_cast<std::uint32_t>(mirror_.leaf_rows));
    if (number < num_segments && of.first_row < all) of.num_rows = min(all - of.first_row, kSegmentRows);
    of.lengths = mirror_.half.leaves[of.leaf];
    return of;
  }

  // A thread for each query and segment. Returns whether some row may reach the query's k-th score bound.
  __device__ bool set_limits(bool is_repeated) const {
    const std::uint32_t q = threadIdx.x % kTileQueries, s = threadIdx.x / kTileQueries;
    static_assert(kTileQueries * kSegments == kThreads);
    const Segment& of = shared_.segments[s];
    Limit limit = {HUGE_VALF, -1};
    if (first_query_ + q < num_queries_ && of.num_rows > 0) {
      SweepQuery& query = sweep_.queries[first_query_ + q];
      const bool is_done = query.num_found > sweep_.capacity || (is_repeated && query.is_behind == 0);
      if (!is_done) limit = limit_of(query, sweep_.half_queries[first_query_ + q], of.lengths);
      if (limit.error >= 0) {
        if (of.first_row == 0) atomicAdd(reinterpret_cast<unsigned long long*>(&query.leaves), 1ull);
        atomicAdd(reinterpret_cast<unsigned long long*>(&query.rows), std::uint64_t{of.num_rows});
      }
    }
    shared_.limits[s][q] = limit;
    return limit.error >= 0;
  }

  __device__ Limit limit_of(const SweepQuery& query, const HalfQuery& half, const HalfLeaf& leaf) const {
    constexpr float kUp = 1 + 0x1p-18F;  // more than these few operations round
    const float sum_error = static_cast<float>(mirror_.num_attributes + 16) * 0x1p-22F;
    const float error = kUp * (half.loss * leaf.norm + half.norm * leaf.loss +
                               sum_error * half.norm * (leaf.norm + leaf.loss) + 0x1p-90F);
    const float kth_bound =
        __double2float_rd(((query.kth_bound - query.base) - query.error_bound) / half.factor);
    const float highest =
        kUp * fminf((half.norm + half.loss) * leaf.norm, half.length * leaf.length) + 0x1p-90F;
    if (highest < kth_bound) return {HUGE_VALF, -1};  // NaN and infinity: may reach it
    return {__fsub_rd(kth_bound, error), error >= 0 ? error : HUGE_VALF};
  }

  // The products of a tile, with the next numbers under way.
  __device__ void multiply() const {
    const Half* sources[kCopiesEach];
    take_sources(sources);
    float sums[kWarpRows / 16][kWarpQueries / 8][4] = {};
    const std::uint32_t num_steps = mirror_.half.stride / kHalfDepth;
#pragma unroll
    for (std::uint32_t next = 0; next < kStages - 1; ++next) copy_stage(sources, next, num_steps);
    for (std::uint32_t step = 0; step < num_steps; ++step) {
      wait_for_copies<kStages - 2>();
      __syncthreads();  // and all warps are done with the stage that is written next
      copy_stage(sources, step + kStages - 1, num_steps);
      multiply_stage(tiles_ + step % kStages * kStageNumbers, sums);
    }
    wait_for_copies<0>();
    if (!take_offers(0, kWarpRows / 16, sums))
#pragma unroll
      for (std::uint32_t m = 0; m < kWarpRows / 16; ++m) take_offers(m, m + 1, sums);
  }

  // 16 bytes each, of the rows threadIdx.x / 4, threadIdx.x / 4 + 64 .. of a stage.
  static constexpr std::uint32_t kCopiesOfRow = kHalfDepth * sizeof(Half) / 16;
  static constexpr std::uint32_t kRowsOfCopy = kThreads / kCopiesOfRow;
  static constexpr std::uint32_t kCopiesEach = (kTileRows + kTileQueries) / kRowsOfCopy;
  static_assert(kTileRows % kRowsOfCopy == 0 && kTileQueries % kRowsOfCopy == 0);

  // Rows and queries that are not there are read as the last one.
  __device__ void take_sources(const Half* (&sources)[kCopiesEach]) const {
    const std::uint32_t part = threadIdx.x % kCopiesOfRow * (16 / sizeof(Half));
#pragma unroll
    for (std::uint32_t i = 0; i < kCopiesEach; ++i) {
      const std::uint32_t row = threadIdx.x / kCopiesOfRow + i * kRowsOfCopy;
      std::size_t number = 0;
      if (row < kTileRows) {
        const Segment& of = shared_.segments[row / kSegmentRows];
        number =
            mirror_.first_row(of.leaf) + of.first_row + min(row % kSegmentRows, max(of.num_rows, 1u) - 1);
      } else {
        number = min(first_query_ + row - kTileRows, num_queries_ - 1);
      }
      sources[i] =
          (row < kTileRows ? mirror_.half.rows : sweep_.half_weights) + number * mirror_.half.stride + part;
    }
  }

  __device__ void copy_stage(const Half* const (&sources)[kCopiesEach], std::uint32_t step,
                             std::uint32_t num_steps) const {
    if (step < num_steps) {
      __half* to = tiles_ + step % kStages * kStageNumbers + threadIdx.x / kCopiesOfRow * kStride +
                   threadIdx.x % kCopiesOfRow * (16 / sizeof(Half));
#pragma unroll
      for (std::uint32_t i = 0; i < kCopiesEach; ++i)
        copy_16_bytes(to + i * kRowsOfCopy * kStride, sources[i] + step * kHalfDepth);
    }
    end_group_of_copies();  // also of nothing, so that groups can be counted
  }

  __device__ void multiply_stage(const __half* stage,
                                 float (&sums)[kWarpRows / 16][kWarpQueries / 8][4]) const {
    const __half* rows = stage + (warp_ % kWarpsOfRows * kWarpRows + lane_ % 16) * kStride + lane_ / 16 * 8;
    const __half* queries =
        stage + (kTileRows + warp_ / kWarpsOfRows * kWarpQueries + lane_ % 8 + lane_ / 16 * 8) * kStride +
        lane_ / 8 % 2 * 8;
#pragma unroll
    for (std::uint32_t at = 0; at < kHalfDepth; at += kHalfStep) {
      HalfFragment of_rows[kWarpRows / 16];
#pragma unroll
      for (std::uint32_t m = 0; m < kWarpRows / 16; ++m) of_rows[m].load(rows + m * 16 * kStride + at);
#pragma unroll
      for (std::uint32_t n = 0; n < kWarpQueries / 16; ++n) {
        HalfFragment of_queries;
        of_queries.load(queries + n * 16 * kStride + at);
#pragma unroll
        for (std::uint32_t m = 0; m < kWarpRows / 16; ++m)
#pragma unroll
          for (std::uint32_t half = 0; half < 2; ++half)
            multiply_add(sums[m][n * 2 + half], of_rows[m], of_queries.words[half * 2],
                         of_queries.words[half * 2 + 1], sums[m][n * 2 + half]);
      }
    }
  }

  // Collects the offers among some of the rows of each warp, then takes them, if there is room for all.
  __device__ bool take_offers(std::uint32_t first, std::uint32_t end,
                              const float (&sums)[kWarpRows / 16][kWarpQueries / 8][4]) const {
    auto& offers = *reinterpret_cast<Offers*>(tiles_);
    if (threadIdx.x == 0) shared_.num_offers = 0;
    __syncthreads();  // and no warp reads the tile any more
    const std::uint32_t first_row = warp_ % kWarpsOfRows * kWarpRows + lane_ / 4,
                        first_query = warp_ / kWarpsOfRows * kWarpQueries + lane_ % 4 * 2;
    const Limit* limits = shared_.limits[warp_ % kWarpsOfRows * kWarpRows / kSegmentRows];
    static_assert(kSegmentRows % kWarpRows == 0);
#pragma unroll
    for (std::uint32_t n = 0; n < kWarpQueries / 8; ++n)
#pragma unroll
      for (std::uint32_t c = 0; c < 2; ++c) {
        const float least = limits[first_query + n * 8 + c].least;
#pragma unroll
        for (std::uint32_t m = 0; m < kWarpRows / 16; ++m)
#pragma unroll
          for (std::uint32_t r = 0; r < 2; ++r) {
            const float product = sums[m][n][r * 2 + c];
            if (product < least || m < first || m >= end) continue;  // NaN: may reach it
            const std::uint32_t i = atomicAdd(&shared_.num_offers, 1u);
            if (i >= kMaxOffers) continue;
            offers.products[i] = product;
            offers.rows_and_queries[i] = static_cast<std::uint16_t>(
                (first_row + m * 16 + r * 8) * kTileQueries + first_query + n * 8 + c);
          }
      }
    __syncthreads();
    const std::uint32_t count = shared_.num_offers;
    for (std::uint32_t i = threadIdx.x; count <= kMaxOffers && i < count; i += kThreads)
      offer(offers.rows_and_queries[i] / kTileQueries, offers.rows_and_queries[i] % kTileQueries,
            offers.products[i]);
    __syncthreads();
    return count <= kMaxOffers;
  }

  // By a lane: a row and a query of the tile.
  __device__ void offer(std::uint32_t row, std::uint32_t q, float product) const {
    const Segment& of = shared_.segments[row / kSegmentRows];
    const float error = shared_.limits[row / kSegmentRows][q].error;
    if (error < 0 || row % kSegmentRows >= of.num_rows) return;
    const std::uint32_t entry = first_query_ + q;
    SweepQuery& mine = sweep_.queries[entry];
    const std::uint32_t index = of.first_row + row % kSegmentRows;
    const QueryRef query = {batch_.queries + std::size_t{mine.query} * batch_.query_stride};
    if (!passes_filter<T, kFiltered>(mirror_, query, of.leaf, index)) return;
    const double factor = sweep_.half_queries[entry].factor;
    const double lowest =
        mine.base + (static_cast<double>(product) - static_cast<double>(error)) * factor - mine.error_bound;
    const double slack = (2 * static_cast<double>(error) * factor + 4 * mine.error_bound) * (1 + 0x1p-40);
    atomicMax(reinterpret_cast<unsigned long long*>(&mine.slack),
              static_cast<unsigned long long>(__double_as_longlong(slack)));  // positive: ordered as integers
    add_found(sweep_, entry, {isnan(lowest) ? -infinity() : lowest, mirror_.first_row(of.leaf) + index});
  }

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  const SweepRef& sweep_;
  TileShared& shared_;
  __half* tiles_;  // [kStages] of kStageNumbers: rows, then queries
  std::uint32_t num_queries_;
  std::uint32_t first_query_ = 0;
  std::uint32_t lane_ = threadIdx.x % kWarpSize, warp_ = threadIdx.x / kWarpSize;
};

// Cooperative. Dynamic shared memory: the stages.
template <typename T, int kStages, bool kFiltered>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    sweep_wide(const MirrorRef mirror, const BatchRef batch) {
  const std::uint32_t num_queries = min(batch.counters->num_handed_over, batch.sweep.most);
  if (num_queries == 0) return;
  extern __shared__ uint4 wide_shared[];  // as ldmatrix wants it aligned
  __shared__ TileShared shared;
  WideSweep<T, kStages, kFiltered> sweep(mirror, batch, shared, reinterpret_cast<__half*>(wide_shared),
                                         num_queries);
  StepEnd step_end(batch, batch.counters->sweep_barrier);
  // All rows of the first step are found.
  const std::uint32_t most_first =
      max(batch.sweep.capacity / static_cast<std::uint32_t>(mirror.leaf_rows), 1u);
  std::uint32_t stride = 1;
  while ((mirror.num_leaves + stride - 1) / stride > most_first) stride *= kSweepGrowth;
  for (bool is_first = true, is_repeated = false; stride > 0;) {
    sweep.run({mirror.num_leaves, stride, is_first}, is_repeated);
    is_repeated = step_end.raise_kth_bounds(num_queries, is_repeated, [](std::uint32_t i) { return i; });
    if (is_repeated) continue;
    is_first = false;
    stride /= kSweepGrowth;
  }
}

template <typename T, int kStages>
void launch(const MirrorRef& mirror, const BatchRef& batch, unsigned num_blocks, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = num_blocks,
                             .num_threads = kThreads,
                             .shared_bytes = kStages * kStageNumbers * sizeof(Half),
                             .cooperative = true};
  cuda::launch(batch.is_filtered ? sweep_wide<T, kStages, true> : sweep_wide<T, kStages, false>, shape,
               stream, mirror, batch);
}

__device__ inline double warp_sum(double mine) {
  for (unsigned offset = kWarpSize / 2; offset > 0; offset /= 2)
    mine += __shfl_xor_sync(kFullWarp, mine, offset);
  return mine;
}

// By a warp: the query's weights as numbers of the wide sweep, and its start there as by start_sweep_query. Returns false
// if the sweep cannot take it, because the weights are too large or small.
__device__ inline bool start_wide_query(const MirrorRef& mirror, const SweepRef& sweep, QueryRef query,
                                        std::uint32_t entry, SweepQuery& swept, HalfQuery& half,
                                        std::uint32_t lane) {
  const PackedHeader& header = query.header();
  const auto weight_of = [&](int t) {
    return query.terms()[t].weight / mirror.half.units[query.terms()[t].attribute].inverse;
  };
  double largest = 0, base = 0, size = 0;
  for (int t = static_cast<int>(lane); t < header.num_terms; t += kWarpSize) {
    const PackedTerm term = query.terms()[t];
    const double origin = mirror.half.units[term.attribute].origin;
    largest = fmax(largest, fabs(weight_of(t)));
    base = fma(term.weight, origin, base);
    size = fma(fabs(term.weight), fabs(origin), size);
  }
  for (unsigned offset = kWarpSize / 2; offset > 0; offset /= 2)
    largest = fmax(largest, __shfl_xor_sync(kFullWarp, largest, offset));
  swept.base = header.offset + warp_sum(base);
  swept.error_bound = (fabs(header.offset) + warp_sum(size)) * 0x1p-40 + 0x1p-1060;
  const bool is_usual = largest > 0x1p-900 && largest < 0x1p900;
  if (!is_usual || !isfinite(swept.base) || !isfinite(swept.error_bound)) return false;
  half.factor = ldexp(1.0, ilogb(largest) + 1);
  Half* numbers = sweep.half_weights + std::size_t{entry} * mirror.half.stride;
  for (std::uint32_t a = lane; a < mirror.half.stride; a += kWarpSize) numbers[a] = {0};
  __syncwarp();
  double norm = 0, loss = 0, length = 0;
  for (int t = static_cast<int>(lane); t < header.num_terms; t += kWarpSize) {
    const double number = weight_of(t) / half.factor;
    const __half rounded = __float2half_rn(static_cast<float>(number));
    const auto kept = static_cast<double>(__half2float(rounded));
    const double in_largest = query.terms()[t].weight * mirror.half.largest_unit / half.factor;
    norm += kept * kept;
    loss += (number - kept) * (number - kept);
    length += in_largest * in_largest;
    numbers[query.terms()[t].attribute] = {__half_as_ushort(rounded)};
  }
  const auto root = [](double squares) { return __double2float_ru(sqrt(squares) * (1 + 0x1p-30)); };
  half.norm = root(warp_sum(norm));
  half.loss = root(warp_sum(loss));
  half.length = root(warp_sum(length));
  return true;
}

// A warp for each query that the sweep takes; its entry is its number.
__global__ void __launch_bounds__(kThreads) start_wide_queries(const MirrorRef mirror, const BatchRef batch) {
  const std::uint32_t q = (blockIdx.x * kThreads + threadIdx.x) / kWarpSize, lane = threadIdx.x % kWarpSize;
  const std::uint32_t count = min(batch.num_queries, batch.sweep.most);
  if (q >= count) return;
  // Walks take the others.
  if (q == 0 && lane == 0) batch.counters->num_handed_over = batch.counters->next_query = count;
  const QueryRef query = {batch.queries + std::size_t{q} * batch.query_stride};
  SweepQuery swept = {};
  HalfQuery half = {};
  swept.query = q;
  swept.kth_bound = query.header().min_score;
  if (!start_wide_query(mirror, batch.sweep, query, q, swept, half, lane)) {
    swept.num_found = batch.sweep.capacity + 1;  // as if its rows did not fit: it goes on to a walk
    swept.is_left = 1;
  }
  if (lane != 0) return;
  batch.sweep.queries[q] = swept;
  batch.sweep.half_queries[q] = half;
  batch.results[q] = {};
}

// A warp for each query: the scores of its rows, of which it has had lower bounds.
template <typename T>
__global__ void __launch_bounds__(kThreads) score_found(const MirrorRef mirror, const BatchRef batch) {
  const std::uint32_t entry = (blockIdx.x * kThreads + threadIdx.x) / kWarpSize,
                      lane = threadIdx.x % kWarpSize;
  if (entry >= min(batch.num_queries, batch.sweep.most)) return;
  SweepQuery& swept = batch.sweep.queries[entry];
  if (swept.num_found > batch.sweep.capacity) return;
  const QueryRef query = {batch.queries + std::size_t{swept.query} * batch.query_stride};
  SeedRow* found = batch.sweep.found + std::size_t{entry} * batch.sweep.capacity;
  const auto leaf_rows = static_cast<std::uint64_t>(mirror.leaf_rows);
  for (std::uint32_t i = lane; i < swept.num_found; i += kWarpSize)
    score_row<T, false>(mirror, query, static_cast<std::uint32_t>(found[i].row / leaf_rows),
                        static_cast<std::uint32_t>(found[i].row % leaf_rows), -infinity(), found[i].score);
  if (lane == 0) swept.scored += swept.num_found;
}

cuda::Shape warp_for_each(std::uint32_t num_queries) {
  return {.num_blocks = (num_queries * kWarpSize + kThreads - 1) / kThreads, .num_threads = kThreads};
}

template <typename T>
void launch_products(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     cudaStream_t stream) {
  constexpr std::size_t kStatic = sizeof(TileShared) + 64;
  const auto blocks_each = [&](std::size_t stages) {
    const std::size_t each = stages * kStageNumbers * sizeof(Half) + kStatic + limits.reserved_shared_bytes;
    return static_cast<unsigned>(
        std::min<std::size_t>(kBlocksEach, limits.multiprocessor_shared_bytes / each));
  };
  if (blocks_each(3) == kBlocksEach)
    return launch<T, 3>(mirror, batch, kBlocksEach * limits.num_multiprocessors, stream);
  launch<T, 2>(mirror, batch, std::max(1u, blocks_each(2)) * limits.num_multiprocessors, stream);
}

}  // namespace

void launch_wide_queries(const MirrorRef& mirror, const BatchRef& batch, cudaStream_t stream) {
  cuda::launch(start_wide_queries, warp_for_each(std::min(batch.num_queries, batch.sweep.most)), stream,
               mirror, batch);
}

template <typename T>
void launch_wide_sweep(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                       cudaStream_t stream) {
  launch_products<T>(mirror, batch, limits, stream);
  cuda::launch(score_found<T>, warp_for_each(std::min(batch.num_queries, batch.sweep.most)), stream, mirror,
               batch);
}

template void launch_wide_sweep<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_wide_sweep<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);

}  // namespace culmen::gpu
