// Visits a leaf, for every engine: scores its rows and offers those that can enter the answer.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <span>

#include "cpu/simd/kernels.h"
#include "cpu/topk.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

inline void prefetch_bytes(const void* from, std::size_t num_bytes) {
  constexpr std::size_t kCacheLine = 64;
  const auto* first = static_cast<const std::byte*>(from);
  for (std::size_t b = 0; b < num_bytes; b += kCacheLine) __builtin_prefetch(first + b);
  __builtin_prefetch(first + num_bytes - 1);  // `from` may lie in the middle of a line
}

// What a visit reads first: all values; or codes, then the values of the rows that the codes leave. Codes need a k-th
// score bound to exclude anything.
enum class FirstLook { values, codes };

namespace cpu {
// For scattered leaves and few terms, scoring all rows is as fast as checking their codes first (bench/hard).
inline FirstLook first_look_of_bounded(const ResolvedQuery& query) {
  constexpr std::size_t kTermsForCodes = 10;
  return query.terms.size() < kTermsForCodes ? FirstLook::values : FirstLook::codes;
}

// For a stream over all leaves: codes, unless k asks for about one row of each leaf, so that codes exclude few.
inline FirstLook first_look_of_scan(const Snapshot& snapshot, const ResolvedQuery& query) {
  return query.k < snapshot.num_leaves ? FirstLook::codes : FirstLook::values;
}
}  // namespace cpu

template <typename Best>
bool reads_codes(FirstLook look, const Best& best) {
  return look == FirstLook::codes && best.kth_bound() > -std::numeric_limits<double>::infinity();
}

// Prefetches all that visit_leaf will read first.
template <typename T, typename Best>
void prefetch_leaf(const Snapshot& snapshot, const ResolvedQuery& query, FirstLook look, std::size_t leaf,
                   const Best& best) {
  prefetch_bytes(&snapshot.leaf(leaf), sizeof(LeafHeader));
  const auto leaf_rows = static_cast<std::size_t>(snapshot.leaf_rows);
  if (reads_codes(look, best)) {
    const std::size_t num_words = num_code_words(leaf_rows);
    const std::size_t at_once = query.codes.are_neighbours ? query.terms.size() : 1;
    for (std::size_t t = 0; t < query.terms.size(); t += at_once)
      prefetch_bytes(
          snapshot.leaf_codes(leaf) + static_cast<std::size_t>(query.terms[t].attribute) * num_words,
          at_once * num_words * sizeof(std::uint16_t));
    prefetch_bytes(snapshot.zone_vector<T>(leaf, Extreme::maximum),
                   2 * snapshot.attributes.size() * sizeof(T));
    return;
  }
  const T* values = snapshot.leaf_values<T>(leaf);
  for (const Term& term : query.terms)
    prefetch_bytes(values + static_cast<std::size_t>(term.attribute) * leaf_rows, leaf_rows * sizeof(T));
}

// Lists the rows of a leaf whose codes allow them to reach the k-th score bound; kAllRows if the codes exclude none.
template <typename T>
std::size_t list_by_codes(const Snapshot& snapshot, const ResolvedQuery& query, std::uint32_t leaf,
                          double kth_bound, std::uint32_t* rows, SearchStats& stats) {
  const std::uint32_t num_rows = snapshot.leaf(leaf).num_rows;
  const simd::LeafCodes<T> codes = {snapshot.leaf_codes(leaf),
                                    num_code_words(static_cast<std::size_t>(snapshot.leaf_rows)),
                                    snapshot.zone_vector<T>(leaf, Extreme::maximum),
                                    snapshot.zone_vector<T>(leaf, Extreme::minimum), num_rows};
  stats.rows_by_codes += num_rows;
  stats.bytes_touched += query.terms.size() * (num_rows / 2 + 2 * sizeof(T));
  return simd::rows_by_codes(codes, query, kth_bound, rows);
}

// Best: TopK or BufferedTopK.
template <typename T, typename Best>
void visit_leaf(const Snapshot& snapshot, const ResolvedQuery& query, FirstLook look, std::uint32_t leaf,
                Best& best, SearchStats& stats) {
  // Elements are written before they are read.
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init)
  std::array<std::uint32_t, kMaxLeafRows + kRowsOfCodeWords> listed;
  std::array<simd::ScoredRow, kMaxLeafRows + 1> scored;
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  const auto leaf_rows = static_cast<std::size_t>(snapshot.leaf_rows);
  const std::size_t num_rows = snapshot.leaf(leaf).num_rows;
  const T* values = snapshot.leaf_values<T>(leaf);
  const double kth_bound = best.kth_bound();
  std::size_t left = simd::kAllRows;
  if (reads_codes(look, best))
    left = list_by_codes<T>(snapshot, query, leaf, kth_bound, listed.data(), stats);
  const bool scores_all = left > num_rows / 4;
  const std::size_t count = scores_all
                                ? simd::score_rows(values, leaf_rows, static_cast<std::uint32_t>(num_rows),
                                                   query, kth_bound, scored.data())
                                : simd::score_listed(values, leaf_rows, std::span(listed.data(), left), query,
                                                     kth_bound, scored.data());
  const std::size_t num_scored = scores_all ? num_rows : left;
  const std::int64_t* ids = snapshot.leaf_ids(leaf);
  // Ids are not stored beside values: prefetch all that are needed before using the first.
  for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(ids + scored[i].row);
  for (std::size_t i = 0; i < count; ++i)
    best.offer({ids[scored[i].row], scored[i].score, leaf * std::uint64_t{leaf_rows} + scored[i].row});
  ++stats.leaves_visited;
  stats.rows_scored += num_scored;
  stats.candidates += count;
  stats.bytes_touched += num_scored * (query.terms.size() + query.where.size()) * sizeof(T);
}

// Rule A: the score's own chain over the maxima and minima of some rows is, with no error bound, at least the score of
// each of these rows that passes the ranges.
template <typename T>
double zone_score(const ResolvedQuery& query, const T* highest, const T* lowest) {
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
