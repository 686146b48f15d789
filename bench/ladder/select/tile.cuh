// A tile of ranks in shared memory, and the operators on it: sorting runs, and halving (the larger of each
// two runs' places), with the optimisations that a plan asks for.
//
// One thread block has a tile. Runs of `length` are, in turn, larger first and smaller first, so that two
// neighbours are a bitonic sequence.
#pragma once

#include <utility>

#include "bench/ladder/select/plans.h"
#include "bench/ladder/select/question.cuh"
#include "bench/select/networks.h"

namespace culmen::select::ladder {

inline constexpr unsigned kTileThreads = 256;
inline constexpr unsigned kOfThread = 16;
inline constexpr unsigned kTile = kTileThreads * kOfThread;
inline constexpr unsigned kBankRow = 16;  // ranks that fill all banks once
inline constexpr unsigned kMaxSteps = std::bit_width(kOfThread) - 1;
static_assert(kTile == 2 * kMaxK);

template <typename Plan>
struct Tile {
  static constexpr std::size_t kBytes = (kTile + (Plan::kPads ? kTile / kBankRow : 0)) * sizeof(Rank64);

  Rank64* items;

  __device__ Rank64& operator[](unsigned i) const { return items[Plan::kPads ? i + i / kBankRow : i]; }
};

// A thread's part of kSteps steps, of strides from 2^kSteps / 2 * stride down to `stride`, on the chunk of
// ranks that are compared with each other then: they stay in registers from step to step.
template <int kSteps, typename Plan>
__device__ void take_steps_on_chunk(const Tile<Plan>& tile, unsigned chunk, unsigned length,
                                    unsigned stride) {
  constexpr unsigned kChunk = 1 << kSteps;
  const unsigned within = chunk & (stride - 1), first = (chunk - within) * kChunk + within;
  Rank64 items[kChunk];
#pragma unroll
  for (unsigned i = 0; i < kChunk; ++i) items[i] = tile[first + i * stride];
  sort_bitonic<kChunk, kChunk>(items,
                               (first & length) == 0 ? Direction::larger_first : Direction::smaller_first);
#pragma unroll
  for (unsigned i = 0; i < kChunk; ++i) tile[first + i * stride] = items[i];
}

// A thread takes chunks that lie next to each other; or, permuted, every num_threads-th, so that
// neighbours of a warp take neighbouring chunks at the same time, from different banks.
template <int kSteps, typename Plan>
__device__ void take_steps(const Tile<Plan>& tile, unsigned size, unsigned length, unsigned stride) {
  const unsigned num_chunks = size >> kSteps;
  const unsigned each = (num_chunks - 1) / kTileThreads + 1;
  for (unsigned i = 0; i < each; ++i) {
    const unsigned chunk = Plan::kPermutesChunks ? i * kTileThreads + threadIdx.x : threadIdx.x * each + i;
    if (chunk < num_chunks) take_steps_on_chunk<kSteps>(tile, chunk, length, stride);
  }
}

// As many as a thread has ranks for if all threads have a part; partitions reassigned, as many as it has
// registers for, by fewer threads.
template <typename Plan>
__device__ unsigned most_steps(unsigned size) {
  if (!Plan::kTakesSeveralSteps) return 1;
  unsigned steps = 1;
  while (steps < kMaxSteps && (Plan::kReassignsPartitions || (kTileThreads << (steps + 1)) <= size)) ++steps;
  return steps;
}

// Sorts bitonic pieces of `length` among `size` ranks, which is a multiple of it.
template <typename Plan>
__device__ void sort_pieces_of(const Tile<Plan>& tile, unsigned size, unsigned length) {
  const unsigned most =
      min(most_steps<Plan>(size), static_cast<unsigned>(__ffs(static_cast<int>(length))) - 1);
  unsigned stride = length;
  while (stride > 1) {
    const unsigned left = static_cast<unsigned>(__ffs(static_cast<int>(stride))) - 1;
    const unsigned steps = left % most == 0 ? most : left % most;
    stride >>= steps;
    __syncthreads();  // the steps before are done
    if (steps == 1) take_steps<1>(tile, size, length, stride);
    if (steps == 2) take_steps<2>(tile, size, length, stride);
    if (steps == 3) take_steps<3>(tile, size, length, stride);
    if (steps == 4) take_steps<4>(tile, size, length, stride);
  }
}

// Leaves size / 2 ranks.
template <typename Plan>
__device__ void halve(const Tile<Plan>& tile, unsigned size, unsigned length) {
  Rank64 larger[kOfThread / 2];
  __syncthreads();  // runs are sorted
#pragma unroll
  for (unsigned i = 0; i < kOfThread / 2; ++i) {
    const unsigned place = threadIdx.x + i * kTileThreads;
    if (place >= size / 2) continue;
    const unsigned first = 2 * place - (place & (length - 1));
    larger[i] = max(tile[first], tile[first + length]);
  }
  __syncthreads();  // all have read what is now replaced
#pragma unroll
  for (unsigned i = 0; i < kOfThread / 2; ++i) {
    const unsigned place = threadIdx.x + i * kTileThreads;
    if (place < size / 2) tile[place] = larger[i];
  }
}

template <typename Plan, typename Source>
__device__ void load_rows(const Tile<Plan>& tile, const Source& source, std::uint64_t start,
                          std::uint64_t size) {
  for (unsigned i = threadIdx.x; i < kTile; i += kTileThreads)
    tile[i] = start + i < size ? source.rank(static_cast<std::uint32_t>(start + i)) : 0;
}

// Each thread sorts what it has read, in runs of kRun, before it writes it.
template <int kRun, typename Plan, typename Source>
__device__ void load_sorted_runs(const Tile<Plan>& tile, const Source& source, std::uint64_t start,
                                 std::uint64_t size) {
  Rank64 items[kOfThread];
  const unsigned own = threadIdx.x * kOfThread;
  if (start + kTile <= size) {
#pragma unroll
    for (unsigned i = 0; i < kOfThread; i += Source::kRun)
      source.run(static_cast<std::uint32_t>(start) + own + i, items + i);
  } else {
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i)
      items[i] = start + own + i < size ? source.rank(static_cast<std::uint32_t>(start) + own + i) : 0;
  }
  sort_runs<0, kOfThread, kRun>(items);
#pragma unroll
  for (unsigned i = 0; i < kOfThread; ++i) {
    const bool larger_first = ((own + i) & kRun) == 0;
    tile[larger_first ? own + (i ^ (kRun - 1)) : own + i] = items[i];
  }
}

