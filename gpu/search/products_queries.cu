// What comes before and after the products (products.cuh): the queries' numbers and first k-th score bounds, and the
// scores of the rows that are left.
#include <algorithm>

#include "gpu/cuda/half.cuh"
#include "gpu/cuda/launch.h"
#include "gpu/search/products.cuh"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;

// By a warp: the query's weights as numbers of products, and its start as by start_sweep_query. Returns false if it
// cannot take part, because the weights are too large or small.
__device__ inline bool start_query(const MirrorRef& mirror, const SweepRef& sweep, QueryRef query,
                                   std::uint32_t entry, SweepQuery& swept, HalfQuery& half,
                                   std::uint32_t lane) {
  const PackedHeader& header = query.header();
  const auto weight_of = [&](int t) {
    return query.terms()[t].weight / mirror.half.units[query.terms()[t].attribute].inverse;
  };
  double largest = 0, base = 0, size = 0;
  for (int t = static_cast<int>(lane); t < header.num_terms; t += kWarpSize) {
    const PackedTerm term = query.terms()[t];
    const double origin = mirror.half.units[term.attribute].origin;
    largest = fmax(largest, fabs(weight_of(t)));
    base = fma(term.weight, origin, base);
    size = fma(fabs(term.weight), fabs(origin), size);
  }
  largest = warp_max(largest);
  swept.base = header.offset + warp_sum(base);
  swept.error_bound = (fabs(header.offset) + warp_sum(size)) * 0x1p-40 + 0x1p-1060;
  Half* numbers = sweep.half_weights + std::size_t{entry} * mirror.half.stride;
  for (std::uint32_t a = lane; a < mirror.half.stride; a += kWarpSize) numbers[a] = {0};
  __syncwarp();
  const bool is_usual = largest > 0x1p-900 && largest < 0x1p900;
  if (!is_usual || !isfinite(swept.base) || !isfinite(swept.error_bound)) return false;
  half.factor = ldexp(1.0, ilogb(largest) + 1);
  double norm = 0, loss = 0, length = 0;
  for (int t = static_cast<int>(lane); t < header.num_terms; t += kWarpSize) {
    const double number = weight_of(t) / half.factor;
    const __half rounded = __float2half_rn(static_cast<float>(number));
    const auto kept = static_cast<double>(__half2float(rounded));
    const double in_largest = query.terms()[t].weight * mirror.half.largest_unit / half.factor;
    norm += kept * kept;
    loss += (number - kept) * (number - kept);
    length += in_largest * in_largest;
    numbers[query.terms()[t].attribute] = {__half_as_ushort(rounded)};
  }
  half.norm = length_above(warp_sum(norm));
  half.loss = length_above(warp_sum(loss));
  half.length = length_above(warp_sum(length));
  return true;
}

// The product of a row and a query, whose numbers are aligned to 16 bytes.
__device__ inline float product_of(const Half* row, const Half* query, std::uint32_t stride) {
  float sum = 0;
  for (std::uint32_t i = 0; i < stride; i += 8) {
    const uint4 of_row = __ldg(reinterpret_cast<const uint4*>(row + i));
    const uint4 of_query = *reinterpret_cast<const uint4*>(query + i);
    const auto* a = reinterpret_cast<const __half2*>(&of_row);
    const auto* b = reinterpret_cast<const __half2*>(&of_query);
#pragma unroll
    for (int pair = 0; pair < 4; ++pair) {
      const float2 x = __half22float2(a[pair]), y = __half22float2(b[pair]);
      sum = fmaf(x.y, y.y, fmaf(x.x, y.x, sum));
    }
  }
  return sum;
}

// By a warp: a first k-th score bound, from a sample of the rows.
template <typename T>
__device__ void bound_by_sample(const MirrorRef& mirror, const BatchRef& batch, std::uint32_t entry,
                                const HalfQuery& half, std::uint32_t lane) {
  const std::uint32_t num_leaves = num_sampled(mirror, batch.sweep), room = batch.sweep.capacity;
  const LimitedQuery limited = {0, half.norm, half.loss, half.length};
  const Half* numbers = batch.sweep.half_weights + std::size_t{entry} * mirror.half.stride;
  std::uint32_t seen = 0;
  for (std::uint32_t i = 0; i < num_leaves && seen < room; ++i) {
    const std::uint32_t leaf = __ldg(
        mirror.leaf_order + static_cast<std::uint32_t>(std::uint64_t{i} * mirror.num_leaves / num_leaves));
    const std::uint32_t num_rows =
        min(min(mirror.leaves[leaf].num_rows, static_cast<std::uint32_t>(mirror.leaf_rows)), room - seen);
    const float error = product_error(limited, mirror.half.leaves[leaf], mirror.num_attributes);
    for (std::uint32_t row = lane; row < num_rows; row += kWarpSize)
      find<T>(mirror, batch, entry, leaf, row,
              product_of(mirror.half.rows + (mirror.first_row(leaf) + row) * mirror.half.stride, numbers,
                         mirror.half.stride),
              error);
    seen += num_rows;
  }
  __threadfence_block();
  __syncwarp();  // all are found
  KthBoundRaise(batch, entry).run(false);
  __syncwarp();
  SweepQuery& query = batch.sweep.queries[entry];
  if (lane == 0) query.num_found = query.num_kept = 0;  // the sweep finds them again
}

