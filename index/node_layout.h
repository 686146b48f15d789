// How leaves and inner nodes lie in memory, on the host and in a device mirror alike.
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
  std::uint64_t version = 0;  // that the leaf is new in; 0: older than this process's memory of it
};

// Vectors of a zone map, in the order of Extreme: the maximum and the minimum of each attribute over all rows of a leaf
// or below a node. Each has [num_attributes] values of the stored type.
inline constexpr int kZoneVectors = 2;

// An inner node, `stride_bytes` long: NodeHeader, child ids, their smallest row ids, then the bounds rows.
struct NodeHeader {
  std::uint32_t num_children = 0;
  std::uint32_t level = 0;  // 1: children are leaves
  std::int64_t min_id = kNoId;
  std::uint64_t version = 0;  // as in LeafHeader; what lies below a node is never newer than the node
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

// Leaves of one partition: [first_leaf, first_leaf + num_leaves).
struct PartitionRange {
  std::uint32_t first_leaf = 0;
  std::uint32_t num_leaves = 0;
};

}  // namespace culmen