// Returns how long the runs are that are there then.
template <typename Plan, typename Source>
__device__ unsigned load(const Tile<Plan>& tile, const Source& source, std::uint64_t start,
                         std::uint64_t size, unsigned length) {
  if constexpr (Plan::kWorksBeforeWriting) {
    if (length == 2) load_sorted_runs<2>(tile, source, start, size);
    if (length == 4) load_sorted_runs<4>(tile, source, start, size);
    if (length == 8) load_sorted_runs<8>(tile, source, start, size);
    if (length >= kOfThread) load_sorted_runs<kOfThread>(tile, source, start, size);
    return min(length, kOfThread);
  }
  load_rows(tile, source, start, size);
  return 1;
}

// Sorts a tile's runs of `length`, and writes the best, best first.
template <typename Plan, typename Source>
__global__ void __launch_bounds__(kTileThreads)
    reduce_tiles(const Source source, std::uint32_t size, std::uint32_t length, Rank64* out) {
  const Tile<Plan> tile{shared_room<Rank64>()};
  unsigned sorted = load(tile, source, std::uint64_t{blockIdx.x} * kTile, size, length);
  while (sorted < length) sort_pieces_of(tile, kTile, sorted *= 2);
  for (unsigned left = kTile; left > length; left /= 2) {
    halve(tile, left, length);
    sort_pieces_of(tile, left / 2, length);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < length; i += kTileThreads)
    out[std::uint64_t{blockIdx.x} * length + i] = tile[i];
}

// Returns how many ranks are in `out` then.
template <typename Plan, typename Source>
std::uint32_t launch_reduction(const Source& source, std::uint32_t size, std::uint32_t length, Rank64* out,
                               cudaStream_t stream) {
  const std::uint32_t num_tiles = (size - 1) / kTile + 1;
  cuda::launch(reduce_tiles<Plan, Source>,
               {.num_blocks = num_tiles, .num_threads = kTileThreads, .shared_bytes = Tile<Plan>::kBytes},
               stream, source, size, length, out);
  return num_tiles * length;
}

template <typename Plan>
const Rank64* reduce_by_tiles(const Question& question) {
  const Selection<Rank64> selection = selection_of(question);
  const std::uint32_t length = length_of(question);
  const std::size_t most = (std::size_t{selection.num_rows} / kTile + 1) * length;
  Rank64* from = selection.more_ranks(most);
  Rank64* to = selection.ranks(most);
  std::uint32_t size =
      launch_reduction<Plan>(question.keys, selection.num_rows, length, to, selection.stream);
  while (size > length) {
    std::swap(from, to);
    size = launch_reduction<Plan>(HostRanks<Rank64>{from}, size, length, to, selection.stream);
  }
  return to;
}

}  // namespace culmen::select::ladder
