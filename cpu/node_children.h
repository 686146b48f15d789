// What is known of a node's children before they are visited: their chain bounds, and which of them lie outside one of
// the query's ranges.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "cpu/frontier.h"
#include "cpu/simd/kernels.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

inline Frontier::Bounds bounds_of_children(const BoundPlan& plan, NodeRef node) {
  Frontier::Bounds bounds;
  simd::child_bounds(node.bounds(), plan.base, plan.terms, bounds.data());
  if (!plan.capped) return bounds;
  Frontier::Bounds capped;
  simd::child_bounds(node.bounds(), plan.capped->base, plan.capped->terms, capped.data());
  for (std::size_t c = 0; c < kFanOut; ++c)
    bounds[c] = std::fmin(bounds[c], capped[c]);  // a NaN, which says nothing, leaves the other
  return bounds;
}

inline Frontier::Bounds bounds_of_children(const ResolvedQuery& query, NodeRef node, SearchStats& stats) {
  ++stats.nodes_visited;
  stats.bounds_computed += node.header().num_children;
  stats.bytes_touched += query.bound.num_terms() * sizeof(BoundRow);
  return bounds_of_children(query.bound, node);
}

// How many bounds that a row can hold, the farthest out first, are such that is_within(bound); behind them none is.
template <typename IsWithin>
std::uint32_t num_ranks_within(const BoundRow& row, IsWithin&& is_within) {
  const auto is_rank_within = [&](std::uint32_t rank) {
    return is_within(row.bound_of(BoundRow::code_at(rank)));
  };
  std::uint32_t count = 0;
  for (std::uint32_t step = 128; step > 0; step /= 2)
    if (is_rank_within(count + step - 1)) count += step;
  return count + (count == 255 && is_rank_within(255) ? 1 : 0);
}

inline Frontier::Children children_with_ranks_below(const BoundRow& row, std::uint32_t end) {
  Frontier::Children children = 0;
  for (std::uint32_t c = 0; c < kFanOut; ++c)
    children |= static_cast<Frontier::Children>(BoundRow::rank_of(row.codes[c]) < end ? 1 : 0) << c;
  return children;
}

// The children of `node` that hold rows for all that is known of the ranges, as bits.
inline Frontier::Children children_in_ranges(const BoundPlan& plan, NodeRef node) {
  constexpr auto kAll = static_cast<Frontier::Children>(-1);
  const std::uint32_t num_children = node.header().num_children;
  Frontier::Children children = num_children == kFanOut ? kAll : (Frontier::Children{1} << num_children) - 1;
  for (const RangeBound& range : plan.ranges) {
    const BoundRow &maxima = node.bounds()[range.maximum_row], &minima = node.bounds()[range.minimum_row];
    // A NaN from infinities in a range keeps all.
    const auto reaches = [&](float maximum) { return !(maximum < range.lowest); };
    const auto begins = [&](float minimum) { return !(minimum > range.highest); };
    children &= children_with_ranks_below(maxima, num_ranks_within(maxima, reaches)) &
                children_with_ranks_below(minima, num_ranks_within(minima, begins));
  }
  return children;
}

}  // namespace culmen
