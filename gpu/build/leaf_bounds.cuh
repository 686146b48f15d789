// The bounds of one leaf, by a thread block: the extremes of the subset sums of its rows, rounded outwards, with the
// bits of index/leaf_bounds.h.
#pragma once

#include <limits>

#include "gpu/build/bounds.h"
#include "index/leaf_bounds.h"

namespace culmen::gpu::leaf_bounds {

inline constexpr unsigned kThreads = 128;
inline constexpr unsigned kWarpSize = 32;
inline constexpr unsigned kWarps = kThreads / kWarpSize;
inline constexpr unsigned kAllLanes = 0xffffffff;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// As in index/subset_extremes.cc: a subset's sum is that of its first 3 attributes plus that of the others. A lane
// has one set of others, with each of the 8 sets of the first.
inline constexpr int kLow = 3;
inline constexpr int kLowSums = 1 << kLow;
inline constexpr int kMaxSums = 1 << kMaxGroupSize;
static_assert(kMaxSums == kLowSums * kWarpSize);
inline constexpr std::uint32_t kTileRows = 64;

// What the threads of a block share.
struct Shared {
  double tile[kMaxGroupSize][kTileRows];  // unit values of a group; 0 where the group has no attribute
  double maxima[kWarps][kMaxSums];        // of the rows that each warp has seen
  double minima[kWarps][kMaxSums];
  double max_abs[kMaxGroupedAttributes];  // of the unit values
};

__device__ inline double greater(double a, double b) {
  return a < b ? b : a;
}

__device__ inline double lesser(double a, double b) {
  return b < a ? b : a;
}

struct Extremes {
  double maximum, minimum;
};

// A leaf, its unit values and the column of its bounds, [num_rows][kFanOut] floats of its node.
template <typename T>
struct Leaf {
  const T* values;
  const T *maximum, *minimum;
  const BoundUnit* units;
  float* bounds;
  std::uint32_t num_rows, leaf_rows;
  int num_attributes;

