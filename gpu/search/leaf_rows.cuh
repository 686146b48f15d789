// What a warp does with blocks: their bounds, one a lane, and the scores of the rows in a leaf.
#pragma once

#include "gpu/cuda/half.cuh"
#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/search_state.h"
#include "index/score.h"

namespace culmen::gpu {

inline constexpr int kWarpSize = 32;
inline constexpr unsigned kFullWarp = 0xffffffff;

__device__ inline double infinity() {
  return __longlong_as_double(0x7ff0000000000000);
}

// The bounds of the node in a bounds slot, by row.
struct SlotColumn {
  const Half* first_row;
  std::size_t stride;

  __device__ SlotColumn(const MirrorRef& mirror, std::uint32_t slot)
      : first_row(mirror.slot_bounds + slot), stride(mirror.num_slots) {}
  __device__ float operator[](std::int32_t row) const {
    return to_float({__ldg(&first_row[static_cast<std::size_t>(row) * stride].bits)});
  }
};

// Those of a child of a node.
struct NodeColumn {
  const BoundRow* rows;
  int child;

  __device__ float operator[](std::int32_t row) const {
    const BoundRow& bounds = rows[row];
    const uint2 head = __ldg(reinterpret_cast<const uint2*>(&bounds));  // base and scale
    const std::uint8_t code = __ldg(&bounds.codes[child]);
    const bool is_linear = (head.y & BoundRow::kLinear) != 0;
    // As in cpu/simd/child_bounds-inl.h: codes are bit patterns of binary16 numbers, 2^-24 or 2^-19 times the steps.
    const auto bits = static_cast<unsigned short>(code << (is_linear ? 0 : 5));
    const float step = BoundRow::signed_least_of(head.y) * (is_linear ? 0x1p24F : 0x1p19F);
    const float base = __uint_as_float(head.x);
    const float bound = fmaf(step, to_float({bits}), base);
    return code == BoundScale::kOutlier ? base + BoundRow::signed_gap_of(head.y) : bound;
  }
};

template <typename T>
__device__ T warp_min(T value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = min(value, __shfl_xor_sync(kFullWarp, value, offset));
  return value;
}

// The lane with the smallest id among those in `tied`. The lane's id() is asked only if there are several.
template <typename Id>
__device__ int smallest_id(unsigned tied, int lane, Id&& id) {
  if ((tied & (tied - 1)) != 0) {
    const std::int64_t mine = (tied >> lane & 1) != 0 ? id() : kNoId;
    const std::int64_t smallest = warp_min(mine);
    tied &= __ballot_sync(kFullWarp, mine == smallest);
  }
  return __ffs(static_cast<int>(tied)) - 1;
}

__device__ inline double warp_max(double value) {
  for (int offset = kWarpSize / 2; offset > 0; offset /= 2)
    value = fmax(value, __shfl_xor_sync(kFullWarp, value, offset));
  return value;
}

// base + sum of the terms. bounds: a SlotColumn or NodeColumn.
template <typename Column>
__device__ double chain_sum(double base, const PackedBoundTerm* terms, int num_terms, const Column& bounds) {
  constexpr int kBatch = 8;  // loads in flight: without a branch between them
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

// Upper bound on every score in a block; -infinity if all of it is outside a range of the query, infinity if
// nothing is known. bounds: as of chain_sum.
template <typename Column>
__device__ double block_bound(QueryRef query, const Column& bounds) {
  const PackedHeader& header = query.header();
  double bound = chain_sum(header.base, query.bound_terms(), header.num_bound_terms, bounds);
  if (header.capped_base < infinity())  // fmin leaves a NaN, which says nothing, for the other
    bound = fmin(bound, chain_sum(header.capped_base, query.capped_terms(), header.num_capped_terms, bounds));
  for (int r = 0; r < header.num_ranges; ++r) {
    const PackedRange& range = query.ranges()[r];
    if (bounds[range.maximum_row] < range.lowest || bounds[range.minimum_row] > range.highest)
      return -infinity();
  }
  return isnan(bound) ? infinity() : bound;
}

// Whether no row with a score up to `bound` can be in the answer. min_id() gives the block's smallest id; it
// is asked only where ids decide.
template <typename MinId>
__device__ bool is_excluded(double bound, KthBound kth_bound, MinId&& min_id) {
  if (bound > kth_bound.score) return false;
  return bound < kth_bound.score || bound == -infinity() || min_id() > kth_bound.id;
}

// The same where the bound carries an error bound for rounding: it never equals the score of a row that ties.
// zone_vector() gives a bound without error bound (ZoneBound), asked only where ids would decide.
template <typename MinId, typename ZoneBound>
__device__ bool is_excluded(double bound, KthBound kth_bound, MinId&& min_id, ZoneBound&& zone_vector) {
  if (is_excluded(bound, kth_bound, min_id)) return true;
  return kth_bound.id != kNoId && min_id() > kth_bound.id && zone_vector() <= kth_bound.score;
}

// The score's own chain over the maxima and minima of some rows: none of them scores more, and no error bound is needed
// (index/score.h).
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

template <typename T>
__device__ double zone_score(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf) {
  return zone_score(query, mirror.zone_vector<T>(leaf, Extreme::maximum),
                    mirror.zone_vector<T>(leaf, Extreme::minimum));
}

// The same over the zone vector that the stored bounds of a block give. They are rounded, so it is close only
// where the values of the block have few digits, as they have where many rows tie.
template <typename Column>
__device__ double zone_of_bounds(const MirrorRef& mirror, QueryRef query, const Column& bounds) {
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

__device__ inline bool passes(double score, std::int64_t id, KthBound kth_bound) {
  return score > kth_bound.score || (score == kth_bound.score && id <= kth_bound.id);
}

// The bound of the lane's child of `node`; -infinity where there is no child.
__device__ inline double child_bound(QueryRef query, NodeRef node, int lane) {
  const double bound = block_bound(query, NodeColumn{node.bounds(), lane});
  return lane < static_cast<int>(node.header().num_children) ? bound : -infinity();
}

// Rows of a leaf that are scored at once: as many as the usual leaf has.
inline constexpr int kRowsPerLane = 3;
inline constexpr int kRowsAtOnce = kRowsPerLane * kWarpSize;

struct ScoredRows {
  std::uint32_t index[kRowsPerLane];  // in the leaf
  double score[kRowsPerLane];
  bool valid[kRowsPerLane];  // there is such a row, and it passes the query's ranges
};

// Calls visit(ScoredRows) for the rows of a leaf, by all lanes at once. Returns the number of rows.
//
// kLoads: attributes whose values are loaded before the first is used. More wait less and take more
// registers.
template <typename T, int kLoads, typename Visit>
__device__ std::uint32_t score_leaf(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, int lane,
                                    Visit&& visit) {
  const PackedHeader& header = query.header();
  const T* values = mirror.leaf_values<T>(leaf);
  const std::uint32_t num_rows = mirror.leaves[leaf].num_rows;
  const auto leaf_rows = static_cast<std::uint32_t>(mirror.leaf_rows);
  std::uint32_t first = 0;
  do {
    ScoredRows rows;
    std::uint32_t position[kRowsPerLane];  // of a row that can be read
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      rows.index[j] = first + static_cast<std::uint32_t>(j * kWarpSize + lane);
      rows.score[j] = header.offset;
      position[j] = min(rows.index[j], leaf_rows - 1);
    }
    const auto load_value = [&](std::int32_t attribute, int j) {
      return __ldg(values + static_cast<std::uint32_t>(attribute) * leaf_rows + position[j]);
    };
    const int num_terms = header.num_terms;
    for (int batch = 0; batch < num_terms; batch += kLoads) {
      T loaded[kLoads][kRowsPerLane];
#pragma unroll
      for (int i = 0; i < kLoads; ++i) {
        const std::int32_t attribute = query.terms()[min(batch + i, num_terms - 1)].attribute;
#pragma unroll
        for (int j = 0; j < kRowsPerLane; ++j) loaded[i][j] = load_value(attribute, j);
      }
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        if (batch + i < num_terms) {
          const double weight = query.terms()[batch + i].weight;
#pragma unroll
          for (int j = 0; j < kRowsPerLane; ++j)
            rows.score[j] = score_step(rows.score[j], weight, static_cast<double>(loaded[i][j]));
        }
    }
    const auto value = [&](std::int32_t attribute, int j) {
      return static_cast<double>(load_value(attribute, j));
    };
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      rows.score[j] = score_finish(rows.score[j]);
      rows.valid[j] = rows.index[j] < num_rows;
    }
    for (int r = 0; r < header.num_ranges; ++r) {
      const PackedRange& range = query.ranges()[r];
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j) {
        const double x = value(range.attribute, j);
        rows.valid[j] = rows.valid[j] && x >= range.minimum && x <= range.maximum;
      }
    }
    visit(rows);
    first += kRowsAtOnce;
  } while (first < num_rows);
  return num_rows;
}

// Reads the ids of the rows that reach the k-th score bound and leaves only those valid that pass it.
__device__ inline void keep_passing(const MirrorRef& mirror, std::uint32_t leaf, KthBound kth_bound,
                                    ScoredRows& rows, std::int64_t (&ids)[kRowsPerLane]) {
  const std::int64_t* leaf_ids = mirror.ids + mirror.first_row(leaf);
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j) {
    rows.valid[j] = rows.valid[j] && rows.score[j] >= kth_bound.score;
    ids[j] = rows.valid[j] ? __ldg(leaf_ids + rows.index[j]) : 0;
  }
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j)
    rows.valid[j] = rows.valid[j] && passes(rows.score[j], ids[j], kth_bound);
}

}  // namespace culmen::gpu
