// select_kth_bound: the k-th score bound that the k-th best of many rows gives, by one thread block.
//
// It selects the k-th largest of their 32-bit keys, in rounds over 2,048 bins. Where many rows share that key it goes
// on with their exact scores, and where many share these, with their ids.
#pragma once

#include "gpu/search/score_keys.cuh"

namespace culmen::gpu {

inline constexpr int kBinBits = 11;
inline constexpr int kNumBins = 1 << kBinBits;
inline constexpr int kMaxWarps = 32;  // of a thread block

struct SelectScratch {
  int bins[kNumBins];
  std::uint64_t lows[kMaxWarps], highs[kMaxWarps];
  int counts[kMaxWarps];
  int chosen_bin, above, inside;
};

__device__ inline std::uint32_t warp_lowest(std::uint32_t value) {
  return cuda::warp_reduce_min(value);
}
__device__ inline std::uint32_t warp_highest(std::uint32_t value) {
  return cuda::warp_reduce_max(value);
}
__device__ inline std::uint64_t warp_lowest(std::uint64_t value) {
  return warp_min(value);
}
__device__ inline std::uint64_t warp_highest(std::uint64_t value) {
  return ~warp_lowest(~value);
}

// Makes `low` the smallest, and `high` the largest, of all threads.
template <typename Bits>
__device__ void block_range(Bits& low, Bits& high, SelectScratch& scratch) {
  low = warp_lowest(low);
  high = warp_highest(high);
  const unsigned lane = threadIdx.x % kWarpSize, num_warps = blockDim.x / kWarpSize;
  if (lane == 0) {
    scratch.lows[threadIdx.x / kWarpSize] = low;
    scratch.highs[threadIdx.x / kWarpSize] = high;
  }
  __syncthreads();
  low = warp_lowest(static_cast<Bits>(scratch.lows[lane % num_warps]));
  high = warp_highest(static_cast<Bits>(scratch.highs[lane % num_warps]));
}

// Sets chosen_bin, the bin of the `wanted`-th largest key (-1 if there are fewer), `above`, the number of keys in
// larger bins, and `inside`, the number of keys in it.
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
  const int of_warps_before = lane < warp ? scratch.counts[lane] : 0;
  above += static_cast<int>(cuda::warp_reduce_add(kFullWarp, static_cast<std::uint32_t>(of_warps_before)));
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

// Adds the calling lanes' counts to their bins. Lanes with the first lane's bin, which is all of them where rows tie,
// are added up first: atomics on one address are serialised.
__device__ inline void count_in_bin(int* bins, std::uint32_t bin, std::uint32_t count) {
  const unsigned active = __activemask();
  const std::uint32_t first = __shfl_sync(active, bin, __ffs(static_cast<int>(active)) - 1);
  const unsigned same = __ballot_sync(active, bin == first);
  const unsigned lane = threadIdx.x % kWarpSize;
  if (bin != first) {
    atomicAdd(&bins[bin], static_cast<int>(count));
    return;
  }
  const std::uint32_t sum = cuda::warp_reduce_add(same, count);
  if ((same & ((1u << lane) - 1)) == 0) atomicAdd(&bins[bin], static_cast<int>(sum));
}

// Keys in shared memory.
struct Keys {
  std::uint32_t* keys;
  const std::uint32_t* counts;  // rows that each stands for; null: one
  std::uint32_t size;

  __device__ std::uint32_t count(std::uint32_t i) const { return counts == nullptr ? 1 : counts[i]; }
};

// Rows that pass a k-th score bound beyond the k, at most.
inline constexpr int kMaxTies = 32;

// The k-th largest of some keys.
struct Kth {
  std::uint32_t key;  // at least k keys reach it, and few more than k; kNone if there are fewer than k
  int wanted;         // how many of the keys that share its last bin are among the k
  int inside;         // how many share it

  // More than kMaxTies rows beyond the k would pass.
  __device__ bool has_many_ties() const { return inside - wanted > kMaxTies; }
};

// By all threads of a block, after a barrier: the k-th largest of the keys above kNone. All threads get the same.
__device__ inline Kth kth_key(const Keys& all, int k, SelectScratch& scratch) {
  constexpr int kFewEnough = 4;
  const std::uint32_t *keys = all.keys, count = all.size;
  std::uint32_t low = 0xffffffff, high = KeyScale::kNone;
  for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x) {
    if (keys[i] != KeyScale::kNone) low = min(low, keys[i]);
    high = max(high, keys[i]);
  }
  block_range(low, high, scratch);
  if (low > high) return {KeyScale::kNone, 0, 0};
  int wanted = k;
  int shift = max(0, 32 - __clz(static_cast<int>(high - low)) - kBinBits);
  for (;;) {  // at most 3 rounds: a key has 32 bits, and each round settles kBinBits
    for (auto b = static_cast<int>(threadIdx.x); b < kNumBins; b += static_cast<int>(blockDim.x))
      scratch.bins[b] = 0;
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; i < count; i += blockDim.x)
      if (keys[i] >= low && keys[i] <= high)
        count_in_bin(scratch.bins, (keys[i] - low) >> shift, all.count(i));
    __syncthreads();
    choose_bin(wanted, scratch);
    if (scratch.chosen_bin < 0) return {KeyScale::kNone, 0, 0};
    low += static_cast<std::uint32_t>(scratch.chosen_bin) << shift;
    wanted -= scratch.above;
    const Kth found = {low, wanted, scratch.inside};
    if (shift == 0 || found.inside <= kFewEnough) return found;
    high = min(high, low + ((1u << shift) - 1));
    shift = max(0, shift - kBinBits);
    __syncthreads();  // all have read the scratch
  }
}

