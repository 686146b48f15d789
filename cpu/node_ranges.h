// Pruning by a filter: whether a child of a node lies outside one of the query's ranges.
#pragma once

#include <limits>

#include "cpu/frontier.h"
#include "index/resolved_query.h"
#include "index/snapshot.h"

namespace culmen {

inline bool misses_range(const BoundPlan& plan, NodeRef node, std::uint32_t child) {
  const Half* bounds = node.bounds();
  for (const RangeBound& range : plan.ranges) {
    const float maximum = bounds[range.maximum_row * kFanOut + static_cast<int>(child)];
    const float minimum = bounds[range.minimum_row * kFanOut + static_cast<int>(child)];
    if (maximum < range.lowest || minimum > range.highest) return true;
  }
  return false;
}

// Takes the children that miss a range out of the bounds that the frontier is given.
inline void leave_out_misses(const BoundPlan& plan, NodeRef node, Frontier::Bounds& bounds) {
  if (plan.ranges.empty()) return;
  for (std::uint32_t c = 0; c < node.header().num_children; ++c)
    if (misses_range(plan, node, c)) bounds[c] = -std::numeric_limits<double>::infinity();
}

}  // namespace culmen
