// The bounds of leaves, computed on a device with the bits of index/leaf_bounds.h.
#pragma once

#include <type_traits>

#include "gpu/build/leaves.h"
#include "gpu/cuda/buffer.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"

namespace culmen::gpu {

struct BoundRule {
  BoundLayout layout;
  const BoundUnit* units = nullptr;  // [num_attributes] in device memory
  bool exact_sums = false;
};
static_assert(std::is_trivially_copyable_v<BoundRule>);

// Nodes' bounds of their leaves: first as floats, then, when all that a node has so far are there, coded.
class DeviceBounds {
 public:
  // Device memory that this takes, or a little more where rows of bounds are many.
  static constexpr std::size_t kBytes = 64 << 20;

  explicit DeviceBounds(const BoundRule& rule);

  // Enqueues that the leaves, which are filled and follow those of the call before, become children of their nodes,
  // bounds and all. Nodes begin as zeros, but for the children of one that the call before has begun.
  template <typename T>
  void launch(const LeafTarget& leaves, cudaStream_t stream);

 private:
  BoundRule rule_;
  std::size_t floats_of_node_;
  cuda::Buffer<float> bounds_;      // of some nodes, [num_rows][kFanOut] each
  cuda::Buffer<float> unfinished_;  // of a node whose later leaves are to come
};

// Enqueues the headers of the nodes above the leaves; those of a node's leaves that come before first_leaf
// are in it already.
void launch_node_headers(const LeafTarget& leaves, cudaStream_t stream);

}  // namespace culmen::gpu