// Calls use(i, bits_at(i)) for the rows whose key is `key`. bits_at may read device memory: several loads are in
// flight.
template <typename BitsAt, typename Use>
__device__ void for_each_tie(const Keys& all, std::uint32_t key, BitsAt&& bits_at, Use&& use) {
  constexpr int kAtOnce = 4;
  for (std::uint32_t first = threadIdx.x; first < all.size; first += kAtOnce * blockDim.x) {
    std::uint64_t bits[kAtOnce];
    bool tied[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j) {
      const std::uint32_t i = first + j * blockDim.x;
      tied[j] = i < all.size && all.keys[i] == key;
      bits[j] = bits_at(tied[j] ? i : 0);
    }
#pragma unroll
    for (int j = 0; j < kAtOnce; ++j)
      if (tied[j]) use(first + j * blockDim.x, bits[j]);
  }
}

// The kth.wanted-th largest bits_at(i), rounded down, among the rows with the key kth.key. `kth` and the keys become
// those of the rows that share the result. At most 3 rounds: each settles kKeyBits of the 64 bits.
template <typename BitsAt>
__device__ std::uint64_t kth_bits_of_ties(const Keys& all, Kth& kth, BitsAt&& bits_at,
                                          SelectScratch& scratch) {
  constexpr int kKeyBits = 31;  // and 1 is added, for kNone
  for (;;) {
    __syncthreads();  // all have read the scratch
    std::uint64_t low = ~std::uint64_t{0}, high = 0;
    for_each_tie(all, kth.key, bits_at, [&](std::uint32_t, std::uint64_t bits) {
      low = min(low, bits);
      high = max(high, bits);
    });
    block_range(low, high, scratch);
    if (low == high) return low;
    const int shift = max(0, 64 - kKeyBits - __clzll(static_cast<long long>(high - low)));
    const auto key_of = [&](std::uint64_t bits) {
      return static_cast<std::uint32_t>((bits - low) >> shift) + 1;
    };
    for (std::uint32_t i = threadIdx.x; i < all.size; i += blockDim.x)
      if (all.keys[i] != kth.key) all.keys[i] = KeyScale::kNone;
    for_each_tie(all, kth.key, bits_at,
                 [&](std::uint32_t i, std::uint64_t bits) { all.keys[i] = key_of(bits); });
    __syncthreads();
    kth = kth_key(all, kth.wanted, scratch);
    if (shift == 0 || !kth.has_many_ties()) return low + (static_cast<std::uint64_t>(kth.key - 1) << shift);
  }
}

// By all threads of a block, after a barrier: `kth_bound`, or a higher one that at least k of the rows pass, and at
// most kMaxTies more, unless rows share both score and id (or stand for several). All threads get the same. The keys
// are in shared memory and are overwritten; score_at(i) and id_at(i) are called only where many rows tie.
template <typename ScoreAt, typename IdAt>
__device__ KthBound select_kth_bound(KthBound kth_bound, const Keys& all, std::uint32_t k,
                                     const KeyScale& scale, ScoreAt&& score_at, IdAt&& id_at,
                                     SelectScratch& scratch) {
  Kth kth = kth_key(all, static_cast<int>(k), scratch);
  if (kth.key == KeyScale::kNone) return kth_bound;
  if (!kth.has_many_ties()) return higher({scale.score_of(kth.key), kNoId}, kth_bound);
  const std::uint64_t score = kth_bits_of_ties(
      all, kth, [&](std::uint32_t i) { return rank_bits(score_at(i)); }, scratch);
  std::uint64_t id = 0;
  if (kth.has_many_ties())
    id = kth_bits_of_ties(
        all, kth, [&](std::uint32_t i) { return rank_bits(id_at(i)); }, scratch);
  return higher(kth_bound_of_bits(score, id), kth_bound);
}

}  // namespace culmen::gpu
