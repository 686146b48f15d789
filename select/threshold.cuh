// The rank that the k best reach, found digit by digit from the highest on: counts the ranks with each value of a
// digit, chooses the bin that has the k-th, and continues within it.
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "select/grid.cuh"

namespace culmen::select {

// Ranks low, low + 1, .. low + 2^num_bits - 1.
template <typename Rank>
struct Interval {
  Rank low = 1;
  int num_bits = 8 * sizeof(Rank);
};

template <typename Rank>
struct Threshold {
  Rank rank;
  std::uint32_t num_reaching;
};

// Shared memory of a thread block.
template <int kDigitBits>
struct BinScratch {
  static constexpr std::uint32_t kNumBins = 1 << kDigitBits;
  static constexpr int kBinsPerThread = (kNumBins + kThreads - 1) / kThreads;
  using Scan = cub::BlockScan<std::uint32_t, kThreads>;

  std::uint32_t bins[kNumBins];
  typename Scan::TempStorage scan;
  std::uint32_t chosen, above, inside;
};

// Adds 1 to a bin for each lane that calls. If all have the same bin, as with equal keys, one lane adds for all.
__device__ inline void count_in(std::uint32_t* bins, std::uint32_t bin) {
  const unsigned lanes = __activemask();
  int all_agree = 0;
  __match_all_sync(lanes, bin, &all_agree);
  if (all_agree == 0) {
    atomicAdd(bins + bin, 1u);
  } else if (static_cast<int>(threadIdx.x % warpSize) == __ffs(static_cast<int>(lanes)) - 1) {
    atomicAdd(bins + bin, static_cast<std::uint32_t>(__popc(lanes)));
  }
}

// Sets `chosen`, the bin with the wanted-th item from the highest bin on, and the numbers of items `above` and
// `inside` it. If there are fewer items: the lowest bin, with all other items above.
template <int kDigitBits>
__device__ void choose_bin(const std::uint32_t* bins, std::uint32_t wanted, BinScratch<kDigitBits>& scratch) {
  using Scratch = BinScratch<kDigitBits>;
  std::uint32_t counts[Scratch::kBinsPerThread], above[Scratch::kBinsPerThread];
  const auto bin_of = [](int item) {  // from high to low
    return static_cast<int>(Scratch::kNumBins) - 1 -
           (static_cast<int>(threadIdx.x) * Scratch::kBinsPerThread + item);
  };
#pragma unroll
  for (int item = 0; item < Scratch::kBinsPerThread; ++item) {
    const int bin = bin_of(item);
    counts[item] = bin >= 0 ? __ldcg(bins + bin) : 0;
  }
  typename Scratch::Scan(scratch.scan).ExclusiveSum(counts, above);
#pragma unroll
  for (int item = 0; item < Scratch::kBinsPerThread; ++item) {
    const int bin = bin_of(item);
    const bool has_it = above[item] < wanted && wanted <= above[item] + counts[item];
    if (!has_it && !(bin == 0 && wanted > above[item] + counts[item])) continue;
    scratch.chosen = static_cast<std::uint32_t>(bin);
    scratch.above = above[item];
    scratch.inside = counts[item];
  }
  __syncthreads();
}

// By all blocks of the grid: the lowest rank of a bin, such that at least the k best reach it and, if the ranks
// allow, at most `at_most` do; if at_most is k, the k-th best rank itself. If fewer than k rows have a rank: 1.
// Advances `bins` by those used. Ranks outside `within` are below it.
template <int kDigitBits, typename Source>
__device__ Threshold<typename Source::Rank> find_threshold(const Source& source, std::uint32_t k,
                                                           std::uint32_t at_most,
                                                           Interval<typename Source::Rank> within,
                                                           std::uint32_t (*&bins)[kMaxBins]) {
  using Rank = typename Source::Rank;
  static_assert(sizeof(BinScratch<kDigitBits>) <= kSharedBytes);
  BinScratch<kDigitBits>& scratch = *shared_room<BinScratch<kDigitBits>>();
  __syncthreads();  // the previous use of the shared memory is over
  std::uint32_t num_above = 0;
  while (true) {  // ends: each round settles kDigitBits more of a rank's bits
    const int shift = max(0, within.num_bits - kDigitBits);
    const std::uint32_t num_bins = std::uint32_t{1} << (within.num_bits - shift);
    for (std::uint32_t bin = threadIdx.x; bin < num_bins; bin += blockDim.x) scratch.bins[bin] = 0;
    __syncthreads();
    for_each_rank(source, [&](Rank rank) {
      if (rank < within.low) return;
      const Rank bin = (rank - within.low) >> shift;
      if (bin < num_bins) count_in(scratch.bins, static_cast<std::uint32_t>(bin));
    });
    __syncthreads();
    std::uint32_t* const all = *bins++;
    for (std::uint32_t bin = threadIdx.x; bin < num_bins; bin += blockDim.x)
      if (scratch.bins[bin] > 0) atomicAdd(all + bin, scratch.bins[bin]);
    sync_grid();
    choose_bin(all, k - num_above, scratch);
    const std::uint32_t num_reaching = num_above + scratch.above + scratch.inside;
    within = {within.low + (Rank{scratch.chosen} << shift), shift};
    num_above += scratch.above;
    if (num_reaching < k) return {Rank{1}, num_reaching};
    if (num_reaching <= at_most || shift == 0) return {within.low, num_reaching};
    __syncthreads();  // all threads have read what the next pass overwrites
  }
}

}  // namespace culmen::select
