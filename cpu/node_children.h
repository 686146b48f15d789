// What a search knows of a node's children before it visits them: their chain bounds, and which of them hold no row
// that passes the filter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cpu/frontier.h"
#include "cpu/function_bounds.h"
#include "cpu/prefetch.h"
#include "cpu/simd/kernels.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

// Of the weights' part of a score.
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

// Whether the bound that adds up those of weights and functions counts.
inline bool bounds_parts(const ResolvedQuery& query) {
  return !query.joint || !query.joint->is_tightest || query.bound.exact;
}

// Upper bounds on the scores of the rows below each child.
inline Frontier::Bounds bounds_of_children(const Snapshot& snapshot, const ResolvedQuery& query,
                                           std::size_t slot) {
  if (!bounds_parts(query)) return joint_bounds_of_children(*query.joint, snapshot, slot);
  Frontier::Bounds bounds = bounds_of_children(query.bound, snapshot.node(slot));
  if (query.functions.empty()) return bounds;
  add_highest_of_children(query.functions, snapshot, slot, bounds);
  if (!query.joint) return bounds;
  const Frontier::Bounds joint = joint_bounds_of_children(*query.joint, snapshot, slot);
  for (std::size_t c = 0; c < kFanOut; ++c) bounds[c] = std::fmin(bounds[c], joint[c]);
  return bounds;
}

inline Frontier::Bounds bounds_of_children(const Snapshot& snapshot, const ResolvedQuery& query,
                                           std::size_t slot, SearchStats& stats) {
  const std::uint32_t num_children = snapshot.node(slot).header().num_children;
  ++stats.nodes_visited;
  stats.bounds_computed += num_children;
  stats.bytes_touched += query.bound.num_terms() * sizeof(BoundRow);
  return bounds_of_children(snapshot, query, slot);
}

