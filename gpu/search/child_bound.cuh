// The chain bound of a node's child, and whether any row below it may pass the query's predicate.
#pragma once

#include "gpu/search/bounds.cuh"
#include "gpu/search/predicate.h"
#include "index/child_zones.h"

namespace culmen::gpu {

// Parameters are registers, as of passing_rows.
__device__ __noinline__ inline bool child_may_pass(const PackedPredicate* predicate,
                                                   AttributeBits ranked_gaps, const std::byte* node,
                                                   const std::byte* zones, std::int32_t num_attributes,
                                                   int lane) {
  const ChildZonesLayout layout = {static_cast<std::size_t>(num_attributes), 0};
  const TestedChild child = {{node},
                             reinterpret_cast<const ChildGaps*>(zones),
                             reinterpret_cast<const ChildZones*>(zones + layout.zones_offset()),
                             ranked_gaps,
                             lane};
  return child.may_pass(*predicate);
}

// The chain bound of the lane's child of a node; -infinity if there is no such child, or if no row below it passes the
// query's filter. kFiltered: as for score_row.
template <bool kFiltered>
__device__ double child_bound(const MirrorRef& mirror, QueryRef query, std::uint32_t index, int lane) {
  const NodeRef node = mirror.node(index);
  const double bound = chain_bound(query, NodeColumn{node.bounds(), lane});
  if (lane >= static_cast<int>(node.header().num_children)) return -infinity();
  if constexpr (kFiltered) {
    const PackedHeader& header = query.header();
    const std::byte* zones = mirror.child_zones + static_cast<std::size_t>(index) * mirror.child_zones_bytes;
    if (header.predicate != nullptr && bound != -infinity() &&
        !child_may_pass(header.predicate, query.ranked_gaps(), node.bytes, zones, mirror.num_attributes,
                        lane))
      return -infinity();
  }
  return bound;
}

}  // namespace culmen::gpu
