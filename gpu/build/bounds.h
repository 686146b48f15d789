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

// The bounds that nodes store of their leaves: computed as floats, then coded a node at a time.
class DeviceBounds {
 public:
  // Device memory that this takes; a little more if there are many bounds rows.
  static constexpr std::size_t kBytes = 64 << 20;

  explicit DeviceBounds(const BoundRule& rule);

  // Enqueues the children and bounds of the nodes above the leaves, which are filled and follow those of the previous
  // call. Nodes are zeros before, except one that the previous call has begun.
  template <typename T>
  void launch(const LeafTarget& leaves, cudaStream_t stream);

 private:
  BoundRule rule_;
  std::size_t floats_of_node_;
  cuda::Buffer<float> bounds_;      // of some nodes, [num_rows][kFanOut] each
  cuda::Buffer<float> unfinished_;  // of a node that more leaves will be added to
};

// Enqueues the headers of the nodes above the leaves. A node's leaves before first_leaf are already in it.
void launch_node_headers(const LeafTarget& leaves, cudaStream_t stream);

}  // namespace culmen::gpu
