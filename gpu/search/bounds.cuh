// Upper bounds on the scores of the rows in a node or leaf, and the test whether a bound excludes it from the answer.
// Parameters called `row` are numbers of bounds rows.
#pragma once

#include "gpu/cuda/half.cuh"
#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/search_state.h"
#include "gpu/search/warp.cuh"
#include "index/score.h"

namespace culmen::gpu {

// The stored bounds of the node in a bounds slot, indexed by bounds row.
struct SlotColumn {
  const Half* first_row;
  std::size_t stride;

  __device__ SlotColumn(const MirrorRef& mirror, std::uint32_t slot)
      : first_row(mirror.slot_bounds + slot), stride(mirror.num_slots) {}
  __device__ float operator[](std::int32_t row) const {
    return to_float({__ldg(&first_row[static_cast<std::size_t>(row) * stride].bits)});
  }
};

// The stored bounds of a child of a node, indexed by bounds row.
struct NodeColumn {
  const BoundRow* rows;
  int child;

  __device__ float operator[](std::int32_t row) const {
    const BoundRow& bounds = rows[row];
    const uint2 head = __ldg(reinterpret_cast<const uint2*>(&bounds));  // base and scale
    const std::uint8_t code = __ldg(&bounds.codes[child]);
    const bool is_linear = (head.y & BoundRow::kLinear) != 0;
    // A linear code is the bit pattern of the binary16 number 2^-24 * steps; any other code, shifted left by 5, that of
    // 2^-19 * steps. The same as in cpu/simd/child_bounds-inl.h.
    const auto bits = static_cast<unsigned short>(code << (is_linear ? 0 : 5));
    const float step = BoundRow::signed_least_of(head.y) * (is_linear ? 0x1p24F : 0x1p19F);
    const float base = __uint_as_float(head.x);
    const float bound = fmaf(step, to_float({bits}), base);
    return code == BoundScale::kOutlier ? base + BoundRow::signed_gap_of(head.y) : bound;
  }
};

// base + the sum of the terms. Column: SlotColumn or NodeColumn.
template <typename Column>
__device__ double chain_sum(double base, const PackedBoundTerm* terms, int num_terms, const Column& bounds) {
  constexpr int kBatch = 8;  // loads in flight at once; a branch between them would serialize them
  for (int first = 0; first < num_terms; first += kBatch) {
    float loaded[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) loaded[i] = bounds[terms[min(first + i, num_terms - 1)].row];
#pragma unroll
    for (int i = 0; i < kBatch; ++i)
      if (first + i < num_terms)
        base = fma(terms[first + i].coefficient, static_cast<double>(loaded[i]), base);
  }
  return base;
}

// The chain bound of a node or leaf: no row in it scores higher. -infinity if all of its rows are outside one of the
// query's ranges, infinity if nothing is known. Column: as for chain_sum.
template <typename Column>
__device__ double chain_bound(QueryRef query, const Column& bounds) {
  const PackedHeader& header = query.header();
  double bound = chain_sum(header.base, query.bound_terms(), header.num_bound_terms, bounds);
  if (header.capped_base < infinity())  // if one is NaN, fmin returns the other
    bound = fmin(bound, chain_sum(header.capped_base, query.capped_terms(), header.num_capped_terms, bounds));
  for (int r = 0; r < header.num_ranges; ++r) {
    const PackedRange& range = query.ranges()[r];
    if (bounds[range.maximum_row] < range.lowest || bounds[range.minimum_row] > range.highest)
      return -infinity();
  }
  return isnan(bound) ? infinity() : bound;
}

// Returns true if no row of a node or leaf with this bound can be in the answer. min_id() returns the smallest id in
// it, and is called only if ids decide.
template <typename MinId>
__device__ bool is_excluded(double bound, KthBound kth_bound, MinId&& min_id) {
  if (bound > kth_bound.score) return false;
  return bound < kth_bound.score || bound == -infinity() || min_id() > kth_bound.id;
}

// The same for a bound that includes an error bound, and so cannot equal the score of a row that ties. zone_bound()
// returns a bound without one, and is called only if ids would then decide.
template <typename MinId, typename ZoneBound>
__device__ bool is_excluded(double bound, KthBound kth_bound, MinId&& min_id, ZoneBound&& zone_bound) {
  if (is_excluded(bound, kth_bound, min_id)) return true;
  return kth_bound.id != kNoId && min_id() > kth_bound.id && zone_bound() <= kth_bound.score;
}

// Rule A: the score's own chain over the maxima and minima of some rows. None of these rows scores higher, and that
// needs no error bound (index/score.h).
template <typename T>
__device__ double zone_score(QueryRef query, const T* highest, const T* lowest) {
  double score = query.header().offset;
  for (int t = 0; t < query.header().num_terms; ++t) {
    const PackedTerm term = query.terms()[t];
    score = score_step(score, term.weight,
                       static_cast<double>(__ldg((term.weight > 0 ? highest : lowest) + term.attribute)));
  }
  return score_finish(score);
}

// Of a leaf. With functions it is infinity: what they add is known less exactly.
template <typename T, QueryKind kKind>
__device__ double zone_score(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf) {
  if constexpr (kKind == QueryKind::with_functions) return infinity();
  return zone_score(query, mirror.zone_vector<T>(leaf, Extreme::maximum),
                    mirror.zone_vector<T>(leaf, Extreme::minimum));
}

// The same over the maxima and minima among the stored bounds of a node or leaf. These are rounded outwards, so the
// result is tight only where values have few digits, as they usually have where many rows tie.
template <QueryKind kKind, typename Column>
__device__ double zone_of_bounds(const MirrorRef& mirror, QueryRef query, const Column& bounds) {
  if constexpr (kKind == QueryKind::with_functions) return infinity();
  double score = query.header().offset;
  for (int t = 0; t < query.header().num_terms; ++t) {
    const PackedTerm term = query.terms()[t];
    const AttributeBounds& attribute = mirror.attributes[term.attribute];
    const auto extreme = [&](std::int32_t row) { return static_cast<double>(bounds[row]); };
    const double value = term.weight > 0
                             ? __fma_ru(extreme(attribute.maximum_row), attribute.unit, attribute.origin)
                             : __fma_rd(extreme(attribute.minimum_row), attribute.unit, attribute.origin);
    score = score_step(score, term.weight, value);
  }
  score = score_finish(score);
  return isnan(score) ? infinity() : score;
}

}  // namespace culmen::gpu
