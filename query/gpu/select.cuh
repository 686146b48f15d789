// Selection by one thread block: a lower bound on the k-th largest of many scores, and a sort of few
// candidates.
#pragma once

#include "query/gpu/blocks.cuh"

namespace culmen::gpu {

inline constexpr int kNumBins = 2048;
inline constexpr int kMaxWarps = 32;  // of a thread block

// The bin of kth_lower_bound that holds the wanted value, how many values are in larger bins, and how many in
// it.
struct ChosenBin {
  int bin;  // -1: there are fewer values
  int above;
  int inside;
};

struct SelectScratch {
  int bins[kNumBins];
  double lows[kMaxWarps], highs[kMaxWarps];
  int counts[kMaxWarps];
  ChosenBin chosen;
};

// Makes `low` the smallest and `high` the largest of all threads' own.
__device__ inline void block_range(double& low, double& high, SelectScratch& scratch) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2) {
    low = fmin(low, __shfl_xor_sync(kFullWarp, low, offset));
    high = fmax(high, __shfl_xor_sync(kFullWarp, high, offset));
  }
  __syncthreads();  // the scratch's readers before
  if (threadIdx.x % kWarpSize == 0) {
    scratch.lows[threadIdx.x / kWarpSize] = low;
    scratch.highs[threadIdx.x / kWarpSize] = high;
  }
  __syncthreads();
  for (unsigned w = 0; w < blockDim.x / kWarpSize; ++w) {
    low = fmin(low, scratch.lows[w]);
    high = fmax(high, scratch.highs[w]);
  }
}

// The bin of the `wanted`-th largest value; the same for all threads.
__device__ inline ChosenBin choose_bin(int wanted, SelectScratch& scratch) {
  // Thread t owns bins from the top: the largest first.
  const int bins_per_thread = kNumBins / static_cast<int>(blockDim.x);
  const int last = kNumBins - 1 - static_cast<int>(threadIdx.x) * bins_per_thread;
  int mine = 0;
  for (int b = 0; b < bins_per_thread; ++b) mine += scratch.bins[last - b];
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  int above = mine;  // inclusive prefix sum over the threads of the warp
  for (int offset = 1; offset < kWarpSize; offset *= 2) {
    const int other = __shfl_up_sync(kFullWarp, above, static_cast<unsigned>(offset));
    if (lane >= offset) above += other;
  }
  if (lane == kWarpSize - 1) scratch.counts[threadIdx.x / kWarpSize] = above;
  if (threadIdx.x == 0) scratch.chosen.bin = -1;
  __syncthreads();
  for (unsigned w = 0; w < threadIdx.x / kWarpSize; ++w) above += scratch.counts[w];
  above -= mine;  // values in larger bins than this thread's
  if (above < wanted && above + mine >= wanted) {
    int b = last;
    for (; above + scratch.bins[b] < wanted; --b) above += scratch.bins[b];
    scratch.chosen = {b, above, scratch.bins[b]};
  }
  __syncthreads();
  return scratch.chosen;
}

// A value of the list that at least k of its values reach, close to the k-th largest; -infinity if fewer than
// k are above -infinity. value_at(i) for i < count is asked a few times by the same thread. All threads of
// the block call it and get the same result.
//
// A round counts the values between `low` and `high` in 2,048 bins and finds the bin of the k-th largest; its
// own smallest and largest value are the next round's limits, so that outliers cost a round and not the
// result's sharpness. Rounding can move a value to another bin, but never past a larger one: the result is
// right whatever it does.
template <typename ValueAt>
__device__ double kth_lower_bound(ValueAt&& value_at, std::uint64_t count, std::uint32_t k,
                                  SelectScratch& scratch) {
  constexpr int kMaxRounds = 3;
  constexpr int kFewEnough = 16;
  double low = infinity(), high = -infinity();
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const double value = value_at(i);
    if (value != -infinity()) low = fmin(low, value);
    high = fmax(high, value);
  }
  block_range(low, high, scratch);
  auto wanted = static_cast<int>(k);
  for (int round = 1; low <= high; ++round) {
    const double scale = (kNumBins - 1) / (high - low);
    const auto bin_of = [&](double value) {
      // high = low makes 0 * infinity: NaN, which converts to 0.
      return min(max(__double2int_rd((value - low) * scale), 0), kNumBins - 1);
    };
    const auto counts = [&](double value) { return value >= low && value <= high && value != -infinity(); };
    for (auto b = static_cast<int>(threadIdx.x); b < kNumBins; b += static_cast<int>(blockDim.x))
      scratch.bins[b] = 0;
    __syncthreads();
    for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x)
      if (const double value = value_at(i); counts(value)) atomicAdd(&scratch.bins[bin_of(value)], 1);
    __syncthreads();
    const ChosenBin chosen = choose_bin(wanted, scratch);
    if (chosen.bin < 0) break;
    double lowest = infinity(), highest = -infinity();
    for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x)
      if (const double value = value_at(i); counts(value) && bin_of(value) == chosen.bin) {
        lowest = fmin(lowest, value);
        highest = fmax(highest, value);
      }
    block_range(lowest, highest, scratch);
    if (chosen.inside <= kFewEnough || lowest == highest || round == kMaxRounds) return lowest;
    low = lowest;
    high = highest;
    wanted -= chosen.above;
  }
  return -infinity();
}

__device__ inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

// Ranks behind every row.
__device__ inline Candidate no_candidate() {
  return {-infinity(), kNoId, 0};
}

// Bitonic sort (Batcher 1968), best first, of `count` = a power of two items by the `num_threads` threads
// that sync() joins, whole warps. Behind it all threads see the result.
template <typename Sync>
__device__ void sort_candidates(Candidate* items, std::uint32_t count, std::uint32_t thread,
                                std::uint32_t num_threads, Sync&& sync) {
  // Up to this stride a warp's 32 pairs stay within 64 items that no other warp touches.
  constexpr std::uint32_t kWarpStride = kWarpSize;
  bool among_warps = true;  // the step before
  for (std::uint32_t size = 2; size <= count; size *= 2)
    for (std::uint32_t stride = size / 2; stride > 0; stride /= 2) {
      if (among_warps || stride > kWarpStride) {
        sync();
      } else {
        __syncwarp();
      }
      among_warps = stride > kWarpStride;
      for (std::uint32_t i = thread; i < count / 2; i += num_threads) {
        const std::uint32_t first = 2 * i - (i & (stride - 1));
        const std::uint32_t second = first + stride;
        const bool best_first = (first & size) == 0;
        const Candidate a = items[first], b = items[second];
        if (best_first ? ranks_before(b, a) : ranks_before(a, b)) {
          items[first] = b;
          items[second] = a;
        }
      }
    }
  sync();
}

__device__ inline std::uint32_t next_power_of_two(std::uint32_t x) {
  return x <= 1 ? 1 : 1u << (32 - __clz(static_cast<int>(x - 1)));
}

}  // namespace culmen::gpu
