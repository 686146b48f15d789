#include "gpu/build/bounds.h"

#include <algorithm>

#include "gpu/cuda/launch.h"
#include "index/leaf_bounds.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 128;
constexpr unsigned kWarpSize = 32;
constexpr unsigned kWarps = kThreads / kWarpSize;
constexpr unsigned kAllLanes = 0xffffffff;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// As in index/subset_extremes.cc: a subset's sum is that of its first 3 attributes plus that of the others. A
// lane has one set of others, with each of the 8 sets of the first.
constexpr int kLow = 3;
constexpr int kLowSums = 1 << kLow;
constexpr int kMaxSums = 1 << kMaxGroupSize;
static_assert(kMaxSums == kLowSums * kWarpSize);
constexpr std::uint32_t kTileRows = 64;

// What the threads of a block share.
struct Shared {
  double tile[kMaxGroupSize][kTileRows];  // unit values of a group; 0 where the group has no attribute
  double maxima[kWarps][kMaxSums];        // of the rows that each warp has seen
  double minima[kWarps][kMaxSums];
  double max_abs[kMaxAttributes];  // of the unit values
};

__device__ double greater(double a, double b) {
  return a < b ? b : a;
}

__device__ double lesser(double a, double b) {
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

// Changing units keeps the order of values, so the extremes are those of the zone_map.
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
__device__ void widen(const Shared& shared, std::uint32_t row, unsigned lane,
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

// shared.maxima and minima of all warps; the block has to wait for each other before they are read.
template <typename T>
__device__ void find_extremes(const Leaf<T>& leaf, const BoundLayout::Group& group, Shared& shared) {
  const unsigned lane = threadIdx.x % kWarpSize, warp = threadIdx.x / kWarpSize;
  Extremes extremes[kLowSums];
  for (Extremes& each : extremes) each = {-kInfinity, kInfinity};
  for (std::uint32_t first = 0; first < leaf.num_rows; first += kTileRows) {
    const std::uint32_t count = min(leaf.num_rows - first, kTileRows);
    __syncthreads();  // before the tile, and the maxima of the group before, are overwritten
    fill_tile(leaf, group, first, count, shared);
    __syncthreads();  // the tile is read by all
    for (std::uint32_t row = warp; row < count; row += kWarps) widen(shared, row, lane, extremes);
  }
  for (int s = 0; s < kLowSums; ++s) {
    shared.maxima[warp][lane * kLowSums + s] = extremes[s].maximum;
    shared.minima[warp][lane * kLowSums + s] = extremes[s].minimum;
  }
}

// Of all warps.
__device__ Extremes joined(const Shared& shared, unsigned mask) {
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
  __syncthreads();  // those of every warp are there
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
  __syncthreads();  // the totals of all warps are there
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (int a = 0; a < leaf.num_attributes; ++a) sum = sum + shared.max_abs[a];
  write_extremes(leaf, rule, rule.layout.total_row(Extreme::maximum), joined(shared, 0),
                 sum_error(sum, leaf.num_attributes));
}

// Leaves that are bounded together: those of the nodes from first_node on, as far as they are among `leaves`.
struct Batch {
  std::uint32_t first_node, num_nodes;
  float* bounds;  // [num_nodes][num_rows][kFanOut]

  __device__ float* bounds_of(std::uint32_t node, const BoundLayout& layout) const {
    return bounds + std::size_t{node - first_node} * static_cast<std::size_t>(layout.num_rows()) * kFanOut;
  }
};

// A thread block per leaf. Thread blocks of neighbouring leaves write to the same lines, which the L2 cache joins.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    write_bounds(const __grid_constant__ LeafTarget leaves, const __grid_constant__ BoundRule rule,
                 const Batch batch) {
  __shared__ Shared shared;
  const std::uint32_t slot = batch.first_node * kFanOut + blockIdx.x;
  if (slot < leaves.first_leaf || slot >= leaves.first_leaf + leaves.num_leaves) return;
  const LeafHeader& header = leaves.header(slot);
  const NodeAccess<std::byte> node = leaves.node(slot);
  const std::uint32_t child = slot % kFanOut;
  const Leaf<T> leaf = {leaves.values<T>(slot),
                        leaves.zone_vector<T>(slot, Extreme::maximum),
                        leaves.zone_vector<T>(slot, Extreme::minimum),
                        rule.units,
                        batch.bounds_of(slot / kFanOut, rule.layout) + child,
                        header.num_rows,
                        leaves.leaf_rows,
                        static_cast<int>(leaves.num_attributes)};
  if (threadIdx.x == 0) {
    node.children()[child] = slot;
    node.min_ids()[child] = header.min_id;
  }
  write_max_abs(leaf, shared);
  __syncthreads();  // max_abs is read by all
  for (int g = 0; g < rule.layout.num_groups(); ++g) write_group(leaf, rule, rule.layout.group(g), shared);
  if (rule.layout.has_total()) write_total(leaf, rule, shared);
}

__device__ float warp_max(float value) {
  for (unsigned step = kWarpSize / 2; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// By a warp, a lane a child, as BoundRow::encode does it.
__device__ void encode_row(const float* bounds, std::uint32_t num_children, Extreme extreme, BoundRow& row) {
  const unsigned lane = threadIdx.x % kWarpSize;
  const bool is_child = lane < num_children;
  const float bound = is_child ? bounds[lane] : 0;
  const float out = extreme == Extreme::maximum ? bound : -bound;
  const auto highest_where = [out](bool is_counted) { return warp_max(is_counted ? out : -HUGE_VALF); };
  const auto count = [](bool is_counted) { return __popc(__ballot_sync(kAllLanes, is_counted)); };
  const double lowest = -warp_max(is_child ? -out : -HUGE_VALF);
  const double finite = highest_where(is_child && out < HUGE_VALF), top = highest_where(is_child);
  const auto scale_up_to = [&](double limit) {
    const bool is_usual = is_child && out <= limit;
    const double highest = highest_where(is_usual);
    const double far = BoundScale::between(lowest, highest, BoundScale::kFarPart);
    const int num_far = count(is_child && out < far);
    return BoundScale::choose(highest, lowest, 2 * num_far > count(is_usual));
  };
  BoundScale scale;  // stays if all are infinite
  if (finite > -HUGE_VAL) scale = scale_up_to(finite);
  const double limit = BoundScale::between(lowest, finite, BoundScale::kUsualPart);
  const double alike = BoundScale::between(lowest, finite, BoundScale::kOutlierPart);
  const int num_outliers = count(is_child && out > limit), in_row = static_cast<int>(num_children);
  if (finite > lowest && BoundScale::may_be_outliers(num_outliers, in_row) &&
      num_outliers == count(is_child && out >= alike) && count(is_child && scale.is_exact(out)) < in_row)
    scale = scale_up_to(limit);
  if (top > scale.base) scale.gap = BoundScale::gap_to(top, scale.base);
  if (lane == 0) row.set_scale(scale, extreme);
  row.codes[lane] = is_child ? scale.code_of(out) : 0;
}

// A thread block a node.
__global__ void __launch_bounds__(kThreads)
    encode_bounds(const __grid_constant__ LeafTarget leaves, const __grid_constant__ BoundRule rule,
                  const Batch batch) {
  const std::uint32_t n = batch.first_node + blockIdx.x;
  const std::uint32_t end = leaves.first_leaf + leaves.num_leaves;
  const std::uint32_t num_children = min(end - n * kFanOut, static_cast<std::uint32_t>(kFanOut));
  const NodeAccess<std::byte> node = leaves.node(n * kFanOut);
  const float* bounds = batch.bounds_of(n, rule.layout);
  for (int row = static_cast<int>(threadIdx.x / kWarpSize); row < rule.layout.num_rows(); row += kWarps)
    encode_row(bounds + row * kFanOut, num_children, rule.layout.extreme_of(row), node.bounds()[row]);
}

// A thread a node.
__global__ void __launch_bounds__(kThreads) write_node_headers(const LeafTarget leaves) {
  const std::uint32_t first_node = leaves.first_leaf / kFanOut;
  const std::uint32_t n = first_node + blockIdx.x * kThreads + threadIdx.x;
  const std::uint32_t end = leaves.first_leaf + leaves.num_leaves;
  const std::uint64_t first_child = std::uint64_t{n} * kFanOut;
  if (first_child >= end) return;
  const NodeAccess<std::byte> node = {leaves.slots.nodes + (n - first_node) * leaves.node_bytes};
  NodeHeader& header = node.header();
  header.level = 1;
  header.num_children = static_cast<std::uint32_t>(min(end - first_child, std::uint64_t{kFanOut}));
  std::int64_t min_id = kNoId;
  for (std::uint32_t c = 0; c < header.num_children; ++c) {
    const std::int64_t id = node.min_ids()[c];
    min_id = id < min_id ? id : min_id;
  }
  header.min_id = min_id;
}

}  // namespace

DeviceBounds::DeviceBounds(const BoundRule& rule)
    : rule_(rule), floats_of_node_(static_cast<std::size_t>(rule.layout.num_rows()) * kFanOut) {}

template <typename T>
void DeviceBounds::launch(const LeafTarget& leaves, cudaStream_t stream) {
  if (leaves.num_leaves == 0) return;
  const std::uint32_t end_leaf = leaves.first_leaf + leaves.num_leaves;
  const std::uint32_t first_node = leaves.first_leaf / kFanOut, end_node = (end_leaf - 1) / kFanOut + 1;
  const auto at_once = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(kBytes / (floats_of_node_ * sizeof(float)), 1, end_node - first_node));
  cuda::grow(bounds_, at_once * floats_of_node_, cuda::Memory::device);
  const auto copy_node = [&](float* to, const float* from) {
    cuda::check(cudaMemcpyAsync(to, from, floats_of_node_ * sizeof(float), cudaMemcpyDeviceToDevice, stream));
  };
  if (leaves.first_leaf % kFanOut != 0) copy_node(bounds_.data(), unfinished_.data());
  std::uint32_t count = 0;
  for (std::uint32_t node = first_node; node < end_node; node += count) {
    count = std::min(at_once, end_node - node);
    const Batch batch = {node, count, bounds_.data()};
    cuda::launch(write_bounds<T>, {.num_blocks = count * kFanOut, .num_threads = kThreads}, stream, leaves,
                 rule_, batch);
    cuda::launch(encode_bounds, {.num_blocks = count, .num_threads = kThreads}, stream, leaves, rule_, batch);
  }
  if (end_leaf % kFanOut == 0) return;
  cuda::grow(unfinished_, floats_of_node_, cuda::Memory::device);
  copy_node(unfinished_.data(), bounds_.data() + (count - 1) * floats_of_node_);
}

void launch_node_headers(const LeafTarget& leaves, cudaStream_t stream) {
  if (leaves.num_leaves == 0) return;
  const std::uint32_t end = leaves.first_leaf + leaves.num_leaves;
  const std::uint32_t num_nodes = (end - 1) / kFanOut + 1 - leaves.first_leaf / kFanOut;
  cuda::launch(write_node_headers,
               {.num_blocks = (num_nodes + kThreads - 1) / kThreads, .num_threads = kThreads}, stream,
               leaves);
}

template void DeviceBounds::launch<float>(const LeafTarget&, cudaStream_t);
template void DeviceBounds::launch<double>(const LeafTarget&, cudaStream_t);

}  // namespace culmen::gpu
