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

constexpr unsigned kThreads = 256, kWarps = kThreads / kWarpSize;
constexpr unsigned kBlocksEach = 2;
// A tile of rows: of two segments, pieces of leaves. The usual leaf is one.
constexpr std::uint32_t kSegmentRows = kRowsAtOnce, kSegments = 2, kTileRows = kSegments * kSegmentRows;
constexpr std::uint32_t kTileQueries = 128;
// What a warp multiplies of a tile.
constexpr std::uint32_t kWarpRows = 48, kWarpQueries = 64, kWarpsOfRows = kTileRows / kWarpRows;
static_assert(kWarpsOfRows * (kTileQueries / kWarpQueries) == kWarps);
using Sums = float[kWarpRows / 16][kWarpQueries / 8][4];
constexpr unsigned kSign = 0x80000000;
// Tiles that a block looks at before it multiplies those that some query may reach.
constexpr std::uint32_t kTilesAhead = 32;
// The tiles of a step are taken in so many slices. In each, blocks have other queries, so that all have the same work.
constexpr std::uint32_t kSlices = 8;
// While one part of a tile is multiplied, the next is copied.
constexpr std::uint32_t kStages = 2;
// A warp finds what it has offered when there are so many rows: more would not fit into the shared memory of small cards.
constexpr std::uint32_t kOffersAtOnce = 16;

// Where the numbers of queries are: in shared memory while a block goes through rows, or copied with each part.
enum class QueryNumbers { kept, copied };
// Numbers of a row of a stage or part, of which kDepth are multiplied at a time. ldmatrix has no bank conflicts then.
CULMEN_HOST_DEVICE constexpr std::uint32_t row_numbers(std::uint32_t depth) {
  return depth + kHalfPadding;
}
CULMEN_HOST_DEVICE constexpr std::uint32_t stage_numbers(QueryNumbers queries, std::uint32_t depth) {
  return (kTileRows + (queries == QueryNumbers::copied ? kTileQueries : 0)) * row_numbers(depth);
}
CULMEN_HOST_DEVICE constexpr std::uint32_t num_parts(std::uint32_t half_stride, std::uint32_t depth) {
  return (half_stride + depth - 1) / depth;
}
constexpr std::size_t kept_numbers(QueryNumbers queries, std::uint32_t half_stride, std::uint32_t depth) {
  return queries == QueryNumbers::kept ? kTileQueries * row_numbers(depth) * num_parts(half_stride, depth)
                                       : 0;
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
__device__ inline void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" : : : "memory");
#endif
}

struct Segment {
  const Half* numbers;  // of its first row
  std::uint32_t leaf;
  std::uint16_t first_row, num_rows;  // a leaf has 4,096 at most
  HalfLeaf lengths;
};

// A row that may reach the k-th score bound of a query, whose number in the chunk it has.
struct Offer {
  float product;
  std::uint32_t leaf;
  std::uint16_t row, query;
};

