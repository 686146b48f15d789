// The terms of a score besides its weights on the device, by functions of their own: inlined they would cost their callers
// registers. Parameters are registers, as of passing_rows.
#pragma once

#include "gpu/mirror/mirror_ref.h"
#include "gpu/search/functions.h"
#include "gpu/search/packed_query.h"
#include "gpu/search/predicate.cuh"

namespace culmen::gpu {

template <typename T>
__device__ __noinline__ double add_functions(const PackedFunctions* functions, LeafColumns<T> rows,
                                             const std::byte* fields, std::uint32_t row, double score) {
  const TestedLeaf<T> leaf = {rows, LeafFields(fields), {}};
  return add_functions(*functions, leaf, row, score);
}

// By a lane: the score of a row of a leaf from that of its weights.
template <typename T>
__device__ double add_functions(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf,
                                std::uint32_t row, double score) {
  return add_functions<T>(query.functions(), mirror.columns<T>(leaf),
                          mirror.leaf_fields == nullptr ? nullptr : mirror.leaf_fields[leaf], row, score);
}

template <typename T>
__device__ __noinline__ bool is_on_page(const PackedFunctions* functions, LeafColumns<T> rows,
                                        const std::byte* fields, std::uint32_t row, double score) {
  const TestedLeaf<T> leaf = {rows, LeafFields(fields), {}};
  return is_on_page(*functions, leaf, row, score);
}

// By a lane: whether a row of a leaf is behind the query's earlier pages, and of a group that is not full.
template <typename T>
__device__ bool is_on_page(const MirrorRef& mirror, QueryRef query, std::uint32_t leaf, std::uint32_t row,
                           double score) {
  return is_on_page<T>(query.functions(), mirror.columns<T>(leaf),
                       mirror.leaf_fields == nullptr ? nullptr : mirror.leaf_fields[leaf], row, score);
}

__device__ __noinline__ inline double child_bound_with_functions(
    const PackedFunctions* functions, double of_weights, const AttributeBounds* attributes,
    const std::byte* node, const std::byte* zones, std::int32_t num_attributes, int child) {
  return bound_with_functions(*functions, of_weights,
                              ChildZone{attributes, tested_child(node, zones, num_attributes, {}, child)});
}

// The stored bounds of the node in a bounds slot, by bounds row.
struct StoredSlot {
  const Half* first_row;
  std::size_t stride;

  CULMEN_HOST_DEVICE float operator[](std::int32_t row) const {
    return first_row[static_cast<std::size_t>(row) * stride];
  }
};

__device__ __noinline__ inline double slot_bound_with_functions(const PackedFunctions* functions,
                                                                double of_weights,
                                                                const AttributeBounds* attributes,
                                                                const std::byte* node, const std::byte* zones,
                                                                std::int32_t num_attributes,
                                                                const Half* first_row, std::size_t stride) {
  return bound_with_functions(
      *functions, of_weights,
      NodeZone<StoredSlot>{
          {first_row, stride}, attributes, tested_child(node, zones, num_attributes, {}, 0)});
}

// By a lane: a bound of the rows below the node in a bounds slot, from that of their weights.
__device__ inline double slot_bound_with_functions(const MirrorRef& mirror, QueryRef query,
                                                   std::uint32_t slot, std::uint32_t node,
                                                   double of_weights) {
  return slot_bound_with_functions(query.functions(), of_weights, mirror.attributes, mirror.node(node).bytes,
                                   mirror.zones_of_children(node), mirror.num_attributes,
                                   mirror.slot_bounds + slot, mirror.num_slots);
}

}  // namespace culmen::gpu
