// Tests of single rows on the device, by a function of its own: inlined it would cost its callers registers.
#pragma once

#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/packed_functions.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/predicate.h"
#include "gpu/search/warp.cuh"

namespace culmen::gpu {

// Parameters are registers: a reference to a kernel's parameter would be a copy in local memory.
template <typename T>
__device__ __noinline__ unsigned passing_rows(const PackedPredicate* predicate, AttributeBits ranked_gaps,
                                              LeafColumns<T> rows, const std::byte* fields,
                                              std::uint32_t first, unsigned candidates) {
  const TestedLeaf<T> leaf = {rows, LeafFields(fields), ranked_gaps};
  unsigned passing = 0;
  for (unsigned left = candidates; left != 0; left &= left - 1) {
    const auto j = static_cast<std::uint32_t>(__ffs(static_cast<int>(left)) - 1);
    if (leaf.passes(*predicate, first + j * kWarpSize)) passing |= 1u << j;
  }
  return passing;
}

// By a lane: which of the rows first + 32 j of a leaf, for the bits j of `candidates`, pass the query's predicate.
// There must be one.
template <typename T, QueryKind kKind>
__device__ unsigned passing_rows(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf,
                                 std::uint32_t first, unsigned candidates) {
  return passing_rows<T>(predicate_of<kKind>(query), query.ranked_gaps(), mirror.columns<T>(leaf),
                         mirror.leaf_fields == nullptr ? nullptr : mirror.leaf_fields[leaf], first,
                         candidates);
}

// zones: MirrorRef::zones_of_children of the node.
__device__ inline TestedChild tested_child(const std::byte* node, const std::byte* zones,
                                           std::int32_t num_attributes, AttributeBits ranked_gaps,
                                           int child) {
  const ChildZonesLayout layout = {static_cast<std::size_t>(num_attributes), 0};
  return {{node},
          reinterpret_cast<const ChildGaps*>(zones),
          reinterpret_cast<const ChildZones*>(zones + layout.zones_offset()),
          ranked_gaps,
          child};
}

}  // namespace culmen::gpu
