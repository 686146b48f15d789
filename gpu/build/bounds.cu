#include "gpu/build/bounds.h"

#include <algorithm>

#include "gpu/build/leaf_bounds.cuh"
#include "gpu/cuda/launch.h"

namespace culmen::gpu {
namespace {

using leaf_bounds::kAllLanes;
using leaf_bounds::kThreads;
using leaf_bounds::kWarps;
using leaf_bounds::kWarpSize;

// Nodes whose leaves are bounded together.
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
  __shared__ leaf_bounds::Shared shared;
  const std::uint32_t slot = batch.first_node * kFanOut + blockIdx.x;
  if (slot < leaves.first_leaf || slot >= leaves.first_leaf + leaves.num_leaves) return;
  const LeafHeader& header = leaves.header(slot);
  const NodeAccess<std::byte> node = leaves.node(slot);
  const std::uint32_t child = slot % kFanOut;
  const leaf_bounds::Leaf<T> leaf = {leaves.values<T>(slot),
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
  leaf_bounds::write_leaf_bounds(leaf, rule, shared);
}

__device__ float warp_max(float value) {
  for (unsigned step = kWarpSize / 2; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}

// By a warp, a lane for each child. The same as BoundRow::encode.
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
  BoundScale scale;  // the default if all are infinite
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

// A thread block for each node.
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

// A thread for each node.
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
