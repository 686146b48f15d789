// Selection by one thread block: a lower bound on the k-th largest of many scores, and a sort of few
// candidates.
#pragma once

#include "query/gpu/blocks.cuh"

namespace culmen::gpu {

inline constexpr int kNumBins = 2048;
inline constexpr int kMaxWarps = 32;  // of a thread block

struct SelectScratch {
  int bins[kNumBins];
  double values[2][kMaxWarps];
  int counts[kMaxWarps];
  int chosen_bin;
};

// The same result in all threads. Barriers before and after: `scratch` may be in use until then.
template <typename Combine>
__device__ double block_reduce(double value, Combine&& combine, double* scratch) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = combine(value, __shfl_xor_sync(kFullWarp, value, offset));
  __syncthreads();
  if (threadIdx.x % kWarpSize == 0) scratch[threadIdx.x / kWarpSize] = value;
  __syncthreads();
  value = scratch[0];
  for (unsigned w = 1; w < blockDim.x / kWarpSize; ++w) value = combine(value, scratch[w]);
  return value;
}

// A value of the list that at least k of its values reach, close to the k-th largest; -infinity if fewer than
// k are above -infinity. value_at(i) for i < count is asked three times by the same thread. All threads of
// the block call it and get the same result.
//
// One pass over 2,048 bins between the smallest and the largest value finds the bin of the k-th largest; the
// smallest value in that bin or above is the result. Rounding can move a value to another bin, but never past
// a larger one, so the result is right whatever it does.
template <typename ValueAt>
__device__ double kth_lower_bound(ValueAt&& value_at, std::uint64_t count, std::uint32_t k,
                                  SelectScratch& scratch) {
  double low = infinity(), high = -infinity();
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const double value = value_at(i);
    if (value == -infinity()) continue;
    low = fmin(low, value);
    high = fmax(high, value);
  }
  low = block_reduce(
      low, [](double a, double b) { return fmin(a, b); }, scratch.values[0]);
  high = block_reduce(
      high, [](double a, double b) { return fmax(a, b); }, scratch.values[1]);
  if (!(low <= high)) return -infinity();
  const double scale = (kNumBins - 1) / (high - low);
  const auto bin_of = [&](double value) {
    // high = low makes 0 * infinity: NaN, which converts to 0.
    return min(max(__double2int_rd((value - low) * scale), 0), kNumBins - 1);
  };
  for (int b = static_cast<int>(threadIdx.x); b < kNumBins; b += static_cast<int>(blockDim.x))
    scratch.bins[b] = 0;
  if (threadIdx.x == 0) scratch.chosen_bin = -1;
  __syncthreads();
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x)
    if (const double value = value_at(i); value != -infinity()) atomicAdd(&scratch.bins[bin_of(value)], 1);
  __syncthreads();

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
  __syncthreads();
  for (unsigned w = 0; w < threadIdx.x / kWarpSize; ++w) above += scratch.counts[w];
  above -= mine;  // values in larger bins than this thread's
  const auto wanted = static_cast<int>(k);
  if (above < wanted && above + mine >= wanted) {
    int b = last;
    while ((above += scratch.bins[b]) < wanted) --b;
    scratch.chosen_bin = b;
  }
  __syncthreads();
  const int chosen = scratch.chosen_bin;
  if (chosen < 0) return -infinity();
  double lowest = infinity();
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x)
    if (const double value = value_at(i); value != -infinity() && bin_of(value) >= chosen)
      lowest = fmin(lowest, value);
  return block_reduce(
      lowest, [](double a, double b) { return fmin(a, b); }, scratch.values[0]);
}

__device__ inline bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

// Ranks behind every row.
__device__ inline Candidate no_candidate() {
  return {-infinity(), kNoId, 0};
}

// Bitonic sort (Batcher 1968), best first, of `count` = a power of two items by the `num_threads` threads
// that sync() joins.
template <typename Sync>
__device__ void sort_candidates(Candidate* items, std::uint32_t count, std::uint32_t thread,
                                std::uint32_t num_threads, Sync&& sync) {
  for (std::uint32_t size = 2; size <= count; size *= 2)
    for (std::uint32_t stride = size / 2; stride > 0; stride /= 2) {
      sync();  // the step before
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
