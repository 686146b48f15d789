// The products themselves (products.cuh).
#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/search/engines.h"
#include "gpu/search/growing_step.cuh"
#include "gpu/search/half_tiles.cuh"
#include "gpu/search/products.cuh"
#include "gpu/search/step_end.cuh"

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
using Sums = float[kWarpRows / 16][kWarpQueries / 8][4];
constexpr std::uint32_t kColumns = kWarpQueries / 4;  // of a warp's queries those in a lane's sums
constexpr unsigned kSign = 0x80000000;
// Tiles that a block looks at before it multiplies those that some query may reach.
constexpr std::uint32_t kTilesAhead = 32;
// The tiles of a step are taken in so many slices. In each, blocks have other queries, so that all have the same work.
constexpr std::uint32_t kSlices = 8;

// Where the numbers of queries are: in shared memory while a block goes through rows, or copied with each tile.
enum class QueryNumbers { kept, copied };
// Numbers between two rows of a tile in shared memory: ldmatrix then has no bank conflicts.
constexpr std::uint32_t kStride = kHalfDepth + kHalfPadding;
CULMEN_HOST_DEVICE constexpr std::uint32_t stage_numbers(QueryNumbers queries) {
  return (kTileRows + (queries == QueryNumbers::copied ? kTileQueries : 0)) * kStride;
}
constexpr std::size_t kept_bytes(QueryNumbers queries, std::uint32_t half_stride) {
  return queries == QueryNumbers::kept ? kTileQueries * (half_stride + kHalfPadding) * sizeof(Half) : 0;
}

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

struct Segment {
  std::uint32_t leaf, first_row, num_rows;
  HalfLeaf lengths;
};

// A row that may reach a query's k-th score bound: their numbers in the tile and in the chunk, and that of the tile.
struct Offer {
  float product;
  std::uint8_t row, query, tile;
};
static_assert(kTileRows <= 256 && kTileQueries <= 256 && kTilesAhead <= 256);

template <int kStages>
struct BlockShared {
  static constexpr std::uint32_t kMaxOffers = kStages > 2 ? 2048 : 512;  // small cards have less memory

  LimitedQuery queries[kTileQueries];
  Segment segments[kTilesAhead * kSegments];
  std::uint32_t is_reached;  // by some query: tiles, a bit each
  std::uint8_t reached[kTilesAhead];
  // What products must reach, of the tile that is multiplied and of the one before.
  float limits[2][kSegments][kTileQueries];
  Offer offers[kMaxOffers];
  std::uint32_t num_offers;  // includes those beyond kMaxOffers
};
static_assert(kTilesAhead == 32);

template <typename T, int kStages, QueryNumbers kQueries>
class Products {
 public:
  __device__ Products(const MirrorRef& mirror, const BatchRef& batch, BlockShared<kStages>& shared,
                      __half* memory, std::uint32_t num_queries)
      : mirror_(mirror),
        batch_(batch),
        sweep_(batch.sweep),
        shared_(shared),
        stages_(memory),
        kept_(memory + kStages * stage_numbers(kQueries)),
        num_queries_(num_queries),
        num_parts_(mirror.half.stride / kHalfDepth) {
    if (threadIdx.x == 0) shared.num_offers = 0;
  }

  // step: of the leaves in the tree's order. is_repeated: only for queries whose rows did not fit.
  __device__ void run(const GrowingStep& step, bool is_repeated) {
    step_ = step;
    segments_each_ = (static_cast<std::uint32_t>(mirror_.leaf_rows) + kSegmentRows - 1) / kSegmentRows;
    num_segments_ = step.size() * segments_each_;
    const std::uint32_t num_tiles = (num_segments_ + kSegments - 1) / kSegments;
    const std::uint32_t num_chunks = (num_queries_ + kTileQueries - 1) / kTileQueries;
    for (std::uint32_t slice = 0; slice < kSlices; ++slice) {
      const auto tile = [&](std::uint32_t of) {
        return static_cast<std::uint32_t>(std::uint64_t{num_tiles} * of / kSlices);
      };
      const std::uint32_t turned = (blockIdx.x + slice * (gridDim.x / 3 + 1)) % gridDim.x;
      if (num_chunks >= gridDim.x) {
        for (std::uint32_t chunk = turned; chunk < num_chunks; chunk += gridDim.x)
          take_chunk(chunk, is_repeated, tile(slice), tile(slice + 1), 1);
      } else {  // blocks with the same queries take turns; all are at the same rows at about the same time
        const std::uint32_t chunk = turned % num_chunks;
        take_chunk(chunk, is_repeated, tile(slice) + turned / num_chunks, tile(slice + 1),
                   (gridDim.x - chunk - 1) / num_chunks + 1);
      }
    }
  }

