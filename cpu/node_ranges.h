// Pruning by a filter: whether a child of a node lies outside one of the query's ranges.
#pragma once

#include "index/resolved_query.h"
#include "index/snapshot.h"

namespace culmen {

inline bool misses_range(const BoundPlan& plan, NodeRef node, std::uint32_t child) {
  const float* bounds = node.bounds();
  for (const RangeBound& range : plan.ranges) {
    const float maximum = bounds[range.maximum_row * kFanOut + static_cast<int>(child)];
    const float minimum = bounds[range.minimum_row * kFanOut + static_cast<int>(child)];
    if (maximum < range.lowest || minimum > range.highest) return true;
  }
  return false;
}

}  // namespace culmen
