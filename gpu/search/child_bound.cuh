// The bound of a node's child, and whether any row below it may pass the query's predicate.
#pragma once

#include "gpu/search/bounds.cuh"
#include "gpu/search/functions.cuh"
#include "gpu/search/predicate.h"
#include "index/child_zones.h"

namespace culmen::gpu {

// Parameters are registers, as of passing_rows.
__device__ __noinline__ inline bool child_may_pass(const PackedPredicate* predicate,
                                                   AttributeBits ranked_gaps, const std::byte* node,
                                                   const std::byte* zones, std::int32_t num_attributes,
                                                   int lane) {
  const TestedChild child = tested_child(node, zones, num_attributes, ranked_gaps, lane);
  return child.may_pass(*predicate);
}

// By a lane: the bound of the rows below the node in a bounds slot; -infinity if none passes the query's ranges. kKind: of
// the query.
template <QueryKind kKind>
__device__ double slot_bound(const MirrorRef& mirror, QueryRef query, std::uint32_t slot,
                             std::uint32_t node) {
  const double bound = chain_bound(query, SlotColumn(mirror, slot));
  if constexpr (kKind == QueryKind::with_functions)
    if (node != kNoNode) return slot_bound_with_functions(mirror, query, slot, node, bound);
  return bound;
}

// The bound of the lane's child of a node; -infinity if there is no such child, or if no row below it passes the
// query's filter. kKind: of the query.
template <QueryKind kKind>
__device__ double child_bound(const MirrorRef& mirror, QueryRef query, std::uint32_t index, int lane) {
  const NodeRef node = mirror.node(index);
  const double bound = chain_bound(query, NodeColumn{node.bounds(), lane});
  if (lane >= static_cast<int>(node.header().num_children)) return -infinity();
  if constexpr (kKind != QueryKind::plain) {
    const PackedPredicate* predicate = predicate_of<kKind>(query);
    const std::byte* zones = mirror.zones_of_children(index);
    if (predicate != nullptr && bound != -infinity() &&
        !child_may_pass(predicate, query.ranked_gaps(), node.bytes, zones, mirror.num_attributes, lane))
      return -infinity();
    if constexpr (kKind == QueryKind::with_functions)
      return child_bound_with_functions(query.functions(), bound, mirror.attributes, node.bytes, zones,
                                        mirror.num_attributes, lane);
  }
  return bound;
}

}  // namespace culmen::gpu