 private:
  static constexpr std::uint32_t kMaxOffers = BlockShared<kStages>::kMaxOffers;

  // Tiles first, first + every ... before `end`.
  __device__ void take_chunk(std::uint32_t chunk, bool is_repeated, std::uint32_t first, std::uint32_t end,
                             std::uint32_t every) {
    if (first >= end) return;
    first_query_ = chunk * kTileQueries;
    __syncthreads();  // all are done with the chunk before
    const bool is_wanted = threadIdx.x < kTileQueries && take_query(threadIdx.x, is_repeated);
    if (__syncthreads_or(is_wanted ? 1 : 0) == 0) return;
    if constexpr (kQueries == QueryNumbers::kept) keep_numbers();
    leaves_ = rows_ = 0;
    for (std::uint32_t tile = first; tile < end; tile += kTilesAhead * every)
      multiply(look_ahead(tile, end, every));
    add_work();
  }

  __device__ std::uint32_t entry(std::uint32_t q) const { return entry_of(sweep_, first_query_ + q); }

  // By a thread. Returns false, and a bound that nothing reaches, if no row is to be found for the query.
  __device__ bool take_query(std::uint32_t q, bool is_repeated) const {
    LimitedQuery limited = {HUGE_VALF, 0, 0, 0};
    if (first_query_ + q < num_queries_) {
      const SweepQuery& query = sweep_.queries[entry(q)];
      const HalfQuery& half = sweep_.half_queries[entry(q)];
      const bool is_done = query.num_found > sweep_.capacity || (is_repeated && query.is_behind == 0);
      if (!is_done) {
        const double kth_bound = ((query.kth_bound - query.base) - query.error_bound) / half.factor;
        limited = {__double2float_rd(kth_bound), half.norm, half.loss, half.length};
      }
    }
    shared_.queries[q] = limited;
    return limited.norm > 0;
  }

  __device__ void keep_numbers() const {
    const std::uint32_t copies_each = mirror_.half.stride * sizeof(Half) / 16;
    for (std::uint32_t i = threadIdx.x; i < kTileQueries * copies_each; i += kThreads) {
      const std::uint32_t q = i / copies_each, at = i % copies_each * (16 / sizeof(Half));
      copy_16_bytes(kept_ + q * (mirror_.half.stride + kHalfPadding) + at, numbers_of_query(q) + at);
    }
    end_group_of_copies();
  }
  // Queries that are not there are read as the last one.
  __device__ const Half* numbers_of_query(std::uint32_t q) const {
    return sweep_.half_weights +
           std::size_t{entry(min(q, num_queries_ - 1 - first_query_))} * mirror_.half.stride;
  }

  // Finds up to kTilesAhead tiles that some query may reach, and returns how many they are.
  __device__ std::uint32_t look_ahead(std::uint32_t first, std::uint32_t end, std::uint32_t every) {
    if (threadIdx.x < kTilesAhead * kSegments) {
      const std::uint32_t tile = first + threadIdx.x / kSegments * every;
      shared_.segments[threadIdx.x] = segment(tile * kSegments + threadIdx.x % kSegments, tile < end);
    }
    if (threadIdx.x == 0) shared_.is_reached = 0;
    __syncthreads();
    const std::uint32_t q = threadIdx.x % kTileQueries;
    std::uint32_t reached = 0;
    for (std::uint32_t s = threadIdx.x / kTileQueries; s < kTilesAhead * kSegments;
         s += kThreads / kTileQueries) {
      const Segment& of = shared_.segments[s];
      if (of.num_rows == 0 || !may_reach(shared_.queries[q], of.lengths)) continue;
      reached |= 1u << s / kSegments;
      leaves_ += of.first_row == 0 ? 1 : 0;
      rows_ += of.num_rows;
    }
    atomicOr(&shared_.is_reached, reached);
    __syncthreads();
    if (threadIdx.x < kTilesAhead && (shared_.is_reached >> threadIdx.x & 1) != 0)
      shared_.reached[__popc(shared_.is_reached & ((1u << threadIdx.x) - 1))] =
          static_cast<std::uint8_t>(threadIdx.x);
    __syncthreads();
    return static_cast<std::uint32_t>(__popc(shared_.is_reached));
  }