struct BlockShared {
  LimitedQuery queries[kTileQueries];
  std::uint32_t entries[kTileQueries];
  Segment segments[kTilesAhead * kSegments];
  std::uint32_t is_reached;  // by some query: tiles, a bit each
  std::uint8_t reached[kTilesAhead];
  // What sums begin with, in the tile that is multiplied and in the next, as the lanes have them (multiply_add).
  float4 starts[2][kTileQueries / 2];
  Offer offers[kWarps][kOffersAtOnce + kWarpSize];
};
static_assert(kTilesAhead == 32);
// The smallest card that limits_test has.
static_assert(kStages * stage_numbers(QueryNumbers::copied, 32) * sizeof(Half) + sizeof(BlockShared) <=
              62'976);

// By a warp: finds the rows that it has offered, a lane each. Not inlined: it would take registers from sums.
template <typename T>
__device__ __noinline__ void find_offered(const MirrorRef& mirror, const BatchRef& batch,
                                          const BlockShared& shared, const Offer* offers,
                                          std::uint32_t count) {
  __syncwarp();
  const std::uint32_t lane = threadIdx.x % kWarpSize;
  if (lane < count) {
    const Offer& offer = offers[lane];
    const float error =
        product_error(shared.queries[offer.query], mirror.half.leaves[offer.leaf], mirror.num_attributes);
    find<T>(mirror, batch, shared.entries[offer.query], offer.leaf, offer.row, offer.product, error);
  }
  __syncwarp();
}

template <typename T, std::uint32_t kDepth, QueryNumbers kQueries>
class Products {
 public:
  __device__ Products(const MirrorRef& mirror, const BatchRef& batch, BlockShared& shared, __half* memory,
                      std::uint32_t num_queries)
      : mirror_(mirror),
        batch_(batch),
        sweep_(batch.sweep),
        shared_(shared),
        stages_(memory),
        num_queries_(num_queries),
        num_parts_(num_parts(mirror.half.stride, kDepth)) {}

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
  static constexpr std::uint32_t kRowNumbers = row_numbers(kDepth);

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
    take_offers(0);
    add_work();
  }

  // By a thread. Returns false, and a bound that nothing reaches, if no row is to be found for the query. Queries that are
  // not there have the numbers of the last one.
  __device__ bool take_query(std::uint32_t q, bool is_repeated) const {
    LimitedQuery limited = {HUGE_VALF, 0, 0, 0};
    const std::uint32_t entry = entry_of(sweep_, min(first_query_ + q, num_queries_ - 1));
    if (first_query_ + q < num_queries_) {
      const SweepQuery& query = sweep_.queries[entry];
      const HalfQuery& half = sweep_.half_queries[entry];
      const bool is_done = query.num_found > sweep_.capacity || (is_repeated && query.is_behind == 0);
      if (!is_done) {
        const double kth_bound = ((query.kth_bound - query.base) - query.error_bound) / half.factor;
        limited = {__double2float_rd(kth_bound), half.norm, half.loss, half.length};
      }
    }
    shared_.entries[q] = entry;
    shared_.queries[q] = limited;
    return limited.norm > 0;
  }

  __device__ void keep_numbers() const {
    const std::uint32_t copies_each = mirror_.half.stride * sizeof(Half) / 16;
    for (std::uint32_t i = threadIdx.x; i < kTileQueries * copies_each; i += kThreads) {
      const std::uint32_t q = i / copies_each, at = i % copies_each * (16 / sizeof(Half));
      copy_16_bytes(kept(at / kDepth) + q * kRowNumbers + at % kDepth, numbers_of_query(q) + at);
    }
  }
  __device__ __half* kept(std::uint32_t part) const {
    return stages_ + kStages * stage_numbers(kQueries, kDepth) + part * kTileQueries * kRowNumbers;
  }
  __device__ const Half* numbers_of_query(std::uint32_t q) const {
    return sweep_.half_weights + std::size_t{shared_.entries[q]} * mirror_.half.stride;
  }

  // Finds up to kTilesAhead tiles that some query may reach, and returns how many they are.
  __device__ std::uint32_t look_ahead(std::uint32_t first, std::uint32_t end, std::uint32_t every) {
    if (threadIdx.x < kTilesAhead * kSegments) {
      const std::uint32_t tile = first + threadIdx.x / kSegments * every;
      shared_.segments[threadIdx.x] = segment(tile * kSegments + threadIdx.x % kSegments, tile < end);
    }
    if (threadIdx.x == 0) shared_.is_reached = 0;
    __syncthreads();
    const LimitedQuery query = shared_.queries[threadIdx.x % kTileQueries];
    std::uint32_t reached = 0;
    for (std::uint32_t s = threadIdx.x / kTileQueries; s < kTilesAhead * kSegments;
         s += kThreads / kTileQueries) {
      const Segment& of = shared_.segments[s];
      if (of.num_rows == 0 || !may_reach(query, of.lengths)) continue;
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
    const std::uint32_t first_row = number % segments_each_ * kSegmentRows;
    Segment of = {
        nullptr, __ldg(mirror_.leaf_order + position), static_cast<std::uint16_t>(first_row), 0, {}};
    const std::uint32_t all =
        min(mirror_.leaves[of.leaf].num_rows, static_cast<std::uint32_t>(mirror_.leaf_rows));
    if (exists && number < num_segments_ && first_row < all)
      of.num_rows = static_cast<std::uint16_t>(min(all - first_row, kSegmentRows));
    of.numbers = mirror_.half.rows +
                 (mirror_.first_row(of.leaf) + (of.num_rows == 0 ? 0 : first_row)) * mirror_.half.stride;
    of.lengths = mirror_.half.leaves[of.leaf];
    return of;
  }

  // Whether a row of such lengths may reach the k-th score bound. NaN and infinity: it may, unless no row is to be found.
  __device__ static bool may_reach(const LimitedQuery& query, const HalfLeaf& leaf) {
    if (!(query.norm > 0)) return false;
    const float highest = fminf((query.norm + query.loss) * leaf.norm, query.length * leaf.length);
    return !(highest * kUp + 0x1p-90F < query.kth_bound);
  }

  // The products of the tiles that are reached. A barrier for each part: all have copied it, and are done with the one
  // before. Warps find what they offer alone.
  __device__ void multiply(std::uint32_t num_tiles) {
    if (num_tiles > 0) copy_part(0, 0, 0);
    std::uint32_t stage = 0;
    for (std::uint32_t tile = 0; tile < num_tiles; ++tile) {
      if (threadIdx.x < kTileQueries) set_start(tile, threadIdx.x);
      Sums sums;
      for (std::uint32_t part = 0; part < num_parts_; ++part, stage ^= 1) {
        wait_for_copies();
        __syncthreads();
        if (part + 1 < num_parts_)
          copy_part(tile, part + 1, stage ^ 1);
        else if (tile + 1 < num_tiles)
          copy_part(tile + 1, 0, stage ^ 1);
        if (part == 0)
          multiply_part<true>(stage, tile, part, sums);
        else
          multiply_part<false>(stage, tile, part, sums);
      }
      offer_reaching(tile, sums);
    }
    __syncthreads();  // all are done with the tiles
  }

  __device__ const Segment& segment_of(std::uint32_t tile, std::uint32_t s) const {
    return shared_.segments[shared_.reached[tile] * kSegments + s];
  }

  // By a thread for each query: sums of a tile begin so that those of rows that may reach the k-th score bound are not
  // below 0. The start must not be larger than products can be. Where it would be, all are reached.
  __device__ void set_start(std::uint32_t tile, std::uint32_t q) const {
    static_assert(kSegments == 2);
    const LimitedQuery& query = shared_.queries[q];
    const HalfLeaf &a = segment_of(tile, 0).lengths, &b = segment_of(tile, 1).lengths;
    const HalfLeaf lengths = {fmaxf(a.norm, b.norm), fmaxf(a.loss, b.loss), 0, 0};
    const float limit = __fsub_rd(query.kth_bound, product_error(query, lengths, mirror_.num_attributes));
    const float start =
        query.norm > 0 ? fminf(-limit, 2 * query.norm * (lengths.norm + lengths.loss)) : -HUGE_VALF;
    float* to = start_of(tile, q);
    to[0] = to[2] = start;
  }
  __device__ float* start_of(std::uint32_t tile, std::uint32_t q) const {
    return reinterpret_cast<float*>(shared_.starts[tile % 2] + q / 2) + q % 2;
  }

  // A part of a tile, with copies of 16 bytes: of row threadIdx.x / kCopiesOfRow and every kRowsOfCopy-th after it.
  static constexpr std::uint32_t kCopiesOfRow = kDepth * sizeof(Half) / 16;
  static constexpr std::uint32_t kRowsOfCopy = kThreads / kCopiesOfRow;
  static_assert(kTileQueries % kRowsOfCopy == 0);
  __device__ void copy_part(std::uint32_t tile, std::uint32_t part, std::uint32_t stage) const {
    const std::uint32_t first = threadIdx.x / kCopiesOfRow;
    const std::uint32_t at = threadIdx.x % kCopiesOfRow * (16 / sizeof(Half));
    if (part * kDepth + at >= mirror_.half.stride) return;  // the last part may be half
    __half* to = stages_ + stage * stage_numbers(kQueries, kDepth) + first * kRowNumbers + at;
    copy_rows(tile, first, part * kDepth + at, to);
    if constexpr (kQueries == QueryNumbers::copied) {
#pragma unroll
      for (std::uint32_t q = 0; q < kTileQueries; q += kRowsOfCopy)
        copy_16_bytes(to + (kTileRows + q) * kRowNumbers, numbers_of_query(first + q) + part * kDepth + at);
    }
  }

  // Rows that are not there are read as the segment's last one, or, if it has none, as the leaf's first.
  __device__ void copy_rows(std::uint32_t tile, std::uint32_t first, std::uint32_t at, __half* to) const {
    static_assert(kRowsOfCopy <= kSegmentRows);
#pragma unroll
    for (std::uint32_t s = 0; s < kSegments; ++s) {
      const Segment& of = segment_of(tile, s);
      const Half* from = of.numbers + at;
      const std::uint32_t last = max(std::uint32_t{of.num_rows}, 1u) - 1;
#pragma unroll
      for (std::uint32_t r = 0; r < kSegmentRows; r += kRowsOfCopy) {
        if (kSegmentRows % kRowsOfCopy != 0 && first + r >= kSegmentRows) break;
        copy_16_bytes(to + (s * kSegmentRows + r) * kRowNumbers,
                      from + min(first + r, last) * mirror_.half.stride);
      }
    }
  }

  // Sums, or those before, and the products of a part.
  template <bool kIsFirst>
  __device__ void multiply_part(std::uint32_t stage, std::uint32_t tile, std::uint32_t part,
                                Sums& sums) const {
    const __half* numbers = stages_ + stage * stage_numbers(kQueries, kDepth);
    const __half* rows = numbers + (first_row() + lane_ % 16) * kRowNumbers + lane_ / 16 * 8;
    const __half* queries =
        (kQueries == QueryNumbers::kept ? kept(part) : numbers + kTileRows * kRowNumbers) +
        (first_query() + lane_ % 8 + lane_ / 16 * 8) * kRowNumbers + lane_ / 8 % 2 * 8;
    const float4* starts = shared_.starts[tile % 2] + first_query() / 2 + lane_ % 4;
#pragma unroll
    for (std::uint32_t at = 0; at < kDepth; at += kHalfStep) {
      if (at > 0 && at % kHalfDepth == 0 && part * kDepth + at == mirror_.half.stride) break;
      HalfFragment of_rows[kWarpRows / 16], of_queries[2];  // the next are loaded ahead
#pragma unroll
      for (std::uint32_t m = 0; m < kWarpRows / 16; ++m) of_rows[m].load(rows + m * 16 * kRowNumbers + at);
      of_queries[0].load(queries + at);
#pragma unroll
      for (std::uint32_t n = 0; n < kWarpQueries / 16; ++n) {
        if (n + 1 < kWarpQueries / 16)
          of_queries[(n + 1) % 2].load(queries + (n + 1) * 16 * kRowNumbers + at);
#pragma unroll
        for (std::uint32_t i = n * 2; i < n * 2 + 2; ++i) {
          const std::uint32_t* words = of_queries[n % 2].words + i % 2 * 2;
          if (kIsFirst && at == 0) {
            const float4 start = starts[i * 4];
            const float before[4] = {start.x, start.y, start.z, start.w};
#pragma unroll
            for (std::uint32_t m = 0; m < kWarpRows / 16; ++m)
              multiply_add(sums[m][i], of_rows[m], words[0], words[1], before);
          } else {
#pragma unroll
            for (std::uint32_t m = 0; m < kWarpRows / 16; ++m)
              multiply_add(sums[m][i], of_rows[m], words[0], words[1], sums[m][i]);
          }
        }
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

  // By a warp: offers the rows of a tile whose sums are not below 0. Of most tiles there are none.
  __device__ void offer_reaching(std::uint32_t tile, const Sums& sums) {
    unsigned below = kSign;
#pragma unroll
    for (std::uint32_t i = 0; i < kWarpRows / 16 * 32; ++i)
      below &= __float_as_uint(sums[i / 32][i / 4 % 8][i % 4]);
    if (__all_sync(kFullWarp, below != 0)) return;
    static_assert(kWarpQueries == 64);
#pragma unroll
    for (std::uint32_t m = 0; m < kWarpRows / 16; ++m) {
      // The i-th bit is that of row i / 16 * 8 + lane / 4 of 16, and of query i / 2 % 8 * 8 + lane % 4 * 2 + i % 2.
      std::uint32_t signs = 0;
#pragma unroll
      for (std::uint32_t i = 32; i-- > 0;)  // a sign moves in from below
        signs = __funnelshift_l(__float_as_uint(sum_of(sums[m], i)), signs, 1);
      std::uint32_t left = ~signs;
      while (__any_sync(kFullWarp, left != 0)) {
        const auto i = static_cast<std::uint32_t>(__ffs(static_cast<int>(left))) - 1;  // of none not below 32
        float sum = 0;
#pragma unroll
        for (std::uint32_t j = 0; j < 32; ++j)  // in registers, which have no addresses
          if (i == j) sum = sum_of(sums[m], j);
        offer(left != 0, tile, first_row() + m * 16 + i / 16 % 2 * 8 + lane_ / 4,
              first_query() + i / 2 % 8 * 8 + lane_ % 4 * 2 + i % 2, sum);
        left &= left - 1;
      }
    }
  }
  __device__ static float sum_of(const float (&sums)[kWarpQueries / 8][4], std::uint32_t i) {
    return sums[i / 2 % 8][i / 16 * 2 + i % 2];
  }

  // By a warp, of whose lanes some offer a row. Others than wanted are offered if products are not numbers.
  __device__ void offer(bool offers, std::uint32_t tile, std::uint32_t row, std::uint32_t q, float sum) {
    const Segment& of = segment_of(tile, row / kSegmentRows);
    row %= kSegmentRows;
    offers = offers && row < of.num_rows && shared_.queries[q].norm > 0;
    const unsigned offering = __ballot_sync(kFullWarp, offers);
    if (offers)
      shared_.offers[warp_][num_offers_ + __popc(offering & ((1u << lane_) - 1))] = {
          sum - *start_of(tile, q), of.leaf, static_cast<std::uint16_t>(of.first_row + row),
          static_cast<std::uint16_t>(q)};
    num_offers_ += __popc(offering);
    if (num_offers_ >= kOffersAtOnce) take_offers(num_offers_ - min(num_offers_, kWarpSize));
  }

  // By a warp: finds the rows that it has offered, but for the first `left`.
  __device__ void take_offers(std::uint32_t left) {
    find_offered<T>(mirror_, batch_, shared_, shared_.offers[warp_] + left, num_offers_ - left);
    num_offers_ = left;
  }

  __device__ void add_work() const {
    const std::uint32_t q = threadIdx.x % kTileQueries;
    if (leaves_ + rows_ == 0) return;
    SweepQuery& query = sweep_.queries[shared_.entries[q]];
    atomicAdd(reinterpret_cast<unsigned long long*>(&query.leaves), std::uint64_t{leaves_});
    atomicAdd(reinterpret_cast<unsigned long long*>(&query.rows), std::uint64_t{rows_});
  }

  const MirrorRef& mirror_;
  const BatchRef& batch_;
  const SweepRef& sweep_;
  BlockShared& shared_;
  // [kStages] of stage_numbers, rows and then queries; after these the numbers that are kept.
  __half* stages_;
  std::uint32_t num_queries_, num_parts_;
  GrowingStep step_ = {};
  std::uint32_t segments_each_ = 0, num_segments_ = 0;
  std::uint32_t first_query_ = 0;
  std::uint32_t leaves_ = 0, rows_ = 0;  // of the thread's query, in the chunk
  std::uint32_t lane_ = threadIdx.x % kWarpSize, warp_ = threadIdx.x / kWarpSize;
  std::uint32_t num_offers_ = 0;  // of the warp
};

// Cooperative. Dynamic shared memory: the stages, then numbers that are kept.
template <typename T, std::uint32_t kDepth, QueryNumbers kQueries>
__global__ void __launch_bounds__(kThreads, kBlocksEach)
    multiply_batch(const __grid_constant__ MirrorRef mirror, const __grid_constant__ BatchRef batch) {
  const std::uint32_t num_queries = num_taking_part(batch);
  if (num_queries == 0) return;
  extern __shared__ uint4 products_shared[];  // as ldmatrix wants it aligned
  __shared__ BlockShared shared;
  Products<T, kDepth, kQueries> products(mirror, batch, shared, reinterpret_cast<__half*>(products_shared),
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
template <typename T, std::uint32_t kDepth, QueryNumbers kQueries>
bool launch_multiply(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     unsigned at_least, cudaStream_t stream) {
  const std::size_t bytes =
      (kStages * stage_numbers(kQueries, kDepth) + kept_numbers(kQueries, mirror.half.stride, kDepth)) *
      sizeof(Half);
  const std::size_t each = bytes + sizeof(BlockShared) + 64 + limits.reserved_shared_bytes;
  const auto blocks_each =
      static_cast<unsigned>(std::min<std::size_t>(kBlocksEach, limits.multiprocessor_shared_bytes / each));
  if (blocks_each < at_least) return false;
  const cuda::Shape shape = {.num_blocks = std::max(1u, blocks_each) * limits.num_multiprocessors,
                             .num_threads = kThreads,
                             .shared_bytes = bytes,
                             .cooperative = true};
  cuda::launch(multiply_batch<T, kDepth, kQueries>, shape, stream, mirror, batch);
  return true;
}

}  // namespace

template <typename T>
void launch_products(const MirrorRef& mirror, const BatchRef& batch, const cuda::Limits& limits,
                     cudaStream_t stream) {
  if (!launch_multiply<T, 64, QueryNumbers::kept>(mirror, batch, limits, kBlocksEach, stream) &&
      !launch_multiply<T, 64, QueryNumbers::copied>(mirror, batch, limits, kBlocksEach, stream))
    launch_multiply<T, 32, QueryNumbers::copied>(mirror, batch, limits, 0, stream);
}

template void launch_products<float>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_products<double>(const MirrorRef&, const BatchRef&, const cuda::Limits&, cudaStream_t);
template void launch_products<Packed<float>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                             cudaStream_t);
template void launch_products<Packed<double>>(const MirrorRef&, const BatchRef&, const cuda::Limits&,
                                              cudaStream_t);

}  // namespace culmen::gpu
