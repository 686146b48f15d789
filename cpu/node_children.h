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

inline bool misses_range(const BoundPlan& plan, NodeRef node, std::uint32_t child) {
  const BoundRow* bounds = node.bounds();
  for (const RangeBound& range : plan.ranges) {
    const float maximum = bounds[range.maximum_row][child];
    const float minimum = bounds[range.minimum_row][child];
    if (maximum < range.lowest || minimum > range.highest) return true;
  }
  return false;
}

// The children of `node` that hold tuples for all that is known of the ranges, as bits.
inline Frontier::Children children_in_ranges(const BoundPlan& plan, NodeRef node) {
  constexpr auto kAll = static_cast<Frontier::Children>(-1);
  const std::uint32_t num_children = node.header().num_children;
  Frontier::Children children = num_children == kFanOut ? kAll : (Frontier::Children{1} << num_children) - 1;
  if (plan.ranges.empty()) return children;
  for (std::uint32_t c = 0; c < num_children; ++c)
    if (misses_range(plan, node, c)) children &= ~(Frontier::Children{1} << c);
  return children;
}

}  // namespace culmen
