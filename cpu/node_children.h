// What a search knows of a node's children before it visits them: their chain bounds, and which of them hold no row
// that passes the filter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

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

// The children that may hold a value in the interval, all others set aside.
inline Frontier::Children children_in_interval(const BoundRow& maxima, const BoundRow& minima,
                                               const IntervalBound& interval) {
  // A NaN, from infinite ends of an interval, keeps all children.
  const auto reaches = [&](float maximum) { return !(maximum < interval.lowest); };
  const auto begins = [&](float minimum) { return !(minimum > interval.highest); };
  return children_with_ranks_below(maxima, num_ranks_within(maxima, reaches)) &
         children_with_ranks_below(minima, num_ranks_within(minima, begins));
}

// Looks up each child in many intervals, which are ascending.
inline Frontier::Children children_in_intervals(const BoundRow& maxima, const BoundRow& minima,
                                                std::span<const IntervalBound> intervals) {
  Frontier::Children children = 0;
  for (std::uint32_t c = 0; c < kFanOut; ++c) {
    const float minimum = minima[c], maximum = maxima[c];
    const auto first = std::ranges::partition_point(
        intervals, [&](const IntervalBound& interval) { return interval.highest < minimum; });
    const bool may_pass = first != intervals.end() && !(first->lowest > maximum);
    children |= Frontier::Children{may_pass} << c;
  }
  return children;
}

// Returns the children of `node`, as bits, that may hold rows that pass, and bits of children that are not there.
inline Frontier::Children children_that_may_pass(const Predicate& predicate, NodeRef node) {
  constexpr auto kAll = static_cast<Frontier::Children>(-1);
  constexpr std::size_t kFew = 4;
  Frontier::Children children = 0;
  switch (predicate.kind) {
    case Predicate::Kind::everything:
      return kAll;
    case Predicate::Kind::nothing:
      return 0;
    case Predicate::Kind::attribute: {
      const BoundRow &maxima = node.bounds()[predicate.maximum_row],
                     &minima = node.bounds()[predicate.minimum_row];
      if (predicate.bounds.size() > kFew) return children_in_intervals(maxima, minima, predicate.bounds);
      for (const IntervalBound& interval : predicate.bounds)
        children |= children_in_interval(maxima, minima, interval);
      return children;
    }
    case Predicate::Kind::id:
      for (std::uint32_t c = 0; c < kFanOut; ++c)
        children |= Frontier::Children{node.min_ids()[c] <= predicate.ids.back().maximum} << c;
      return children;
    case Predicate::Kind::all_of:
      children = kAll;
      for (const Predicate& part : predicate.parts) children &= children_that_may_pass(part, node);
      return children;
    case Predicate::Kind::any_of:
      break;
  }
  for (const Predicate& part : predicate.parts) children |= children_that_may_pass(part, node);
  return children;
}

// Returns the children of `node`, as bits, that may hold rows that pass the filter.
inline Frontier::Children children_to_visit(const Predicate& filter, NodeRef node) {
  constexpr auto kAll = static_cast<Frontier::Children>(-1);
  const std::uint32_t num_children = node.header().num_children;
  return (num_children == kFanOut ? kAll : (Frontier::Children{1} << num_children) - 1) &
         children_that_may_pass(filter, node);
}

}  // namespace culmen
