// What every engine does with a leaf: score its rows and offer those that can enter.
#pragma once

#include <algorithm>
#include <array>

#include "cpu/simd/kernels.h"
#include "cpu/topk.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

inline void prefetch_bytes(const void* from, std::size_t num_bytes) {
  constexpr std::size_t kCacheLine = 64;
  const auto* first = static_cast<const std::byte*>(from);
  for (std::size_t b = 0; b < num_bytes; b += kCacheLine) __builtin_prefetch(first + b);
  __builtin_prefetch(first + num_bytes - 1);  // it may begin in the middle of a line
}

// Asks for all that visit_leaf will read, but for ids.
template <typename T>
void prefetch_leaf(const Snapshot& snapshot, const ResolvedQuery& query, std::size_t leaf) {
  const T* values = snapshot.leaf_values<T>(leaf);
  const auto block_rows = static_cast<std::size_t>(snapshot.block_rows);
  prefetch_bytes(&snapshot.leaf(leaf), sizeof(LeafHeader));
  for (const Term& term : query.terms)
    prefetch_bytes(values + static_cast<std::size_t>(term.attribute) * block_rows, block_rows * sizeof(T));
}

// Best: TopK or BufferedTopK.
template <typename T, typename Best>
void visit_leaf(const Snapshot& snapshot, const ResolvedQuery& query, std::uint32_t leaf, Best& best,
                SearchStats& stats) {
  // Only what score_rows writes is read.
  std::array<simd::ScoredRow, kMaxBlockRows> scored;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  const auto block_rows = static_cast<std::size_t>(snapshot.block_rows);
  const std::uint32_t num_rows = snapshot.leaf(leaf).num_rows;
  const std::size_t count = simd::score_rows(snapshot.leaf_values<T>(leaf), block_rows, num_rows, query,
                                             best.floor(), scored.data());
  const std::int64_t* ids = snapshot.leaf_ids(leaf);
  // Ids lie apart from values: ask for all that are needed before the first is used.
  for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(ids + scored[i].row);
  for (std::size_t i = 0; i < count; ++i)
    best.offer({ids[scored[i].row], scored[i].score, leaf * std::uint64_t{block_rows} + scored[i].row});
  ++stats.blocks_visited;
  stats.tuples_scored += num_rows;
  stats.candidates += count;
  stats.bytes_touched += num_rows * (query.terms.size() + query.where.size()) * sizeof(T);
}

// Rule A: the score's own chain over a corner of the leaf covers, without margin, every score in the leaf
// (Corner::maximum, minimum) or in all later leaves of the partition (suffix_maximum, suffix_minimum), of rows that pass
// the ranges.
template <typename T>
double corner_score(const Snapshot& snapshot, const ResolvedQuery& query, std::uint32_t leaf, Corner maximum,
                    Corner minimum) {
  const T* highest = snapshot.corner<T>(leaf, maximum);
  const T* lowest = snapshot.corner<T>(leaf, minimum);
  double accumulator = query.offset;
  for (const Term& term : query.terms) {
    const double best = (term.weight > 0 ? highest : lowest)[term.attribute];
    accumulator =
        score_step(accumulator, term.weight,
                   within_ranges(query.where.data(), static_cast<int>(query.where.size()), term, best));
  }
  return score_finish(accumulator);
}

}  // namespace culmen
