#include "gpu/search/bound_leaves.h"

#include <algorithm>

#include "gpu/cuda/launch.h"
#include "gpu/cuda/warp_reduce.cuh"
#include "gpu/search/warp.cuh"
#include "index/node_layout.h"
#include "index/score.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kWarps = 8, kThreads = kWarps * kWarpSize, kBlocksOfMultiprocessor = 8;

__device__ double warp_sum(double value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(kFullWarp, value, offset);
  return value;
}
__device__ double warp_max(double value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = fmax(value, __shfl_xor_sync(kFullWarp, value, offset));
  return value;
}

// The zone maps of one leaf.
template <typename T>
struct LeafZones {
  const T* zones;
  std::uint32_t num_attributes;

  __device__ double operator()(Extreme which, std::uint32_t attribute) const {
    return static_cast<double>(__ldg(zones + static_cast<std::uint32_t>(which) * num_attributes + attribute));
  }
};

// By a warp: whether the leaf is outside of a range.
template <typename T>
__device__ bool is_outside(const CodeQuestion& question, const LeafZones<T>& zone, int lane) {
  bool is_outside = false;
  for (int r = lane; r < question.num_ranges; r += kWarpSize) {
    const RangePredicate& range = question.ranges[r];
    const auto attribute = static_cast<std::uint32_t>(range.attribute);
    is_outside |= zone(Extreme::maximum, attribute) < range.minimum ||
                  zone(Extreme::minimum, attribute) > range.maximum;
  }
  return __any_sync(kFullWarp, is_outside) != 0;
}

// By a lane, as the host's of the same name: no row scores more, and for equal rows it is their score.
template <typename T>
__device__ double zone_score(const CodeQuestion& question, const LeafZones<T>& zone) {
  double score = question.offset;
  for (int t = 0; t < question.num_terms; ++t) {
    const Term term = {question.attributes[t], question.weights[t]};
    const double best = zone(term.weight > 0 ? Extreme::maximum : Extreme::minimum, question.attributes[t]);
    score = score_step(score, term.weight, within_ranges(question.ranges, question.num_ranges, term, best));
  }
  return score_finish(score);
}

// By a warp: the highest code sum of the leaf's rows. weights: of the terms, in sums.
__device__ std::uint32_t highest_sum(const CodeTableRef& table, const CodeQuestion& question,
                                     std::uint32_t leaf, const std::uint32_t* weights, int lane) {
  const std::uint32_t num_words = table.num_words / 2;  // of 32 bits
  const auto* codes = reinterpret_cast<const std::uint32_t*>(table.codes) +
                      std::size_t{leaf} * table.num_attributes * num_words;
  std::uint32_t highest = 0;
  for (auto w = static_cast<std::uint32_t>(lane); w < num_words; w += kWarpSize) {
    CodeSums<std::uint32_t> sums;
    for (int t = 0; t < question.num_terms; ++t)
      sums.add(__ldg(codes + question.attributes[t] * num_words + w), question.weights[t] < 0, weights[t]);
    highest = max(highest, sums.highest());
  }
  return cuda::warp_reduce_max(highest);
}

// By a warp. weights: [kMaxCodeTerms], for what it needs between.
template <typename T>
__device__ double bound_of_leaf(const CodeTableRef& table, const CodeQuestion& question,
                                const LeafZones<T>& zone, std::uint32_t leaf, std::uint32_t* weights,
                                int lane) {
  CodeParts parts;
  for (int t = lane; t < question.num_terms; t += kWarpSize) {
    const std::uint32_t attribute = question.attributes[t];
    parts.add(question.weights[t], zone(Extreme::minimum, attribute), zone(Extreme::maximum, attribute));
  }
  parts.base = warp_sum(parts.base);
  parts.magnitude = warp_sum(parts.magnitude);
  parts.largest = warp_max(parts.largest);
  parts.add_offset(question.offset);
  const CodeScale scale(parts, static_cast<std::size_t>(question.num_terms));
  if (!scale.has_bound()) return HUGE_VAL;
  for (int t = lane; t < question.num_terms; t += kWarpSize) {
    const std::uint32_t attribute = question.attributes[t];
    weights[t] = scale.weight_in_sums(question.weights[t], zone(Extreme::minimum, attribute),
                                      zone(Extreme::maximum, attribute));
  }
  __syncwarp();
  const double bound = scale.bound(highest_sum(table, question, leaf, weights, lane));
  __syncwarp();  // the next leaf overwrites the weights
  return bound;
}

// A warp for each leaf.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    bound_leaves(const CodeTableRef table, const __grid_constant__ CodeQuestion given,
                 const ReachingLeaves to) {
  __shared__ CodeQuestion question;  // lanes read different terms at once
  __shared__ std::uint32_t weights[kWarps][kMaxCodeTerms];
  for (unsigned w = threadIdx.x; w < sizeof(CodeQuestion) / sizeof(std::uint32_t); w += kThreads)
    reinterpret_cast<std::uint32_t*>(&question)[w] = reinterpret_cast<const std::uint32_t*>(&given)[w];
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % kWarpSize;
  const unsigned warp = threadIdx.x / kWarpSize;
  for (std::uint32_t leaf = blockIdx.x * kWarps + warp; leaf < table.num_leaves; leaf += gridDim.x * kWarps) {
    const LeafZones<T> zone = {
        static_cast<const T*>(table.zones) + std::size_t{leaf} * kZoneVectors * table.num_attributes,
        table.num_attributes};
    if (is_outside(question, zone, lane)) continue;
    double bound = bound_of_leaf(table, question, zone, leaf, weights[warp], lane);
    if (lane != 0 || bound < question.score) continue;
    bound = fmin(bound, zone_score(question, zone));
    if (bound < question.score) continue;
    const std::uint32_t place = atomicAdd(to.count, 1u);
    to.leaves[place] = leaf;
    to.bounds[place] = bound;
  }
}

}  // namespace

template <typename T>
void launch_bound_leaves(const CodeTableRef& table, const CodeQuestion& question, const ReachingLeaves& to,
                         unsigned num_multiprocessors, cudaStream_t stream) {
  const std::uint32_t wanted = (table.num_leaves + kWarps - 1) / kWarps;
  cuda::launch(bound_leaves<T>,
               {.num_blocks = std::min(wanted, num_multiprocessors * kBlocksOfMultiprocessor),
                .num_threads = kThreads},
               stream, table, question, to);
}

template void launch_bound_leaves<float>(const CodeTableRef&, const CodeQuestion&, const ReachingLeaves&,
                                         unsigned, cudaStream_t);
template void launch_bound_leaves<double>(const CodeTableRef&, const CodeQuestion&, const ReachingLeaves&,
                                          unsigned, cudaStream_t);

}  // namespace culmen::gpu