// A warp for each query that takes part.
template <typename T>
__global__ void __launch_bounds__(kThreads) start_queries(const MirrorRef mirror, const BatchRef batch) {
  const std::uint32_t i = (blockIdx.x * kThreads + threadIdx.x) / kWarpSize, lane = threadIdx.x % kWarpSize;
  const std::uint32_t count = num_taking_part(batch);
  if (i >= count) return;
  const bool begins = batch.sweep.swept == nullptr;
  // Walks take the others.
  if (begins && i == 0 && lane == 0) batch.counters->num_handed_over = batch.counters->next_query = count;
  const std::uint32_t entry = entry_of(batch.sweep, i);
  SweepQuery swept = {};
  if (begins) {
    swept.query = i;
    swept.kth_bound = QueryRef{batch.queries + std::size_t{i} * batch.query_stride}.header().min_score;
  } else {
    swept = batch.sweep.queries[entry];
    swept.num_found = swept.num_kept = swept.is_behind = 0;
  }
  const QueryRef query = {batch.queries + std::size_t{swept.query} * batch.query_stride};
  HalfQuery half = {};
  if (!start_query(mirror, batch.sweep, query, entry, swept, half, lane)) {
    swept.num_found = batch.sweep.capacity + 1;  // as if its rows did not fit: it goes on to a walk
    swept.is_left = 1;
  }
  __syncwarp();  // all lanes have read what lane 0 writes
  if (lane == 0) {
    batch.sweep.queries[entry] = swept;
    batch.sweep.half_queries[entry] = half;
    if (begins) batch.results[i] = {};
  }
  __threadfence_block();
  __syncwarp();
  if (begins && swept.is_left == 0) bound_by_sample<T>(mirror, batch, entry, half, lane);
}

// A warp for each query: the scores of its rows, of which it has had lower bounds.
template <typename T>
__global__ void __launch_bounds__(kThreads) score_found(const MirrorRef mirror, const BatchRef batch) {
  const std::uint32_t i = (blockIdx.x * kThreads + threadIdx.x) / kWarpSize, lane = threadIdx.x % kWarpSize;
  if (i >= num_taking_part(batch)) return;
  const std::uint32_t entry = entry_of(batch.sweep, i);
  SweepQuery& swept = batch.sweep.queries[entry];
  if (swept.num_found > batch.sweep.capacity) return;
  const QueryRef query = {batch.queries + std::size_t{swept.query} * batch.query_stride};
  SeedRow* found = batch.sweep.found + std::size_t{entry} * batch.sweep.capacity;
  const auto leaf_rows = static_cast<std::uint64_t>(mirror.leaf_rows);
  for (std::uint32_t i = lane; i < swept.num_found; i += kWarpSize)
    score_row<T, QueryKind::plain>(mirror, query, static_cast<std::uint32_t>(found[i].row / leaf_rows),
                                   static_cast<std::uint32_t>(found[i].row % leaf_rows), -infinity(),
                                   found[i].score);
  if (lane == 0) swept.scored += swept.num_found;
}

// As many as may take part.
cuda::Shape warp_for_each_query(const BatchRef& batch) {
  const std::uint32_t most = std::min(batch.num_queries, batch.sweep.most);
  return {.num_blocks = (most * kWarpSize + kThreads - 1) / kThreads, .num_threads = kThreads};
}

}  // namespace

template <typename T>
void launch_start_of_products(const MirrorRef& mirror, const BatchRef& batch, cudaStream_t stream) {
  cuda::launch(start_queries<T>, warp_for_each_query(batch), stream, mirror, batch);
}

template <typename T>
void launch_end_of_products(const MirrorRef& mirror, const BatchRef& batch, cudaStream_t stream) {
  cuda::launch(score_found<T>, warp_for_each_query(batch), stream, mirror, batch);
}

template void launch_start_of_products<float>(const MirrorRef&, const BatchRef&, cudaStream_t);
template void launch_start_of_products<double>(const MirrorRef&, const BatchRef&, cudaStream_t);
template void launch_end_of_products<float>(const MirrorRef&, const BatchRef&, cudaStream_t);
template void launch_end_of_products<double>(const MirrorRef&, const BatchRef&, cudaStream_t);
template void launch_start_of_products<Packed<float>>(const MirrorRef&, const BatchRef&, cudaStream_t);
template void launch_start_of_products<Packed<double>>(const MirrorRef&, const BatchRef&, cudaStream_t);
template void launch_end_of_products<Packed<float>>(const MirrorRef&, const BatchRef&, cudaStream_t);
template void launch_end_of_products<Packed<double>>(const MirrorRef&, const BatchRef&, cudaStream_t);

}  // namespace culmen::gpu
