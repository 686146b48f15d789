// The best run of all rows that a thread block reads, in registers. Each thread owns a few ranks, and a run of k spans one
// thread or several neighbours. Ranks of two threads are exchanged within the warp, or through shared memory between
// warps.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "bench/select/methods.cuh"
#include "bench/select/networks.h"

namespace culmen::select {

inline constexpr unsigned kRunThreads = 256;  // of a thread block
inline constexpr unsigned kWarpThreads = 32;

// Ranks that a thread loads at a time, in 32 registers; its part of the best run takes as many again.
template <typename Rank>
inline constexpr int kOwned = 128 / sizeof(Rank);
template <typename Rank>
inline constexpr std::uint32_t kTileRanks = kOwned<Rank>* kRunThreads;
// Shared memory for exchanges, without bank conflicts.
inline constexpr std::size_t kExchangeBytes = kRunThreads * 128;

__device__ inline Rank64 of_lane(Rank64 rank, unsigned mask) {
  return __shfl_xor_sync(0xffffffffu, rank, static_cast<int>(mask));
}
__device__ inline Rank128 of_lane(Rank128 rank, unsigned mask) {
  const Rank64 high = of_lane(static_cast<Rank64>(rank >> 64), mask);
  return Rank128{high} << 64 | of_lane(static_cast<Rank64>(rank), mask);
}

// The `Threads` of networks.h. All threads of the block must call with the same mask.
template <typename Rank, int kItems>
struct BlockThreads {
  Rank (&items)[kItems];
  Rank* room;  // kExchangeBytes

  template <Direction kDirection, Pairing kPairing>
  __device__ void exchange(unsigned mask) {
    const bool larger = keeps_larger(kDirection, threadIdx.x, mask);
    meet<kPairing>(mask, [&](Rank& mine, Rank other) { mine = (mine < other) == larger ? other : mine; });
  }
  template <Direction kDirection>
  __device__ void sort_bitonic() {
    select::sort_bitonic<kItems, kItems>(items, kDirection);
  }
  // Of two neighbouring sorted runs of num_threads threads each, both get the better half of the two.
  __device__ void keep_better_half(unsigned num_threads) {
    meet<Pairing::mirrored>(2 * num_threads - 1, [](Rank& mine, Rank other) {
      if (mine < other) mine = other;
    });
  }

 private:
  template <Pairing kPairing, typename Use>
  __device__ void meet(unsigned mask, Use&& use) {
    constexpr bool kMirrored = kPairing == Pairing::mirrored;
    if (mask < kWarpThreads) {
#pragma unroll
      for (int i = 0; i < (kItems + 1) / 2;
           ++i) {  // from both ends, since the other thread needs the old ranks
        const int j = kItems - 1 - i;
        const Rank a = of_lane(items[i], mask), b = of_lane(items[j], mask);
        use(items[i], kMirrored ? b : a);
        if (i != j) use(items[j], kMirrored ? a : b);
      }
      return;
    }
    __syncthreads();  // all have read the previous exchange
#pragma unroll
    for (int i = 0; i < kItems; ++i) room[i * kRunThreads + threadIdx.x] = items[i];
    __syncthreads();  // all have written
#pragma unroll
    for (int i = 0; i < kItems; ++i)
      use(items[i], room[(kMirrored ? kItems - 1 - i : i) * kRunThreads + (threadIdx.x ^ mask)]);
  }
};

// Loads rows first ... first + kTileRanks - 1 of `size`, in an order that reads whole lines; 0 past the end.
template <typename Source>
__device__ void load_tile(const Source& source, std::uint64_t first, std::uint64_t size,
                          typename Source::Rank (&items)[kOwned<typename Source::Rank>]) {
  constexpr int kItems = kOwned<typename Source::Rank>, kRun = Source::kRun;
  if (first + kItems * kRunThreads <= size) {
#pragma unroll
    for (int i = 0; i < kItems; i += kRun)
      source.run(static_cast<std::uint32_t>(first) + i * kRunThreads + threadIdx.x * kRun, items + i);
    return;
  }
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const std::uint64_t row = first + i * kRunThreads + threadIdx.x;
    items[i] = row < size ? source.rank(static_cast<std::uint32_t>(row)) : 0;
  }
}

// The best run of a block so far, larger first: kRun ranks in each of num_threads threads, both powers of two. A run of
// several threads has kRun == kOwned. The block keeps as many runs as it has room for, each over rows of its own.
template <typename Rank, int kRun>
class BestRuns {
 public:
  static constexpr int kItems = kOwned<Rank>;

  __device__ explicit BestRuns(unsigned num_threads)
      : best_{}, num_threads_(num_threads), room_(shared_room<Rank>()) {}

  // The new ranks, sorted in the opposite order, form a bitonic sequence with the best run.
  __device__ void take(Rank (&items)[kItems]) {
    sort_runs<0, kItems, kRun>(items);
    keep_best_run<kRun, kItems>(items);
    if constexpr (kRun == kItems) {
      BlockThreads<Rank, kItems> threads{items, room_};
      sort_across<Direction::smaller_first>(threads, num_threads_);
    }
#pragma unroll
    for (int i = 0; i < kRun; ++i)
      if (best_[i] < items[i]) best_[i] = items[i];
    sort_again();
  }

