// Scores, and rows, as numbers that can be counted into bins.
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

// The lanes with the warp's largest key, which replaces `key`.
__device__ inline unsigned warp_argmax(std::uint32_t& key) {
  const std::uint32_t mine = key;
  key = __reduce_max_sync(kFullWarp, key);
  return __ballot_sync(kFullWarp, mine == key);
}

// A row's score and id as exact numbers: the larger, the better it ranks.
inline constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;
__device__ inline std::uint64_t rank_bits(double score) {
  const auto bits = static_cast<std::uint64_t>(__double_as_longlong(score));
  return (bits & kSign64) != 0 ? ~bits : bits | kSign64;
}
__device__ inline std::uint64_t rank_bits(std::int64_t id) {
  return ~(static_cast<std::uint64_t>(id) ^ kSign64);
}
__device__ inline Floor floor_of_bits(std::uint64_t score_bits, std::uint64_t id_bits) {
  const std::uint64_t score = (score_bits & kSign64) != 0 ? score_bits ^ kSign64 : ~score_bits;
  return {__longlong_as_double(static_cast<long long>(score)), static_cast<std::int64_t>(~id_bits ^ kSign64)};
}

// Of two floors the one that lets fewer rows pass.
__device__ inline Floor higher(Floor a, Floor b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id) ? a : b;
}

}  // namespace culmen::gpu
