// The bounds of leaves, computed on a device with the bits of index/block_bounds.h.
#pragma once

#include <type_traits>

#include "gpu/build/leaves.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"

namespace culmen::gpu {

struct BoundRule {
  BoundLayout layout;
  const BoundUnit* units = nullptr;  // [num_attributes] in device memory
  bool exact_sums = false;
};
static_assert(std::is_trivially_copyable_v<BoundRule>);

// Enqueues that the leaves, which are filled, become children of their nodes, bounds and all. Nodes begin as
// zeros.
template <typename T>
void launch_bounds(const LeafTarget& leaves, const BoundRule& rule, cudaStream_t stream);

// Enqueues the headers of the nodes above the leaves; those of a node's leaves that come before first_leaf
// are in it already.
void launch_node_headers(const LeafTarget& leaves, cudaStream_t stream);

}  // namespace culmen::gpu
