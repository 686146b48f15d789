// The scores of rows: of a single one by a lane, and of a whole leaf by a warp. All engines use these.
#pragma once

#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/functions.cuh"
#include "gpu/search/packed_query.h"
#include "gpu/search/packed_rows.cuh"
#include "gpu/search/predicate.cuh"
#include "gpu/search/search_state.h"
#include "gpu/search/warp.cuh"
#include "index/score.h"

namespace culmen::gpu {

__device__ inline bool passes(double score, std::int64_t id, KthBound kth_bound) {
  return score > kth_bound.score || (score == kth_bound.score && id <= kth_bound.id);
}

// One row of a leaf.
template <typename T>
struct LeafRow {
  LeafColumns<T> columns;
  std::uint32_t index;

  __device__ LeafRow(const MirrorRef& mirror, std::uint32_t leaf, std::uint32_t row)
      : columns(mirror.columns<T>(leaf)), index(row) {}
  __device__ double operator[](std::int32_t attribute) const {
    return static_cast<double>(columns.value(static_cast<std::uint32_t>(attribute), index));
  }
};

// By a lane: whether a row is in all ranges of the query.
template <typename T>
__device__ bool is_in_ranges(QueryRef query, const LeafRow<T>& row) {
  for (int r = 0; r < query.header().num_ranges; ++r) {
    const PackedRange& range = query.ranges()[r];
    const double x = row[range.attribute];
    if (x < range.minimum || x > range.maximum) return false;
  }
  return true;
}

// By a lane: whether a row of a leaf passes the query's filter.
template <typename T>
__device__ bool passes_filter(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf,
                              std::uint32_t index) {
  return is_in_ranges(query, LeafRow<T>(mirror, leaf, index)) &&
         (query.predicate() == nullptr ||
          passing_rows<T, QueryKind::filtered>(mirror, query, leaf, index, 1) != 0);
}

// By a lane: the score of one row of a leaf. Returns false, with any score, if the row does not pass the query's
// filter, or if there is a predicate and the score is below `least`. kKind: of the query, which has no functions.
template <typename T, QueryKind kKind>
__device__ bool score_row(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, std::uint32_t index,
                          double least, double& score) {
  const LeafRow<T> row(mirror, leaf, index);
  if (!is_in_ranges(query, row)) return false;
  score = query.header().offset;
  for (int t = 0; t < query.header().num_terms; ++t)
    score = score_step(score, query.terms()[t].weight, row[query.terms()[t].attribute]);
  score = score_finish(score);
  if constexpr (kKind != QueryKind::plain) {
    if (query.predicate() != nullptr)
      return score >= least && passing_rows<T, kKind>(mirror, query, leaf, index, 1) != 0;
  }
  return true;
}

struct ScoredRows {
  std::uint32_t index[kRowsPerLane];  // in the leaf
  double score[kRowsPerLane];
  // The row exists and passes the query's filter. Of rows that no range excludes, only those that reach `least` are
  // tested further.
  bool valid[kRowsPerLane];
};

// By a lane: scores its rows of a leaf. load(attribute, j) returns a value of the j-th.
//
// kLoads: attributes whose values are loaded before the first is used. More hide more latency and take more registers.
template <int kLoads, typename Load>
__device__ void score_rows(QueryRef query, Load&& load, double (&score)[kRowsPerLane]) {
  using T = decltype(load(0, 0));
  const int num_terms = query.header().num_terms;
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j) score[j] = query.header().offset;
  for (int batch = 0; batch < num_terms; batch += kLoads) {
    T loaded[kLoads][kRowsPerLane];
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const std::int32_t attribute = query.terms()[min(batch + i, num_terms - 1)].attribute;
#pragma unroll
      for (int j = 0; j < kRowsPerLane; ++j) loaded[i][j] = load(attribute, j);
    }
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      if (batch + i < num_terms) {
        const double weight = query.terms()[batch + i].weight;
#pragma unroll
        for (int j = 0; j < kRowsPerLane; ++j)
          score[j] = score_step(score[j], weight, static_cast<double>(loaded[i][j]));
      }
  }
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j) score[j] = score_finish(score[j]);
}

// By a lane: clears valid[j] if the j-th row is outside a range of the query.
template <typename Load>
__device__ void check_ranges(QueryRef query, Load&& load, bool (&valid)[kRowsPerLane]) {
  for (int r = 0; r < query.header().num_ranges; ++r) {
    const PackedRange& range = query.ranges()[r];
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      const auto x = static_cast<double>(load(range.attribute, j));
      valid[j] = valid[j] && x >= range.minimum && x <= range.maximum;
    }
  }
}