  __device__ Segment segment(std::uint32_t number, bool exists) const {
    const std::uint32_t position = step_.place(min(number, num_segments_ - 1) / segments_each_);
    Segment of = {__ldg(mirror_.leaf_order + position), number % segments_each_ * kSegmentRows, 0, {}};
    const std::uint32_t all =
        min(mirror_.leaves[of.leaf].num_rows, static_cast<std::uint32_t>(mirror_.leaf_rows));
    if (exists && number < num_segments_ && of.first_row < all)
      of.num_rows = min(all - of.first_row, kSegmentRows);
    of.lengths = mirror_.half.leaves[of.leaf];
    return of;
  }

  // Whether a row of such lengths may reach the k-th score bound. NaN and infinity: it may, unless no row is to be found.
  __device__ static bool may_reach(const LimitedQuery& query, const HalfLeaf& leaf) {
    if (!(query.norm > 0)) return false;
    const float highest = fminf((query.norm + query.loss) * leaf.norm, query.length * leaf.length);
    return !(highest * kUp + 0x1p-90F < query.kth_bound);
  }

  // The products of the tiles that are reached, with the numbers of the next under way.
  __device__ void multiply(std::uint32_t num_tiles) {
    const std::uint32_t num_steps = num_tiles * num_parts_;  // a tile has two at least: see `before`
    Sources sources;
    std::uint32_t next = 0;
    for (; next < kStages - 1; ++next) copy_stage(next, num_steps, sources);
    for (std::uint32_t tile = 0, step = 0; tile < num_tiles; ++tile) {
      set_limits(tile);
      std::uint32_t before = 0;  // offers of the tiles before
      Sums sums;
      for (std::uint32_t part = 0; part < num_parts_; ++part, ++step) {
        wait_for_copies<kStages - 2>();
        __syncthreads();  // and all warps are done with the stage that is written next
        copy_stage(next++, num_steps, sources);
        if (part == 0) {
          before = shared_.num_offers;
          multiply_first(step % kStages, tile, sums);
        } else {
          multiply_part(step % kStages, part, sums, sums);
        }
      }
      offer_reaching(tile, sums, kAllPieces);
      __syncthreads();
      if (shared_.num_offers > kMaxOffers) offer_in_pieces(tile, sums, before);
      take_offers(tile + 1 < num_tiles ? kMaxOffers / 8 : 1);
    }
    wait_for_copies<0>();
    __syncthreads();
  }

  // A thread for each query and segment of a tile.
  __device__ void set_limits(std::uint32_t tile) const {
    static_assert(kTileQueries * kSegments == kThreads);
    const std::uint32_t q = threadIdx.x % kTileQueries, s = threadIdx.x / kTileQueries;
    const LimitedQuery& query = shared_.queries[q];
    const HalfLeaf& leaf = segment_of(tile, s).lengths;
    const float limit = __fsub_rd(query.kth_bound, product_error(query, leaf, mirror_.num_attributes));
    // Sums begin with it, so it must not be larger than products can be. Below these it is reached in any case.
    shared_.limits[tile % 2][s][q] =
        query.norm > 0 ? fmaxf(limit, -2 * query.norm * (leaf.norm + leaf.loss)) : HUGE_VALF;
  }
  __device__ const Segment& segment_of(std::uint32_t tile, std::uint32_t s) const {
    return shared_.segments[shared_.reached[tile] * kSegments + s];
  }

  // Copies of 16 bytes: threadIdx.x / 4 + 64 i is the row of the i-th in a stage, the rows' and then the queries'.
  static constexpr std::uint32_t kCopiesOfRow = kHalfDepth * sizeof(Half) / 16;
  static constexpr std::uint32_t kRowsOfCopy = kThreads / kCopiesOfRow;
  static constexpr std::uint32_t kCopiesEach = stage_numbers(kQueries) / kStride / kRowsOfCopy;
  static_assert(kTileRows % kRowsOfCopy == 0 && kTileQueries % kRowsOfCopy == 0);
  struct Sources {
    const Half* numbers[kCopiesEach];
    std::uint32_t part = 0;
  };

