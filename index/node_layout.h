// The memory layout of leaves and inner nodes, on the host and in device mirrors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/host_device.h"
#include "index/bound_row.h"

namespace culmen {

inline constexpr std::int64_t kNoId = std::numeric_limits<std::int64_t>::max();

struct LeafHeader {
  std::uint32_t num_rows = 0;
  std::uint32_t partition = 0;
  std::int64_t min_id = kNoId;
  std::uint64_t version = 0;  // the first version that has the leaf; 0: it was built or read from files
};

// The zone vectors of a zone map, in the order of Extreme: the maximum and the minimum of each attribute over all rows
// of a leaf or below a node. Each has [num_attributes] values of the stored type.
inline constexpr int kZoneVectors = 2;

// An inner node has, in this order: NodeHeader, slots of children, their smallest ids, bounds rows (node_bytes_of).
struct NodeHeader {
  std::uint32_t num_children = 0;
  std::uint32_t level = 0;  // 1: children are leaves
  std::int64_t min_id = kNoId;
  std::uint64_t version = 0;  // as in LeafHeader; nothing below a node is newer than the node
  std::byte padding[40] = {};
};
static_assert(sizeof(NodeHeader) == 64);

inline constexpr std::size_t kNodeChildrenOffset = sizeof(NodeHeader);
inline constexpr std::size_t kNodeMinIdsOffset = kNodeChildrenOffset + kFanOut * sizeof(std::uint32_t);
inline constexpr std::size_t kNodeBoundsOffset = kNodeMinIdsOffset + kFanOut * sizeof(std::int64_t);

template <typename Byte>  // std::byte or const std::byte
struct NodeAccess {
  Byte* bytes;

  template <typename T>
  using Like = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  CULMEN_HOST_DEVICE Like<NodeHeader>& header() const { return *reinterpret_cast<Like<NodeHeader>*>(bytes); }
  CULMEN_HOST_DEVICE Like<std::uint32_t>* children() const {
    return reinterpret_cast<Like<std::uint32_t>*>(bytes + kNodeChildrenOffset);
  }
  CULMEN_HOST_DEVICE Like<std::int64_t>* min_ids() const {
    return reinterpret_cast<Like<std::int64_t>*>(bytes + kNodeMinIdsOffset);
  }
  // bounds()[row][child]
  CULMEN_HOST_DEVICE Like<BoundRow>* bounds() const {
    return reinterpret_cast<Like<BoundRow>*>(bytes + kNodeBoundsOffset);
  }
};
using NodeRef = NodeAccess<const std::byte>;

// The leaves of one partition: [first_leaf, first_leaf + num_leaves).
struct PartitionRange {
  std::uint32_t first_leaf = 0;
  std::uint32_t num_leaves = 0;
};

}  // namespace culmen