// By a lane: clears valid[j] if the j-th row does not pass the query's predicate, or if its score is below `least`.
template <typename T, QueryKind kKind>
__device__ void check_predicate(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, double least,
                                ScoredRows& rows) {
  unsigned passing = 0;
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j) passing |= rows.valid[j] && rows.score[j] >= least ? 1u << j : 0;
  if (passing != 0) passing = passing_rows<T, kKind>(mirror, query, leaf, rows.index[0], passing);
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j) rows.valid[j] = (passing >> j & 1) != 0;
}

// By a lane: adds the query's functions to the scores of its valid rows. Some of them may be outside of the functions' domains,
// with any score: they do not pass the predicate.
template <typename T>
__device__ void add_functions(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, ScoredRows& rows) {
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j)
    if (rows.valid[j]) rows.score[j] = add_functions<T>(mirror, query, leaf, rows.index[j], rows.score[j]);
}

// By a lane: clears valid[j] if the j-th row is on an earlier page, or of a full group.
template <typename T>
__device__ void check_page(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, double least,
                           ScoredRows& rows) {
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j)
    rows.valid[j] = rows.valid[j] && rows.score[j] >= least &&
                    is_on_page<T>(mirror, query, leaf, rows.index[j], rows.score[j]);
}

// By a warp: calls visit(ScoredRows) for the rows of a leaf, kRowsAtOnce at a time. Returns the number of rows. Rows
// with a score below `least` are of no use. kLoads: as for score_rows.
template <typename T, int kLoads, QueryKind kKind, typename Visit>
__device__ std::uint32_t score_leaf(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, int lane,
                                    double least, Visit&& visit) {
  const LeafColumns<T> columns = mirror.columns<T>(leaf);
  const std::uint32_t num_rows = mirror.leaves[leaf].num_rows;
  const std::uint32_t last = (kIsPacked<T> ? num_rows : static_cast<std::uint32_t>(mirror.leaf_rows)) - 1;
  std::uint32_t first = 0;
  do {
    ScoredRows rows;
    std::uint32_t position[kRowsPerLane];  // of a row that can be read
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) {
      rows.index[j] = first + static_cast<std::uint32_t>(j * kWarpSize + lane);
      position[j] = min(rows.index[j], last);
    }
    const auto load = [&](std::int32_t attribute, int j) {
      return columns.value(static_cast<std::uint32_t>(attribute), position[j]);
    };
    if constexpr (kIsPacked<T>) {
      score_packed_rows<ValueOf<T>>(columns.leaf, query, num_rows, position, lane, rows.score);
    } else {
      score_rows<kLoads>(query, load, rows.score);
    }
#pragma unroll
    for (int j = 0; j < kRowsPerLane; ++j) rows.valid[j] = rows.index[j] < num_rows;
    check_ranges(query, load, rows.valid);
    if constexpr (kKind == QueryKind::with_functions) add_functions<T>(mirror, query, leaf, rows);
    if constexpr (kKind != QueryKind::plain)
      if (predicate_of<kKind>(query) != nullptr) check_predicate<T, kKind>(mirror, query, leaf, least, rows);
    if constexpr (kKind == QueryKind::with_functions)
      if (query.functions()->has_page()) check_page<T>(mirror, query, leaf, least, rows);
    visit(rows);
    first += kRowsAtOnce;
  } while (first < num_rows);
  return num_rows;
}

// Reads the ids of the rows that reach the k-th score bound, and clears `valid` of those that do not pass it.
template <typename T>
__device__ void keep_passing(const MirrorRef& mirror, std::uint32_t leaf, KthBound kth_bound,
                             ScoredRows& rows, std::int64_t (&ids)[kRowsPerLane]) {
  const LeafColumns<T> columns = mirror.columns<T>(leaf);
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j) {
    rows.valid[j] = rows.valid[j] && rows.score[j] >= kth_bound.score;
    ids[j] = rows.valid[j] ? columns.id(rows.index[j]) : 0;
  }
#pragma unroll
  for (int j = 0; j < kRowsPerLane; ++j)
    rows.valid[j] = rows.valid[j] && passes(rows.score[j], ids[j], kth_bound);
}

}  // namespace culmen::gpu