  // Returns the smallest rank of the run in its last thread, and 0 in the others.
  __device__ Rank smallest() const {
    return (threadIdx.x + 1) % num_threads_ == 0 ? best_[kRun - 1] : Rank{0};
  }

  // Merges all runs of the block; the first threads write the result.
  __device__ void finish(Rank* out) {
    for (unsigned joined = num_threads_; joined < kRunThreads; joined *= 2) {
      BlockThreads<Rank, kRun>{best_, room_}.keep_better_half(joined);
      sort_again();
    }
    if (threadIdx.x >= num_threads_) return;
#pragma unroll
    for (int i = 0; i < kRun; ++i) out[threadIdx.x * kRun + i] = best_[i];
  }

 private:
  __device__ void sort_again() {
    BlockThreads<Rank, kRun> threads{best_, room_};
    sort_bitonic_across<Direction::larger_first>(threads, num_threads_);
  }

  Rank best_[kRun];
  unsigned num_threads_;
  Rank* room_;
};

// Short runs are bound by memory, not by comparisons, so they trade registers for more resident blocks.
constexpr unsigned blocks_per_multiprocessor(int run, int owned) {
  return run < owned ? 4 : 2;
}

template <int kRun, typename Source>
__global__ void __launch_bounds__(kRunThreads, blocks_per_multiprocessor(kRun, kOwned<typename Source::Rank>))
    keep_best_of_all(const Source source, std::uint32_t size, unsigned num_threads,
                     typename Source::Rank* out) {
  using Rank = typename Source::Rank;
  BestRuns<Rank, kRun> best(num_threads);
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * kTileRanks<Rank>; first < size;
       first += std::uint64_t{gridDim.x} * kTileRanks<Rank>) {
    Rank items[kOwned<Rank>];
    load_tile(source, first, size, items);
    best.take(items);
  }
  best.finish(out + std::size_t{blockIdx.x} * num_threads * kRun);
}

// A `Kernel` for the functions below: which kernel leaves one run per block, and how many blocks it has.
struct BestOfAll {
  static constexpr std::size_t kSharedBytes = kExchangeBytes;

  template <int kRun, typename Source>
  static constexpr auto* kernel = &keep_best_of_all<kRun, Source>;

  // All that can be resident, but at least 8 tiles each, so that at most 1/8 is left for the next launch.
  template <int kRun, typename Rank>
  static unsigned num_blocks(std::uint32_t size) {
    return std::min(blocks_per_multiprocessor(kRun, kOwned<Rank>) * num_blocks_of_grid(),
                    (size - 1) / (8 * kTileRanks<Rank>)+1);
  }
};

// Returns the number of ranks written to `out`.
template <typename Kernel, int kRun, typename Source>
std::uint32_t launch_runs(const Source& source, std::uint32_t size, unsigned num_threads,
                          typename Source::Rank* out, cudaStream_t stream) {
  const unsigned num_blocks = Kernel::template num_blocks<kRun, typename Source::Rank>(size);
  cuda::launch(Kernel::template kernel<kRun, Source>,
               {.num_blocks = num_blocks, .num_threads = kRunThreads, .shared_bytes = Kernel::kSharedBytes},
               stream, source, size, num_threads, out);
  return num_blocks * num_threads * kRun;
}

template <typename Kernel, int kRun, typename Source>
const typename Source::Rank* best_run_of(const Source& source,
                                         const Selection<typename Source::Rank>& selection,
                                         unsigned num_threads) {
  using Rank = typename Source::Rank;
  const std::uint32_t length = num_threads * kRun, num_rows = selection.num_rows;
  const std::size_t most = std::size_t{Kernel::template num_blocks<kRun, Rank>(num_rows)} * length;
  Rank* from = selection.more_ranks(most);
  Rank* to = selection.ranks(most);
  std::uint32_t size = launch_runs<Kernel, kRun>(source, num_rows, num_threads, to, selection.stream);
  while (size > length) {
    std::swap(from, to);
    size = launch_runs<Kernel, kRun>(HostRanks<Rank>{from}, size, num_threads, to, selection.stream);
  }
  return to;
}

// Returns the best run of `length`, a power of two up to kTileRanks.
template <typename Kernel, typename Source>
const typename Source::Rank* best_run(const Source& source, const Selection<typename Source::Rank>& selection,
                                      std::uint32_t length) {
  constexpr int kItems = kOwned<typename Source::Rank>;
  if (length == 1) return best_run_of<Kernel, 1>(source, selection, 1);
  if (length <= 4) return best_run_of<Kernel, 4>(source, selection, 1);
  return best_run_of<Kernel, kItems>(source, selection, std::max(1u, length / kItems));
}

}  // namespace culmen::select
