// Visits a leaf, for every engine: scores its rows and offers those that can enter the answer.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <span>

#include "cpu/function_bounds.h"
#include "cpu/function_scores.h"
#include "cpu/leaf_filter.h"
#include "cpu/prefetch.h"
#include "cpu/simd/kernels.h"
#include "cpu/topk.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

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

// Their header and first zones: where the keys are is not known before these are read.
inline void prefetch_fields(const Snapshot& snapshot, std::size_t leaf) {
  constexpr std::size_t kBytes = 256;
  const LeafFields fields = snapshot.leaf_fields(leaf);
  if (!fields.empty()) prefetch_bytes(fields.data(), kBytes);
}

// Prefetches all that visit_leaf will read first.
template <typename T, typename Best>
void prefetch_leaf(const Snapshot& snapshot, const ResolvedQuery& query, FirstLook look, std::size_t leaf,
                   const LeafFilter& filter, const Best& best) {
  prefetch_bytes(&snapshot.leaf(leaf), sizeof(LeafHeader));
  const auto leaf_rows = static_cast<std::size_t>(snapshot.leaf_rows);
  const T* values = snapshot.leaf_values<T>(leaf);
  const auto prefetch_columns = [&](const auto& columns) {
    for (const auto& column : columns)
      prefetch_bytes(values + static_cast<std::size_t>(column.attribute) * leaf_rows, leaf_rows * sizeof(T));
  };
  const bool by_codes = reads_codes(look, best);
  const bool filters_first = filter.goes_first(best.kth_bound(), by_codes);
  const bool filters_soon =
      filters_first || (!by_codes && !filter.is_everything());  // many leaves have a candidate
  if (by_codes || filters_soon)
    prefetch_bytes(snapshot.zone_vector<T>(leaf, Extreme::maximum),
                   2 * snapshot.attributes.size() * sizeof(T));
  if (filters_soon) prefetch_columns(query.where);
  if (filters_soon && filter.reads_fields()) prefetch_fields(snapshot, leaf);
  if (filters_first && filter.passes_nearly_none()) return;  // most visits end there
  if (!by_codes) return prefetch_columns(query.terms);
  const std::size_t num_words = num_code_words(leaf_rows);
  const std::size_t at_once = query.codes.are_neighbours ? query.terms.size() : 1;
  for (std::size_t t = 0; t < query.terms.size(); t += at_once)
    prefetch_bytes(snapshot.leaf_codes(leaf) + static_cast<std::size_t>(query.terms[t].attribute) * num_words,
                   at_once * num_words * sizeof(std::uint16_t));
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

// Keeps the rows that pass the filter, of `left` listed ones or of kAllRows of a tested leaf. All rows stay all if so many
// pass that scoring all is faster than scoring a list.
inline std::size_t keep_passing(const LeafFilter& filter, Verdict verdict, std::size_t num_rows,
                                std::uint32_t* listed, std::size_t left) {
  if (verdict == Verdict::none) return 0;
  if (verdict == Verdict::all) return left;
  if (left != simd::kAllRows) {
    const auto* end =
        std::remove_if(listed, listed + left, [&](std::uint32_t row) { return !filter.passes(row); });
    return static_cast<std::size_t>(end - listed);
  }
  if (filter.num_passing() > num_rows / 4) return simd::kAllRows;
  filter.list(listed);
  return filter.num_passing();
}

// Keeps those that pass the filter, in order, and returns how many.
inline std::size_t drop_failing(const LeafFilter& filter, std::span<simd::ScoredRow> scored) {
  const auto end = std::remove_if(scored.begin(), scored.end(),
                                  [&](const simd::ScoredRow& row) { return !filter.passes(row.row); });
  return static_cast<std::size_t>(end - scored.begin());
}

// Best: TopK or BufferedTopK.
template <typename T, typename Best>
void visit_leaf(const Snapshot& snapshot, const ResolvedQuery& query, FirstLook look, std::uint32_t leaf,
                LeafFilter& filter, Best& best, SearchStats& stats) {
  look_at(query.watch);
  // Elements are written before they are read.
  // NOLINTBEGIN(cppcoreguidelines-pro-type-member-init)
  std::array<std::uint32_t, kMaxLeafRows + kRowsOfCodeWords> listed;
  std::array<simd::ScoredRow, kMaxLeafRows + 1> scored;
  // NOLINTEND(cppcoreguidelines-pro-type-member-init)
  const auto leaf_rows = static_cast<std::size_t>(snapshot.leaf_rows);
  const std::size_t num_rows = snapshot.leaf(leaf).num_rows;
  const T* values = snapshot.leaf_values<T>(leaf);
  const bool has_functions = !query.functions.empty();
  // Of the scores of the weights.
  const double kth_bound =
      has_functions ? highest_of_leaf<T>(query.functions, snapshot, leaf).least_before(best.kth_bound())
                    : best.kth_bound();
  const bool by_codes = reads_codes(look, best) && kth_bound > -std::numeric_limits<double>::infinity();
  std::size_t left = simd::kAllRows;
  std::optional<Verdict> verdict;
  if (filter.is_everything()) verdict = Verdict::all;
  if (filter.goes_first(kth_bound, by_codes)) verdict = filter.test<T>(snapshot, leaf, stats);
  if (by_codes && verdict != Verdict::none)
    left = list_by_codes<T>(snapshot, query, leaf, kth_bound, listed.data(), stats);
  if (!verdict && by_codes && left > 0 && filter.is_selective())
    verdict = filter.test<T>(snapshot, leaf, stats);
  if (verdict) left = keep_passing(filter, *verdict, num_rows, listed.data(), left);
  const bool scores_all = left > num_rows / 4;
  std::size_t count = scores_all ? simd::score_rows(values, leaf_rows, static_cast<std::uint32_t>(num_rows),
                                                    query, kth_bound, scored.data())
                                 : simd::score_listed(values, leaf_rows, std::span(listed.data(), left),
                                                      query, kth_bound, scored.data());
  if (count > 0 && !verdict) verdict = filter.test<T>(snapshot, leaf, stats);
  if (count > 0 && verdict != Verdict::all)
    count = *verdict == Verdict::none ? 0 : drop_failing(filter, std::span(scored.data(), count));
  if (count > 0 && has_functions)
    count =
        add_functions<T>(query.functions, snapshot, leaf, best.kth_bound(), std::span(scored.data(), count));
  const std::size_t num_scored = scores_all ? num_rows : left;
  const std::int64_t* ids = snapshot.leaf_ids(leaf);
  // Ids are not stored beside values: prefetch all that are needed before using the first.
  for (std::size_t i = 0; i < count; ++i) __builtin_prefetch(ids + scored[i].row);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [row_score, row] = scored[i];
    if (query.is_on_earlier_page(row_score, ids[row])) continue;
    best.offer({ids[row], row_score, leaf * std::uint64_t{leaf_rows} + row});
  }
  ++stats.leaves_visited;
  stats.rows_scored += num_scored;
  stats.candidates += count;
  stats.bytes_touched += num_scored * query.terms.size() * sizeof(T);
}

// Rule A: the score's own chain over the maxima and minima of some rows is, with no error bound, at least the score of
// each of these rows that passes the filter.
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
