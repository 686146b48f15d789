// What k-selection by a whole grid uses: one cooperative kernel of as many thread blocks as are resident at once,
// loops over its input, and sorts within a block.
#pragma once

#include <cooperative_groups.h>
#include <cooperative_groups/scan.h>

#include <algorithm>
#include <cstdint>

#include "gpu/cuda/launch.h"
#include "select/grid_size.h"
#include "select/source.h"

namespace culmen::select {

inline constexpr unsigned kThreads = 1024;
inline constexpr int kMaxDigitBits = 11;
inline constexpr std::uint32_t kMaxBins = 1 << kMaxDigitBits;
// Enough for three threshold searches by digits of 11 bits, or for one by digits of 8.
inline constexpr std::uint32_t kMaxPasses = 3 * ((128 + kMaxDigitBits - 1) / kMaxDigitBits);

// All 0 before the kernel.
struct Counters {
  std::uint32_t bins[kMaxPasses][kMaxBins];
  std::uint32_t num_candidates;
  std::uint32_t num_selected;
};

// A thread block sorts up to so many rows at the end; more need separate kernels.
inline constexpr std::uint32_t kBlockSorted = 2048;
inline constexpr std::size_t kSharedBytes = kBlockSorted * sizeof(Rank128);

// The dynamic shared memory of a thread block, for one use at a time.
template <typename T>
__device__ T* shared_room() {
  extern __shared__ uint4 dynamic_shared[];
  return reinterpret_cast<T*>(dynamic_shared);
}

__device__ inline void sync_grid() {
  cooperative_groups::this_grid().sync();
}

inline cuda::Shape cooperative_shape(unsigned most_blocks, const char* file = __builtin_FILE(),
                                     int line = __builtin_LINE()) {
  return {.num_blocks = std::min(num_blocks_of_grid(), most_blocks),
          .num_threads = kThreads,
          .shared_bytes = kSharedBytes,
          .cooperative = true,
          .file = file,
          .line = line};
}

// Ranks in memory. Their number is in device memory, and includes those that did not fit.
template <typename R>
struct Ranks {
  using Rank = R;
  static constexpr int kRun = 1;

  const Rank* ranks;
  const std::uint32_t* num_ranks;
  std::uint32_t capacity;

  __device__ std::uint32_t size() const {
    return min(*reinterpret_cast<const volatile std::uint32_t*>(num_ranks), capacity);
  }
  __device__ Rank rank(std::uint32_t i) const { return ranks[i]; }
  __device__ void run(std::uint32_t i, Rank* out) const { run_by_rank(*this, i, out); }
};

// How many ranks a thread loads before it uses the first.
template <typename Source>
inline constexpr int kChunk = Source::kRun*(sizeof(typename Source::Rank) == sizeof(Rank64) ? 4 : 2);

// Calls use(ranks), ranks[kChunk<Source>], until every row was in one of them. The rank is 0 if a filter rejects the
// row, and after the last row.
template <typename Source, typename Use>
__device__ void for_each_chunk(const Source& source, Use&& use) {
  using Rank = typename Source::Rank;
  constexpr int kRun = Source::kRun, kLoads = kChunk<Source> / kRun;
  const std::uint64_t size = source.size(), tile_rows = std::uint64_t{blockDim.x} * kChunk<Source>;
  const std::uint64_t num_tiles = size / tile_rows;
  Rank ranks[kChunk<Source>];
  for (std::uint64_t tile = blockIdx.x; tile < num_tiles; tile += gridDim.x) {
    const std::uint64_t first = tile * tile_rows + threadIdx.x * kRun;
#pragma unroll
    for (int l = 0; l < kLoads; ++l)
      source.run(static_cast<std::uint32_t>(first + std::uint64_t{blockDim.x} * kRun * l), ranks + l * kRun);
    use(ranks);
  }
  // The rest is less than a tile.
  for (std::uint64_t i = num_tiles * tile_rows + blockIdx.x * blockDim.x + threadIdx.x; i < size;
       i += std::uint64_t{gridDim.x} * blockDim.x) {
    for (Rank& rank : ranks) rank = 0;
    ranks[0] = source.rank(static_cast<std::uint32_t>(i));
    use(ranks);
  }
}

// Calls use(rank) for every row.
template <typename Source, typename Use>
__device__ void for_each_rank(const Source& source, Use&& use) {
  for_each_chunk(source, [&](const auto& ranks) {
#pragma unroll
    for (int j = 0; j < kChunk<Source>; ++j) use(ranks[j]);
  });
}

// Appends the ranks that reach the threshold, in any order; those that do not fit are only counted. Raises `highest`
// to the largest of those that this thread has appended.
template <typename Source>
__device__ void append_within_bound(const Source& source, typename Source::Rank threshold,
                                    std::uint32_t& count, std::uint32_t capacity, typename Source::Rank* out,
                                    typename Source::Rank& highest) {
  for_each_chunk(source, [&](const auto& ranks) {
    std::uint32_t num_reaching = 0;
#pragma unroll
    for (int j = 0; j < kChunk<Source>; ++j) num_reaching += ranks[j] >= threshold ? 1 : 0;
    if (num_reaching == 0) return;
    const auto together = cooperative_groups::coalesced_threads();
    std::uint32_t place = cooperative_groups::inclusive_scan(together, num_reaching);
    std::uint32_t first = 0;
    const unsigned last = together.size() - 1;
    if (together.thread_rank() == last) first = atomicAdd(&count, place);
    place += together.shfl(first, last) - num_reaching;
#pragma unroll
    for (int j = 0; j < kChunk<Source>; ++j) {
      if (ranks[j] < threshold) continue;
      if (place < capacity) out[place] = ranks[j];
      ++place;
      if (ranks[j] > highest) highest = ranks[j];
    }
  });
}

// One pair of a step of a bitonic network (Batcher 1968): `stride` apart, in pieces of `length`, both powers of two.
// Pieces are sorted in alternating order, the first one larger first.
template <typename Rank, typename Index>
__device__ void order_pair(Rank* items, Index pair, Index length, Index stride) {
  const Index first = 2 * pair - (pair & (stride - 1));
  const Rank a = items[first], b = items[first + stride];
  if ((a < b) != ((first & length) == 0)) return;
  items[first] = b;
  items[first + stride] = a;
}

// By a thread block: sorts bitonic pieces of `length` in shared memory. A barrier before the items are read.
template <typename Rank>
__device__ void sort_bitonic_pieces_in_block(Rank* items, std::uint32_t size, std::uint32_t length,
                                             std::uint32_t num_threads) {
  for (std::uint32_t stride = length / 2; stride > 0; stride /= 2) {
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < size / 2; i += num_threads) order_pair(items, i, length, stride);
  }
}

// By a thread block: sorts up to kBlockSorted ranks and returns them in its shared memory, best first, padded with 0
// to a power of two, `size`.
template <typename Rank>
__device__ const Rank* sort_in_block(const Rank* ranks, std::uint32_t count, std::uint32_t& size) {
  Rank* items = shared_room<Rank>();
  size = 2;
  while (size < count) size *= 2;
  for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) items[i] = i < count ? ranks[i] : 0;
  for (std::uint32_t length = 2; length <= size; length *= 2)
    sort_bitonic_pieces_in_block(items, size, length, blockDim.x);
  __syncthreads();
  return items;
}

}  // namespace culmen::select
