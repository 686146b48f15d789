// Scores, and rows, as integers, for selection.
#pragma once

#include "gpu/cuda/warp_reduce.cuh"
#include "gpu/search/packed_query.h"
#include "gpu/search/search_state.h"
#include "gpu/search/warp.cuh"

namespace culmen::gpu {

// Scores as 32-bit keys. A larger key means a larger score; scores that agree in 24 bits may have the same key. A
// score reaches score_of(key) if and only if its own key reaches `key`, so exactly the rows that were counted pass
// such a k-th score bound. That holds also if score - base is not exact: each step to a key rounds down and its
// inverse rounds up, and for a monotone f rounded down and its inverse g rounded up, g(y) <= x if and only if y <=
// f(x).
class KeyScale {
 public:
  static constexpr std::uint32_t kNone = 0;  // below the key of every score

  __device__ explicit KeyScale(QueryRef query)
      : base_(query.header().base), scale_(query.header().key_scale), unit_(query.header().key_unit) {}

  // Every step rounds down. Adding 0 makes -0 a 0.
  __device__ std::uint32_t key(double score) const {
    const float value = __double2float_rd(__dmul_rd(__dsub_rd(score, base_), scale_)) + 0.0f;
    const std::uint32_t bits = __float_as_uint(value);
    return (bits & kSign) != 0 ? ~bits : bits | kSign;
  }

  // The smallest score that has this key or a larger one; every step rounds up. -infinity if all scores have: for
  // kNone, or if the base is not finite, when all keys are the same.
  __device__ double score_of(std::uint32_t key) const {
    const float value = __uint_as_float((key & kSign) != 0 ? key ^ kSign : ~key);
    const double score = __dadd_ru(base_, __dmul_ru(static_cast<double>(value), unit_));
    return isnan(score) ? -infinity() : score;
  }

 private:
  static constexpr std::uint32_t kSign = 0x80000000;
  double base_, scale_, unit_;
};

// The lanes that have the warp's largest key; `key` becomes that key.
__device__ inline unsigned warp_argmax(std::uint32_t& key) {
  const std::uint32_t mine = key;
  key = cuda::warp_reduce_max(key);
  return __ballot_sync(kFullWarp, mine == key);
}

// By a warp, of `count` keys key_at(i): how many reach `key`, and the largest key that k of them reach.
template <typename KeyAt>
__device__ std::uint32_t count_from(std::uint32_t key, std::uint32_t count, KeyAt&& key_at,
                                    std::uint32_t lane) {
  std::uint32_t reaching = 0;
  for (std::uint32_t i = lane; i < count; i += kWarpSize) reaching += key_at(i) >= key ? 1 : 0;
  return cuda::warp_reduce_add(kFullWarp, reaching);
}
template <typename KeyAt>
__device__ std::uint32_t kth_key(std::uint32_t k, std::uint32_t count, KeyAt&& key_at, std::uint32_t lane) {
  std::uint32_t low = 0xffffffff, high = 0;
  for (std::uint32_t i = lane; i < count; i += kWarpSize) {
    low = min(low, key_at(i));
    high = max(high, key_at(i));
  }
  low = cuda::warp_reduce_min(low);
  high = cuda::warp_reduce_max(high);
  while (low < high) {  // at most 32 times: halves the range
    const std::uint32_t middle = high - (high - low) / 2;
    const std::uint32_t reaching = count_from(middle, count, key_at, lane);
    if (reaching == k) return middle;
    if (reaching > k) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// A score and an id as integers, exactly: the larger, the better the rank.
inline constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;
__device__ inline std::uint64_t rank_bits(double score) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(score));
  return (bits & kSign64) != 0 ? ~bits : bits | kSign64;
}
__device__ inline std::uint64_t rank_bits(std::int64_t id) {
  return ~(static_cast<std::uint64_t>(id) ^ kSign64);
}
__device__ inline KthBound kth_bound_of_bits(std::uint64_t score_bits, std::uint64_t id_bits) {
  const std::uint64_t score = (score_bits & kSign64) != 0 ? score_bits ^ kSign64 : ~score_bits;
  return {__longlong_as_double(static_cast<long long>(score)), static_cast<std::int64_t>(~id_bits ^ kSign64)};
}

// The k-th score bound that fewer rows pass.
__device__ inline KthBound higher(KthBound a, KthBound b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id) ? a : b;
}

}  // namespace culmen::gpu