  __device__ double unit_value(int attribute, std::uint32_t row) const {
    return to_units(attribute, values[static_cast<std::uint32_t>(attribute) * leaf_rows + row]);
  }
  __device__ double to_units(int attribute, T value) const {
    return units[attribute].to_units(static_cast<double>(value));
  }
  __device__ void write(int row, float bound) const {
    bounds[static_cast<std::size_t>(row) * kFanOut] = bound;
  }
};

// The row of a maximum, and that of the minimum of the same sum.
template <typename T>
__device__ void write_extremes(const Leaf<T>& leaf, const BoundRule& rule, int row, Extremes extremes,
                               double error_bound) {
  if (rule.exact_sums) error_bound = 0;
  leaf.write(row, bound_above(extremes.maximum + error_bound));
  leaf.write(row + rule.layout.first_minimum_row(), bound_below(extremes.minimum - error_bound));
}

// Units keep the order of values, so the extremes are those of the zone map.
template <typename T>
__device__ void write_max_abs(const Leaf<T>& leaf, Shared& shared) {
  for (int a = static_cast<int>(threadIdx.x); a < leaf.num_attributes; a += kThreads)
    shared.max_abs[a] =
        greater(fabs(leaf.to_units(a, leaf.maximum[a])), fabs(leaf.to_units(a, leaf.minimum[a])));
}

template <typename T>
__device__ void fill_tile(const Leaf<T>& leaf, const BoundLayout::Group& group, std::uint32_t first_row,
                          std::uint32_t num_rows, Shared& shared) {
  for (unsigned i = threadIdx.x; i < kMaxGroupSize * kTileRows; i += kThreads) {
    const int a = static_cast<int>(i / kTileRows);
    const std::uint32_t row = i % kTileRows;
    if (row >= num_rows) continue;
    shared.tile[a][row] = a < group.size ? leaf.unit_value(group.first_attribute + a, first_row + row) : 0.0;
  }
}

// Widens the extremes of a lane's sets by one row of the tile, in the order of subset_extremes.
__device__ inline void widen(const Shared& shared, std::uint32_t row, unsigned lane,
                             Extremes (&extremes)[kLowSums]) {
  double low[kLowSums];
  low[0] = 0;
#pragma unroll
  for (int a = 0; a < kLow; ++a) {
    const double value = shared.tile[a][row];
#pragma unroll
    for (int s = 0; s < 1 << a; ++s) low[(1 << a) + s] = low[s] + value;
  }
  double high = 0;
#pragma unroll
  for (int a = kLow; a < kMaxGroupSize; ++a)
    if ((lane >> (a - kLow) & 1) != 0) high = high + shared.tile[a][row];
#pragma unroll
  for (int s = 0; s < kLowSums; ++s) {
    const double sum = low[s] + high;
    extremes[s] = {greater(extremes[s].maximum, sum), lesser(extremes[s].minimum, sum)};
  }
}

// Sets shared.maxima and minima of each warp. A barrier before they are read.
template <typename T>
__device__ void find_extremes(const Leaf<T>& leaf, const BoundLayout::Group& group, Shared& shared) {
  const unsigned lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  Extremes extremes[kLowSums];
  for (Extremes& each : extremes) each = {-kInfinity, kInfinity};
  for (std::uint32_t first = 0; first < leaf.num_rows; first += kTileRows) {
    const std::uint32_t count = min(leaf.num_rows - first, kTileRows);
    __syncthreads();  // the previous tile, and the maxima of the previous group, have been read
    fill_tile(leaf, group, first, count, shared);
    __syncthreads();  // the tile is written
    for (std::uint32_t row = warp; row < count; row += kWarps) widen(shared, row, lane, extremes);
  }
  for (int s = 0; s < kLowSums; ++s) {
    shared.maxima[warp][lane * kLowSums + s] = extremes[s].maximum;
    shared.minima[warp][lane * kLowSums + s] = extremes[s].minimum;
  }
}

// Over all warps.
__device__ inline Extremes joined(const Shared& shared, unsigned mask) {
  Extremes extremes = {shared.maxima[0][mask], shared.minima[0][mask]};
  for (unsigned warp = 1; warp < kWarps; ++warp)
    extremes = {greater(extremes.maximum, shared.maxima[warp][mask]),
                lesser(extremes.minimum, shared.minima[warp][mask])};
  return extremes;
}

template <typename T>
__device__ void write_group(const Leaf<T>& leaf, const BoundRule& rule, const BoundLayout::Group& group,
                            Shared& shared) {
  find_extremes(leaf, group, shared);
  __syncthreads();  // every warp has written its own
  for (unsigned mask = threadIdx.x; mask < 1u << group.size; mask += kThreads) {
    if (mask == 0) continue;
    double sum = 0;  // the last attribute first, as LeafBounds adds them
    for (int a = group.size - 1; a >= 0; --a)
      if ((mask >> a & 1) != 0) sum = sum + shared.max_abs[group.first_attribute + a];
    write_extremes(leaf, rule, group.first_row + static_cast<int>(mask) - 1, joined(shared, mask),
                   sum_error(sum, group.size));
  }
}

template <typename T>
__device__ void write_total(const Leaf<T>& leaf, const BoundRule& rule, Shared& shared) {
  Extremes extremes = {-kInfinity, kInfinity};
  for (std::uint32_t row = threadIdx.x; row < leaf.num_rows; row += kThreads) {
    double total = 0;
    for (int a = 0; a < leaf.num_attributes; ++a) total = total + leaf.unit_value(a, row);
    extremes = {greater(extremes.maximum, total), lesser(extremes.minimum, total)};
  }
  for (unsigned step = kWarpSize / 2; step > 0; step /= 2)
    extremes = {greater(extremes.maximum, __shfl_xor_sync(kAllLanes, extremes.maximum, step)),
                lesser(extremes.minimum, __shfl_xor_sync(kAllLanes, extremes.minimum, step))};
  __syncthreads();  // the extremes of the last group have been read
  if (threadIdx.x % kWarpSize == 0) {
    shared.maxima[threadIdx.x / kWarpSize][0] = extremes.maximum;
    shared.minima[threadIdx.x / kWarpSize][0] = extremes.minimum;
  }
  __syncthreads();  // every warp has written its totals
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (int a = 0; a < leaf.num_attributes; ++a) sum = sum + shared.max_abs[a];
  write_extremes(leaf, rule, rule.layout.total_row(Extreme::maximum), joined(shared, 0),
                 sum_error(sum, leaf.num_attributes));
}

// By a thread block: all bounds of a leaf.
template <typename T>
__device__ void write_leaf_bounds(const Leaf<T>& leaf, const BoundRule& rule, Shared& shared) {
  write_max_abs(leaf, shared);
  __syncthreads();  // max_abs is written
  for (int g = 0; g < rule.layout.num_groups(); ++g) write_group(leaf, rule, rule.layout.group(g), shared);
  if (rule.layout.has_total()) write_total(leaf, rule, shared);
}

}  // namespace culmen::gpu::leaf_bounds
