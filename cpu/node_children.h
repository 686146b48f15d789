// What a search knows of a node's children before it visits them: their chain bounds, and which of them lie outside one
// of the query's ranges.
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
    bounds[c] = std::fmin(bounds[c], capped[c]);  // fmin ignores a NaN
  return bounds;
}

inline Frontier::Bounds bounds_of_children(const ResolvedQuery& query, NodeRef node, SearchStats& stats) {
  ++stats.nodes_visited;
  stats.bounds_computed += node.header().num_children;
  stats.bytes_touched += query.bound.num_terms() * sizeof(BoundRow);
  return bounds_of_children(query.bound, node);
}

// Of all bounds that a row can encode, farthest out first, counts those with is_within(bound). They must be a prefix.
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

// Returns the children of `node`, as bits, that can hold rows within all of the query's ranges.
inline Frontier::Children children_in_ranges(const BoundPlan& plan, NodeRef node) {
  constexpr auto kAll = static_cast<Frontier::Children>(-1);
  const std::uint32_t num_children = node.header().num_children;
  Frontier::Children children = num_children == kFanOut ? kAll : (Frontier::Children{1} << num_children) - 1;
  for (const RangeBound& range : plan.ranges) {
    const BoundRow &maxima = node.bounds()[range.maximum_row], &minima = node.bounds()[range.minimum_row];
    // A NaN, from infinite ends of a range, keeps all children.
    const auto reaches = [&](float maximum) { return !(maximum < range.lowest); };
    const auto begins = [&](float minimum) { return !(minimum > range.highest); };
    children &= children_with_ranks_below(maxima, num_ranks_within(maxima, reaches)) &
                children_with_ranks_below(minima, num_ranks_within(minima, begins));
  }
  return children;
}

}  // namespace culmen