  // The step-th part of the reached tiles. Parts are copied one after the other.
  __device__ void copy_stage(std::uint32_t step, std::uint32_t num_steps, Sources& sources) const {
    if (step < num_steps) {
      if (sources.part == 0) take_sources(step / num_parts_, sources);
      __half* to = stages_ + step % kStages * stage_numbers(kQueries) + threadIdx.x / kCopiesOfRow * kStride +
                   threadIdx.x % kCopiesOfRow * (16 / sizeof(Half));
#pragma unroll
      for (std::uint32_t i = 0; i < kCopiesEach; ++i)
        copy_16_bytes(to + i * kRowsOfCopy * kStride, sources.numbers[i] + sources.part * kHalfDepth);
      if (++sources.part == num_parts_) sources.part = 0;
    }
    end_group_of_copies();  // also of nothing, so that groups can be counted
  }

  // Rows that are not there are read as the last one, or, in a segment without rows, as the leaf's first.
  __device__ void take_sources(std::uint32_t tile, Sources& sources) const {
    const std::uint32_t at = threadIdx.x % kCopiesOfRow * (16 / sizeof(Half));
#pragma unroll
    for (std::uint32_t i = 0; i < kCopiesEach; ++i) {
      const std::uint32_t row = threadIdx.x / kCopiesOfRow + i * kRowsOfCopy;
      if (row < kTileRows) {
        const Segment& of = segment_of(tile, row / kSegmentRows);
        const std::uint32_t in_leaf =
            of.num_rows == 0 ? 0 : of.first_row + min(row % kSegmentRows, of.num_rows - 1);
        const std::size_t number = mirror_.first_row(of.leaf) + in_leaf;
        sources.numbers[i] = mirror_.half.rows + number * mirror_.half.stride + at;
      } else {
        sources.numbers[i] = numbers_of_query(row - kTileRows) + at;
      }
    }
  }

  // The limits of the lane's columns.
  __device__ const float* limits_of(std::uint32_t tile) const {
    static_assert(kSegmentRows % kWarpRows == 0);
    return shared_.limits[tile % 2][first_row() / kSegmentRows] + first_query() + lane_ % 4 * 2;
  }
  __device__ static std::uint32_t column(std::uint32_t c) {
    return c / 2 * 8 + c % 2;
  }

  // The first part of a tile: sums begin with the limits, so that those which reach them are not below 0.
  __device__ void multiply_first(std::uint32_t stage, std::uint32_t tile, Sums& sums) const {
    const float* limits = limits_of(tile);
    Sums starts;
#pragma unroll
    for (std::uint32_t c = 0; c < kColumns; ++c) {
      const float start = -limits[column(c)];
#pragma unroll
      for (std::uint32_t m = 0; m < kWarpRows / 16; ++m)
        starts[m][c / 2][c % 2] = starts[m][c / 2][c % 2 + 2] = start;
    }
    multiply_part(stage, 0, starts, sums);
  }

  // sums = before + the products of a part.
  __device__ void multiply_part(std::uint32_t stage, std::uint32_t part, const Sums& before,
                                Sums& sums) const {
    const __half* numbers = stages_ + stage * stage_numbers(kQueries);
    const __half* rows = numbers + (first_row() + lane_ % 16) * kStride + lane_ / 16 * 8;
    const bool is_kept = kQueries == QueryNumbers::kept;
    const std::uint32_t stride = is_kept ? mirror_.half.stride + kHalfPadding : kStride;
    const __half* queries = (is_kept ? kept_ + part * kHalfDepth : numbers + kTileRows * kStride) +
                            (first_query() + lane_ % 8 + lane_ / 16 * 8) * stride + lane_ / 8 % 2 * 8;
    const Sums& so_far = sums;
#pragma unroll
    for (std::uint32_t at = 0; at < kHalfDepth; at += kHalfStep) {
      HalfFragment of_rows[kWarpRows / 16];
#pragma unroll
      for (std::uint32_t m = 0; m < kWarpRows / 16; ++m) of_rows[m].load(rows + m * 16 * kStride + at);
#pragma unroll
      for (std::uint32_t n = 0; n < kWarpQueries / 16; ++n) {
        HalfFragment of_queries;
        of_queries.load(queries + n * 16 * stride + at);
#pragma unroll
        for (std::uint32_t m = 0; m < kWarpRows / 16; ++m)
#pragma unroll
          for (std::uint32_t i = n * 2; i < n * 2 + 2; ++i)
            multiply_add(sums[m][i], of_rows[m], of_queries.words[i % 2 * 2], of_queries.words[i % 2 * 2 + 1],
                         at == 0 ? before[m][i] : so_far[m][i]);
      }
    }
  }