// Prefetches what bounds_of_children() reads.
inline void prefetch_bounds(const ResolvedQuery& query, const Snapshot& snapshot, NodeRef node) {
  const auto prefetch_row = [&](std::int32_t row) { prefetch_bytes(node.bounds() + row, sizeof(BoundRow)); };
  const auto prefetch_plan = [&](const BoundPlan& plan) {
    for (const BoundTerm& term : plan.terms) prefetch_row(term.row);
    if (!plan.capped) return;
    for (const BoundTerm& term : plan.capped->terms) prefetch_row(term.row);
  };
  if (bounds_parts(query)) prefetch_plan(query.bound);
  if (!query.joint) return;
  for (const TangentBound& bound : query.joint->bounds) prefetch_plan(bound.plan);
  for (const TangentTerm& tangent : query.joint->bounds.front().tangents) {
    prefetch_row(snapshot.layout.minimum_row(tangent.attribute()));
    prefetch_row(snapshot.layout.maximum_row(tangent.attribute()));
  }
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

inline Frontier::Children children_with_values(const Predicate& predicate, NodeRef node) {
  constexpr std::size_t kFew = 4;
  if (is_all(predicate.values)) return static_cast<Frontier::Children>(-1);
  const BoundRow &maxima = node.bounds()[predicate.maximum_row],
                 &minima = node.bounds()[predicate.minimum_row];
  if (predicate.bounds.size() > kFew) return children_in_intervals(maxima, minima, predicate.bounds);
  Frontier::Children children = 0;
  for (const IntervalBound& interval : predicate.bounds)
    children |= children_in_interval(maxima, minima, interval);
  return children;
}

inline Frontier::Children children_with_keys(const Predicate& predicate, const ChildZones& zones) {
  Frontier::Children children = 0;
  if (predicate.keys.size() <= kFewIntervals) {
    for (const Interval<std::int64_t>& interval : predicate.keys)
      children |= simd::children_with_keys(zones, interval, key_set_bits(interval.minimum, interval.maximum));
    return children;
  }
  for (std::uint32_t c = 0; c < kFanOut; ++c) {
    const ColumnSummary zone = {zones.minimum[c], zones.maximum[c], zones.set[c], false, true};
    const bool may_pass =
        zone.minimum <= zone.maximum && verdict_of_keys(predicate.keys, zone) != Verdict::none;
    children |= Frontier::Children{may_pass} << c;
  }
  return children;
}

// Of children whose values may pass, those with a value; and those with a missing one, if that passes.
inline Frontier::Children with_gaps(Frontier::Children children, const ChildGaps& gaps, bool passes_missing) {
  return (children & gaps.some_present) | (passes_missing ? gaps.some_missing : 0);
}

// Returns the children of a node, as bits, that may hold rows that pass, and bits of children that are not there.
inline Frontier::Children children_that_may_pass(const Predicate& predicate, const Snapshot& snapshot,
                                                 std::size_t slot) {
  constexpr auto kAll = static_cast<Frontier::Children>(-1);
  const NodeRef node = snapshot.node(slot);
  const auto column = static_cast<std::size_t>(predicate.column);
  Frontier::Children children = 0;
  switch (predicate.kind) {
    case Predicate::Kind::everything:
      return kAll;
    case Predicate::Kind::nothing:
      return 0;
    case Predicate::Kind::attribute:
      children = children_with_values(predicate, node);
      return predicate.may_miss ? with_gaps(children, snapshot.arena->child_zones(slot).gaps(column),
                                            predicate.passes_missing)
                                : children;
    case Predicate::Kind::field: {
      const ChildZones& zones = snapshot.arena->child_zones(slot).zones(column);
      return with_gaps(children_with_keys(predicate, zones), zones.gaps, predicate.passes_missing);
    }
    case Predicate::Kind::id:
      for (std::uint32_t c = 0; c < kFanOut; ++c)
        children |= Frontier::Children{node.min_ids()[c] <= predicate.keys.back().maximum} << c;
      return children;
    case Predicate::Kind::id_set:
      for (std::uint32_t c = 0; c < kFanOut; ++c) {
        const bool may_pass = verdict_of_id_set(predicate, node.min_ids()[c]) != Verdict::none;
        children |= Frontier::Children{may_pass} << c;
      }
      return children;
    case Predicate::Kind::all_of:
      children = kAll;
      for (const Predicate& part : predicate.parts)
        if (children != 0) children &= children_that_may_pass(part, snapshot, slot);
      return children;
    case Predicate::Kind::any_of:
      break;
  }
  for (const Predicate& part : predicate.parts) children |= children_that_may_pass(part, snapshot, slot);
  return children;
}

// Prefetches what children_that_may_pass reads besides the node, of a filter's first tests.
inline void prefetch_child_zones(const Predicate& predicate, const Snapshot& snapshot, std::size_t slot) {
  constexpr std::size_t kParts = 4;
  if (predicate.is_everything()) return;
  const auto column = static_cast<std::size_t>(predicate.column);
  if (predicate.kind == Predicate::Kind::field)
    prefetch_bytes(&snapshot.arena->child_zones(slot).zones(column), sizeof(ChildZones));
  if (predicate.may_miss && predicate.kind == Predicate::Kind::attribute)
    prefetch_bytes(&snapshot.arena->child_zones(slot).gaps(column), sizeof(ChildGaps));
  for (std::size_t i = 0; i < std::min(predicate.parts.size(), kParts); ++i)
    prefetch_child_zones(predicate.parts[i], snapshot, slot);
}

// Returns the children of a node, as bits, that may hold rows that pass the filter.
inline Frontier::Children children_to_visit(const Predicate& filter, const Snapshot& snapshot,
                                            std::size_t slot) {
  constexpr auto kAll = static_cast<Frontier::Children>(-1);
  const std::uint32_t num_children = snapshot.node(slot).header().num_children;
  const Frontier::Children all = num_children == kFanOut ? kAll : (Frontier::Children{1} << num_children) - 1;
  return filter.is_everything() ? all : all & children_that_may_pass(filter, snapshot, slot);
}

}  // namespace culmen
