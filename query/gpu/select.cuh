// Selection by one thread block: the k-th largest of many 32-bit keys, and a sort of few candidates.
#pragma once

#include "query/gpu/blocks.cuh"

namespace culmen::gpu {

// Scores as 32-bit keys. A larger key means a larger score; scores that agree in 24 bits may have the same
// key.
class KeyScale {
 public:
  static constexpr std::uint32_t kNone = 0;  // below the key of every score

  __device__ explicit KeyScale(QueryRef query)
      : base_(query.header().base), scale_(query.header().key_scale), unit_(query.header().key_unit) {}

  // Every step rounds down: what reaches a key reaches score_of() that key.
  __device__ std::uint32_t key(double score) const {
    const std::uint32_t bits = __float_as_uint(__double2float_rd(__dmul_rd(__dsub_rd(score, base_), scale_)));
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }

  // Not above any score that has this key or a larger one.
  __device__ double score_of(std::uint32_t key) const {
    const float value = __uint_as_float((key & kSign) != 0 ? key ^ kSign : ~key);
    if (!(value >= -3.0e38f)) return -infinity();  // kNone, or a score beyond the scale
    return __dadd_rd(base_, __dmul_rd(static_cast<double>(value), unit_));
  }

 private:
  static constexpr std::uint32_t kSign = 0x80000000;
  double base_, scale_, unit_;
};

// The lowest lane with the warp's largest key, which replaces `key`.
__device__ inline int warp_argmax(std::uint32_t& key) {
  const std::uint32_t mine = key;
  key = __reduce_max_sync(kFullWarp, key);
  return __ffs(static_cast<int>(__ballot_sync(kFullWarp, mine == key))) - 1;
}

inline constexpr int kBinBits = 11;
inline constexpr int kNumBins = 1 << kBinBits;
inline constexpr int kMaxWarps = 32;  // of a thread block

struct SelectScratch {
  int bins[kNumBins];
  std::uint32_t lows[kMaxWarps], highs[kMaxWarps];
  int counts[kMaxWarps];
  int chosen_bin, above, inside;
};

// Makes `low` the smallest and `high` the largest of all threads' own.
__device__ inline void block_range(std::uint32_t& low, std::uint32_t& high, SelectScratch& scratch) {
  low = __reduce_min_sync(kFullWarp, low);
  high = __reduce_max_sync(kFullWarp, high);
  const unsigned lane = threadIdx.x % kWarpSize, num_warps = blockDim.x / kWarpSize;
  if (lane == 0) {
    scratch.lows[threadIdx.x / kWarpSize] = low;
    scratch.highs[threadIdx.x / kWarpSize] = high;
  }
  __syncthreads();
  low = __reduce_min_sync(kFullWarp, scratch.lows[lane % num_warps]);
  high = __reduce_max_sync(kFullWarp, scratch.highs[lane % num_warps]);
}

// Finds the bin of the `wanted`-th largest key: chosen_bin, -1 if there are fewer keys; how many keys are in
// larger bins: above; and how many in it: inside.
__device__ inline void choose_bin(int wanted, SelectScratch& scratch) {
  // Thread t owns bins from the top: the largest first.
  const int bins_per_thread = kNumBins / static_cast<int>(blockDim.x);
  const int last = kNumBins - 1 - static_cast<int>(threadIdx.x) * bins_per_thread;
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const int warp = static_cast<int>(threadIdx.x) / kWarpSize;
  int mine = 0;
  for (int b = 0; b < bins_per_thread; ++b) mine += scratch.bins[last - b];
  int above = mine;  // inclusive prefix sum over the threads of the warp
  for (int offset = 1; offset < kWarpSize; offset *= 2) {
    const int other = __shfl_up_sync(kFullWarp, above, static_cast<unsigned>(offset));
    if (lane >= offset) above += other;
  }
  if (lane == kWarpSize - 1) scratch.counts[warp] = above;
  if (threadIdx.x == 0) scratch.chosen_bin = -1;
  __syncthreads();
  above += __reduce_add_sync(kFullWarp, lane < warp ? scratch.counts[lane] : 0);
  above -= mine;  // keys in larger bins than this thread's
  if (above < wanted && above + mine >= wanted) {
    int b = last;
    for (; above + scratch.bins[b] < wanted; --b) above += scratch.bins[b];
    scratch.chosen_bin = b;
    scratch.above = above;
    scratch.inside = scratch.bins[b];
  }
  __syncthreads();
}

// A key that at least k of the `count` keys reach, and few more than k; kNone if fewer than k keys are above
// kNone. All threads of the block call it, behind a barrier, and get the same. key_at(i) for i < count is
// asked a few times.
//
// A round counts the keys of a range in 2,048 bins and goes on within the bin of the k-th largest.
template <typename KeyAt>
__device__ std::uint32_t kth_key(KeyAt&& key_at, std::uint64_t count, std::uint32_t k,
                                 SelectScratch& scratch) {
  constexpr int kFewEnough = 4;
  std::uint32_t low = 0xffffffff, high = KeyScale::kNone;
  for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x) {
    const std::uint32_t key = key_at(i);
    if (key != KeyScale::kNone) low = min(low, key);
    high = max(high, key);
  }
  block_range(low, high, scratch);
  if (low > high) return KeyScale::kNone;
  auto wanted = static_cast<int>(k);
  int shift = max(0, 32 - __clz(static_cast<int>(high - low)) - kBinBits);
  for (;;) {
    for (auto b = static_cast<int>(threadIdx.x); b < kNumBins; b += static_cast<int>(blockDim.x))
      scratch.bins[b] = 0;
    __syncthreads();
    for (std::uint64_t i = threadIdx.x; i < count; i += blockDim.x)
      if (const std::uint32_t key = key_at(i); key >= low && key <= high)
        atomicAdd(&scratch.bins[(key - low) >> shift], 1);
    __syncthreads();
    choose_bin(wanted, scratch);
    if (scratch.chosen_bin < 0) return KeyScale::kNone;
    low += static_cast<std::uint32_t>(scratch.chosen_bin) << shift;
    if (shift == 0 || scratch.inside <= kFewEnough) return low;
    high = min(high, low + ((1u << shift) - 1));
    wanted -= scratch.above;
    shift = max(0, shift - kBinBits);
    __syncthreads();  // all have read the scratch
  }
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
