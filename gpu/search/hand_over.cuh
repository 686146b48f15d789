// Hands a query over from its walk to the frontier, with what the sweep needs of it.
#pragma once

#include "gpu/search/engines.h"
#include "gpu/search/warp.cuh"

namespace culmen::gpu {

// By a warp. The query at its start: the score of a row at the attributes' origins, and what rounds there. Returns
// false if the sweep cannot take the query, because a weight is so small that it loses digits as a binary32 number.
__device__ inline bool start_sweep_query(const MirrorRef& mirror, QueryRef query, double kth_bound,
                                         SweepQuery& swept) {
  const PackedHeader& header = query.header();
  swept = {};
  swept.kth_bound = kth_bound;
  swept.base = header.offset;
  swept.error_bound = fabs(header.offset);
  bool is_usual = true;
  for (int t = 0; t < header.num_terms; ++t) {
    const PackedTerm term = query.terms()[t];
    const AttributeBounds& bounds = mirror.attributes[term.attribute];
    swept.base = fma(term.weight, bounds.origin, swept.base);
    swept.error_bound = fma(fabs(term.weight), fabs(bounds.origin), swept.error_bound);
    is_usual = is_usual && fabs(term.weight * bounds.unit * header.key_scale) > 0x1p-100;
  }
  swept.error_bound = swept.error_bound * 0x1p-44 + 0x1p-1060;  // scores may be denormal
  return is_usual;
}

// By a warp: the query's column of SweepRef::weights.
__device__ inline void write_weights(const MirrorRef& mirror, const SweepRef& sweep, QueryRef query,
                                     std::uint32_t entry, std::uint32_t lane) {
  const PackedHeader& header = query.header();
  for (int a = static_cast<int>(lane); a < mirror.num_attributes; a += kWarpSize)
    sweep.weights[static_cast<std::size_t>(a) * sweep.most + entry] = 0;
  __syncwarp();
  for (int t = static_cast<int>(lane); t < header.num_terms; t += kWarpSize) {
    const PackedTerm term = query.terms()[t];
    sweep.weights[static_cast<std::size_t>(term.attribute) * sweep.most + entry] =
        static_cast<float>(term.weight * mirror.attributes[term.attribute].unit * header.key_scale);
  }
}

// By a warp: hands query q of the batch over to the frontier, with the k-th score bound and the work of its walk.
// Returns false if the sweep could not take it, or if there is no room.
__device__ inline bool hand_over(const MirrorRef& mirror, const BatchRef& batch, std::uint32_t q,
                                 QueryRef query, double kth_bound, const ResultHeader& work,
                                 std::uint32_t lane) {
  if (kth_bound == -infinity()) return false;  // all rows would be found
  SweepQuery swept;
  if (!start_sweep_query(mirror, query, kth_bound, swept)) return false;
  swept.query = q;
  std::uint32_t entry = 0;
  if (lane == 0) entry = atomicAdd(&batch.counters->num_handed_over, 1u);
  entry = __shfl_sync(kFullWarp, entry, 0);
  if (entry >= batch.sweep.most) return false;
  if (!has_products(mirror)) write_weights(mirror, batch.sweep, query, entry, lane);
  if (lane == 0) {
    batch.sweep.queries[entry] = swept;
    batch.results[q] = work;
  }
  return true;
}

}  // namespace culmen::gpu
