// The first filter of a sweep: the box around some leaves bounds their rows, and those queries of a chunk are listed
// whose k-th score bounds they may reach.
#pragma once

#include "gpu/cuda/warp_reduce.cuh"
#include "gpu/search/sweep_memory.cuh"

namespace culmen::gpu {

// A product of two binary16 numbers is off by 2 * 2^-11 of itself, and the sum of them by less than 2^-14.
inline constexpr float kHalfErrorBound = 0x1.2p-10F;
// Of a sum of binary32 numbers, relative to its terms: twice what the sum and its rounded terms can be off by.
__device__ inline float float_error_bound(int num_terms) {
  return static_cast<float>(num_terms + 8) * 0x1p-23F;
}

// By all threads of a block, with a barrier after each step but the last.
template <typename T>
class SweepBounds {
 public:
  __device__ SweepBounds(const MirrorRef& mirror, const SweepMemory<ValueOf<T>>& memory,
                         std::uint32_t num_attributes, std::uint32_t chunk)
      : mirror_(mirror), memory_(memory), num_attributes_(num_attributes), chunk_(chunk) {}

  // By a warp: the children of a node from `first` on.
  __device__ void take_leaves(NodeRef node, std::uint32_t first, std::uint32_t count) const {
    std::uint32_t num_rows = 0;
    if (lane_ < kLeavesAtOnce) {
      const std::uint32_t leaf = node.children()[first + min(lane_, count - 1)];
      num_rows = lane_ < count
                     ? min(mirror_.leaves[leaf].num_rows, static_cast<std::uint32_t>(mirror_.leaf_rows))
                     : 0;
      sweep_leaves().slots[lane_] = leaf;  // the last again beyond it
      sweep_leaves().num_rows[lane_] = num_rows;
    }
    const std::uint32_t all_rows = cuda::warp_reduce_add(kFullWarp, num_rows);
    if (lane_ != 0) return;
    sweep_leaves().count = count;
    sweep_leaves().all_rows = all_rows;
  }

  // The sides of the box around the leaves.
  __device__ void take_sides() const {
    const std::uint32_t leaf = sweep_leaves().slots[threadIdx.x % kLeavesAtOnce];
    // By whole warps: the lanes of a box exchange the leaves' extremes.
    for (std::uint32_t a = threadIdx.x / kLeavesAtOnce; a < (num_attributes_ + 3) / 4 * 4;
         a += kSweepThreads / kLeavesAtOnce) {
      const std::uint32_t attribute = min(a, num_attributes_ - 1);
      auto minimum = __ldg(mirror_.zone_vector<T>(leaf, Extreme::minimum) + attribute);
      auto maximum = __ldg(mirror_.zone_vector<T>(leaf, Extreme::maximum) + attribute);
      for (int offset = 1; offset < static_cast<int>(kLeavesAtOnce); offset *= 2) {
        minimum = min(minimum, __shfl_xor_sync(kFullWarp, minimum, offset));
        maximum = max(maximum, __shfl_xor_sync(kFullWarp, maximum, offset));
      }
      if (threadIdx.x % kLeavesAtOnce != 0 || a >= num_attributes_) continue;
      memory_.minima[a] = minimum;
      memory_.sides[a] =
          side_of(static_cast<double>(minimum), static_cast<double>(maximum), mirror_.attributes[a]);
    }
  }

  // A thread for each query: may the leaves reach its k-th score bound, and what must the product of a row reach then?
  __device__ void bound_leaves() const {
    const std::uint32_t q = threadIdx.x;
    if (q >= chunk_) return;  // whole warps
    float middle = 0, extent = 0, size = 0;
#pragma unroll 4
    for (std::uint32_t a = 0; a < num_attributes_; ++a) {
      const float weight = memory_.weights[a * chunk_ + q];
      const Side side = memory_.sides[a];
      middle = fmaf(weight, side.middle, middle);
      extent = fmaf(fabsf(weight), side.extent, extent);
      size = fmaf(fabsf(weight), side.farthest, size);
    }
    const float kth_bound = memory_.kth_bounds[q];
    const float least = kth_bound - size * float_error_bound(mirror_.num_attributes) - middle;
    const bool reaches = kth_bound < HUGE_VALF && !(extent * (0.5F + kHalfErrorBound) < least);  // NaN: true
    const unsigned alive = __ballot_sync(kFullWarp, reaches);
    if (lane_ == 0) sweep_leaves().alive[warp_] = alive;
    if (reaches) memory_.bounds[q] = row_bound(least, extent);
  }

  // Lists the queries whose k-th score bounds the leaves may reach, and returns how many they are.
  __device__ std::uint32_t list_queries() const {
    std::uint32_t count = 0, before = 0;
    for (std::uint32_t word = 0; word < chunk_ / kWarpSize; ++word) {
      if (word == warp_) before = count;
      count += static_cast<std::uint32_t>(__popc(sweep_leaves().alive[word]));
    }
    const std::uint32_t q = threadIdx.x;
    if (q == 0) sweep_leaves().num_listed = count;
    if (q >= chunk_ || (sweep_leaves().alive[warp_] >> lane_ & 1) == 0) return count;
    const unsigned smaller = sweep_leaves().alive[warp_] & ((1u << lane_) - 1);
    memory_.listed[before + static_cast<std::uint32_t>(__popc(smaller))] = static_cast<std::uint16_t>(q);
    memory_.work[q] += sweep_leaves().count;
    memory_.rows[q] += sweep_leaves().all_rows;
    return count;
  }

 private:
  __device__ static Side side_of(double low, double high, const AttributeBounds& bounds) {
    const double inverse = 1 / bounds.unit;  // exactly: a power of two
    const auto from = static_cast<float>((low - bounds.origin) * inverse);
    const auto to = static_cast<float>((high - bounds.origin) * inverse);
    const double range = high - low;
    // A range too small or large for binary32 numbers gives no bounds: after infinity all is NaN or infinity.
    const bool is_usual = range == 0 || (range > 0x1p-100 && range < 0x1p100);
    return {from / 2 + to / 2, is_usual ? static_cast<float>(range * inverse) : HUGE_VALF,
            fmaxf(fabsf(from), fabsf(to)), range == 0 ? 0 : static_cast<float>(1 / range)};
  }

  __device__ static RowBound row_bound(float least, float extent) {
    const float factor = 1 / extent, in_extents = least * factor - kHalfErrorBound;
    const bool is_usual = extent > 0x1p-80F && extent < 0x1p80F && fabsf(in_extents) < 0x1p20F;
    return is_usual ? RowBound{in_extents, factor} : RowBound{-1, 0};  // all rows may reach it
  }

  const MirrorRef& mirror_;
  const SweepMemory<ValueOf<T>>& memory_;
  std::uint32_t num_attributes_, chunk_;
  std::uint32_t lane_ = threadIdx.x % kWarpSize, warp_ = threadIdx.x / kWarpSize;
};

}  // namespace culmen::gpu