  // The warp's first row and query in a tile.
  __device__ std::uint32_t first_row() const {
    return warp_ % kWarpsOfRows * kWarpRows;
  }
  __device__ std::uint32_t first_query() const {
    return warp_ / kWarpsOfRows * kWarpQueries;
  }

  // A piece of a warp's sums, 8 rows by 8 queries: there is room for the offers of all warps.
  static constexpr std::uint32_t kPieces = kWarpRows / 8 * (kWarpQueries / 8), kAllPieces = kPieces;
  static_assert(kThreads / kWarpSize * 8 * 8 <= kMaxOffers);

  // Offers the rows of a tile, or of a piece, whose sums are not below 0. Of most tiles there are none.
  __device__ void offer_reaching(std::uint32_t tile, const Sums& sums, std::uint32_t piece) const {
    unsigned below = kSign;
#pragma unroll
    for (std::uint32_t i = 0; i < kWarpRows / 16 * kWarpQueries / 8 * 4; ++i)
      below &= __float_as_uint(sums[i / 32][i / 4 % 8][i % 4]);
    static_assert(kWarpQueries / 8 * 4 == 32);
    if (below != 0) return;
    const float* limits = limits_of(tile);
#pragma unroll
    for (std::uint32_t c = 0; c < kColumns; ++c) {
      const float limit = limits[column(c)];
#pragma unroll
      for (std::uint32_t m = 0; m < kWarpRows / 16; ++m)
#pragma unroll
        for (std::uint32_t r = 0; r < 2; ++r) {
          const float sum = sums[m][c / 2][r * 2 + c % 2];
          const bool is_here = piece == kAllPieces || piece == (m * 2 + r) * (kWarpQueries / 8) + c / 2;
          if (is_here && !(sum < 0))  // NaN: may reach it
            put({sum + limit, static_cast<std::uint8_t>(first_row() + m * 16 + r * 8 + lane_ / 4),
                 static_cast<std::uint8_t>(first_query() + column(c) + lane_ % 4 * 2),
                 static_cast<std::uint8_t>(tile)});
        }
    }
  }

  // All offers of a tile that did not fit at once, after the `before` that were there.
  __device__ void offer_in_pieces(std::uint32_t tile, const Sums& sums, std::uint32_t before) const {
    __syncthreads();  // all have seen that they are too many
    if (threadIdx.x == 0) shared_.num_offers = before;
    __syncthreads();
    take_offers(1);
    for (std::uint32_t piece = 0; piece < kPieces; ++piece) {
      __syncthreads();
      offer_reaching(tile, sums, piece);
      __syncthreads();
      take_offers(1);
    }
    __syncthreads();
  }

  // By a lane. Keeps the offer, if it fits, until many can be taken at once.
  __device__ void put(const Offer& offer) const {
    const std::uint32_t i = atomicAdd(&shared_.num_offers, 1u);
    if (i < kMaxOffers) shared_.offers[i] = offer;
  }

  // By all threads, after a barrier, if there are `at_least` so many. A barrier comes before the next are put.
  __device__ void take_offers(std::uint32_t at_least) const {
    const std::uint32_t count = min(shared_.num_offers, kMaxOffers);
    if (count < at_least) return;
    for (std::uint32_t i = threadIdx.x; i < count; i += kThreads) {
      const Offer offer = shared_.offers[i];
      const Segment& of = segment_of(offer.tile, offer.row / kSegmentRows);
      const std::uint32_t row = offer.row % kSegmentRows;
      const LimitedQuery& query = shared_.queries[offer.query];
      // Others than wanted are offered if products are not numbers.
      if (row < of.num_rows && query.norm > 0)
        find<T>(mirror_, batch_, entry(offer.query), of.leaf, of.first_row + row, offer.product,
                product_error(query, of.lengths, mirror_.num_attributes));
    }
    __syncthreads();
    if (threadIdx.x == 0) shared_.num_offers = 0;
  }

