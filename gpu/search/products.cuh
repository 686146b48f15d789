// Products: in tables of many attributes they take the place of the sweep (sweep.h). A product of matrices, of the rows
// in half precision (gpu/mirror/half_rows.h) and the weights of a batch's queries, on tensor cores. It bounds rows by
// their products; few reach the k-th score bound, and what is left of these in the end is scored as in all engines.
//
// With p' the product of binary16 numbers and p that of what they were rounded from, v of the row and w of the query,
//
//   |p - p'| <= |w - w'| |v| + |w'| |v - v'| + what the sum loses
//
// by Cauchy and Schwarz, with lengths that queries and leaves have at hand. A leaf is left out if no query of a tile can
// reach its k-th score bound with rows of the leaf's length.
//
// Like the other sweep it begins with few leaves and grows, and between two steps raises the k-th score bounds; a sample
// gives the first. The scores of found rows are lower bounds here.
#pragma once

#include "gpu/search/engines.h"
#include "gpu/search/kth_bound_raise.cuh"
#include "gpu/search/leaf_rows.cuh"
#include "gpu/search/sweep.h"

namespace culmen::gpu {

// Queries that take part, and the entry of the i-th.
__device__ inline std::uint32_t num_taking_part(const BatchRef& batch) {
  return batch.sweep.swept == nullptr ? min(batch.num_queries, batch.sweep.most) : batch.counters->num_swept;
}
__device__ inline std::uint32_t entry_of(const SweepRef& sweep, std::uint32_t i) {
  return sweep.swept == nullptr ? i : __ldg(sweep.swept + i);
}

// Leaves of the sample: as many as there is room for rows.
__device__ inline std::uint32_t num_sampled(const MirrorRef& mirror, const SweepRef& sweep) {
  return min(max(sweep.capacity / static_cast<std::uint32_t>(mirror.leaf_rows), 1u), mirror.num_leaves);
}

// The leaves of the first step are the multiples of this: not more than the sample's bound has room for.
__device__ inline std::uint32_t first_stride(const MirrorRef& mirror, const SweepRef& sweep) {
  std::uint32_t stride = 1;
  while ((mirror.num_leaves + stride - 1) / stride > kSweepGrowth * num_sampled(mirror, sweep))
    stride *= kSweepGrowth;
  return stride;
}

// A query as limits depend on it: its k-th score bound in products, rounded down, and its HalfQuery.
struct LimitedQuery {
  float kth_bound, norm, loss, length;
};

inline constexpr float kUp = 1 + 0x1p-18F;  // more than a few operations round

// By a lane: finds a row whose product with the query may be off by `error`, unless the filter excludes it.
template <typename T>
__device__ void find(const MirrorRef& mirror, const BatchRef& batch, std::uint32_t entry, std::uint32_t leaf,
                     std::uint32_t row, float product, float error) {
  SweepQuery& mine = batch.sweep.queries[entry];
  const QueryRef query = {batch.queries + std::size_t{mine.query} * batch.query_stride};
  if (!passes_filter<T>(mirror, query, leaf, row)) return;
  const double factor = batch.sweep.half_queries[entry].factor;
  const double lowest =
      mine.base + (static_cast<double>(product) - static_cast<double>(error)) * factor - mine.error_bound;
  const double slack = (2 * static_cast<double>(error) * factor + 4 * mine.error_bound) * (1 + 0x1p-40);
  atomicMax(reinterpret_cast<unsigned long long*>(&mine.slack),
            static_cast<unsigned long long>(__double_as_longlong(slack)));  // positive: ordered as integers
  add_found(batch.sweep, entry, {isnan(lowest) ? -infinity() : lowest, mirror.first_row(leaf) + row});
}

// How much products of rows of a leaf may be off.
__device__ inline float product_error(const LimitedQuery& query, const HalfLeaf& leaf, int num_attributes) {
  const float sum_error = static_cast<float>(2 * num_attributes + 64) * 0x1p-22F;
  const float error = kUp * (query.loss * leaf.norm + query.norm * leaf.loss +
                             sum_error * query.norm * (leaf.norm + leaf.loss) + 0x1p-90F);
  return error >= 0 ? error : HUGE_VALF;
}

}  // namespace culmen::gpu