  __device__ void add_work() const {
    const std::uint32_t q = threadIdx.x % kTileQueries;
    if (leaves_ + rows_ == 0) return;
    SweepQuery& query = sweep_.queries[entry(q)];
    atomicAdd(reinterpret_cast<unsigned long long*>(&query.leaves), std::uint64_t{leaves_});
    atomicAdd(reinterpret_cast<unsigned long long*>(&query.rows), std::uint64_t{rows_});
  }

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  const SweepRef& sweep_;
  BlockShared<kStages>& shared_;
  __half* stages_;  // [kStages] of stage_numbers: rows, then queries
  __half* kept_;    // [kTileQueries][stride + kHalfPadding]
  std::uint32_t num_queries_, num_parts_;
  GrowingStep step_ = {};
  std::uint32_t segments_each_ = 0, num_segments_ = 0;
  std::uint32_t first_query_ = 0;
  std::uint32_t leaves_ = 0, rows_ = 0;  // of the thread's query, in the chunk
  std::uint32_t lane_ = threadIdx.x % kWarpSize, warp_ = threadIdx.x / kWarpSize;
};

// Cooperative. Dynamic shared memory: the stages, then numbers that are kept.
template <typename T, int kStages, QueryNumbers kQueries>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    multiply_batch(const __grid_constant__ MirrorRef mirror, const __grid_constant__ BatchRef batch) {
  const std::uint32_t num_queries = num_taking_part(batch);
  if (num_queries == 0) return;
  extern __shared__ uint4 products_shared[];  // as ldmatrix wants it aligned
  __shared__ BlockShared<kStages> shared;
  Products<T, kStages, kQueries> products(mirror, batch, shared, reinterpret_cast<__half*>(products_shared),
                                          num_queries);
  StepEnd step_end(batch, batch.counters->sweep_barrier);
  std::uint32_t stride = first_stride(mirror, batch.sweep);
  for (bool is_first = true, is_repeated = false; stride > 0;) {
    products.run({mirror.num_leaves, stride, is_first}, is_repeated);
    is_repeated = step_end.raise_kth_bounds(num_queries, is_repeated,
                                            [&](std::uint32_t i) { return entry_of(batch.sweep, i); });
    if (is_repeated) continue;
    is_first = false;
    stride /= kSweepGrowth;
  }
}

// Returns false, and launches nothing, if fewer blocks than `at_least` fit on a multiprocessor.
template <typename T, int kStages, QueryNumbers kQueries>
bool launch_multiply(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     unsigned at_least, cudaStream_t stream) {
  const std::size_t bytes =
      kStages * stage_numbers(kQueries) * sizeof(Half) + kept_bytes(kQueries, mirror.half.stride);
  const std::size_t each = bytes + sizeof(BlockShared<kStages>) + 64 + limits.reserved_shared_bytes;
  const auto blocks_each =
      static_cast<unsigned>(std::min<std::size_t>(kBlocksEach, limits.multiprocessor_shared_bytes / each));
  if (blocks_each < at_least) return false;
  const cuda::Shape shape = {.num_blocks = std::max(1u, blocks_each) * limits.num_multiprocessors,
                             .num_threads = kThreads,
                             .shared_bytes = bytes,
                             .cooperative = true};
  cuda::launch(multiply_batch<T, kStages, kQueries>, shape, stream, mirror, batch);
  return true;
}

}  // namespace

template <typename T>
void launch_products(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     cudaStream_t stream) {
  if (!launch_multiply<T, 3, QueryNumbers::kept>(mirror, batch, limits, kBlocksEach, stream) &&
      !launch_multiply<T, 3, QueryNumbers::copied>(mirror, batch, limits, kBlocksEach, stream))
    launch_multiply<T, 2, QueryNumbers::copied>(mirror, batch, limits, 0, stream);
}

template void launch_products<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_products<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);

}  // namespace culmen::gpu
