// Snapshot: one immutable version of an index, as all engines read it.
//
// Rows are in leaves with room for `leaf_rows` rows, attribute-major, oriented
// (index/attribute_stats.h). Above them stand levels of inner nodes; a node keeps the bounds of each of its
// children, so that whether a child is worth a visit is known without touching it. Leaves and nodes are slots
// of memory that versions share (index/slot_arena.h); the tree says which of them are this version's, and its
// order is key order: (partition, order key descending, id).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "index/index_metadata.h"
#include "index/node_layout.h"
#include "index/slot_arena.h"

namespace culmen {

class Thresholds;

inline constexpr int kMaxLeafRows = 4096;
static_assert(kMaxGroups * kMaxGroupSize >= kMaxAttributes);

// The slots of a tree in its order.
struct TreeOrder {
  std::vector<std::uint32_t> leaves;
  std::vector<std::uint32_t> nodes;             // level 1 first, the root last
  std::vector<PartitionRange> partitions;       // positions in `leaves`
  std::vector<std::uint32_t> ascending_leaves;  // for those who read all of them: in the order of memory
};

// Each version has one, which whoever can read the version keeps alive. It says when the version is over: its
// slots may be used again.
class VersionPin {
 public:
  VersionPin() : over_(std::make_shared<std::atomic<bool>>(false)) {}
  ~VersionPin() { over_->store(true, std::memory_order_release); }
  VersionPin(const VersionPin&) = delete;
  VersionPin& operator=(const VersionPin&) = delete;

  // Becomes true when the pin goes; may outlive it.
  std::shared_ptr<const std::atomic<bool>> over() const { return over_; }

 private:
  std::shared_ptr<std::atomic<bool>> over_;
};

// The tree of a version: what of the leaves, which versions share, is its own. No node: an empty index.
struct TreeRoot {
  std::shared_ptr<SlotArena> arena;
  std::uint32_t root = 0;
  int height = 0;  // levels of inner nodes
  std::uint64_t num_leaves = 0;
  std::uint64_t num_nodes = 0;
  std::uint64_t leaf_slots = 0, node_slots = 0;  // of `leaves`, that this version may refer to
};

struct Snapshot : IndexMetadata, TreeRoot {
  Snapshot() = default;
  explicit Snapshot(const IndexMetadata& metadata, const TreeRoot& tree = {})
      : IndexMetadata(metadata), TreeRoot(tree) {}

  const TreeRoot& tree() const { return *this; }

  VersionPin pin;

  // For those who have to know when it is over.
  SlotArena::OlderVersion as_older() const { return {version, pin.over()}; }

  // Bytes of all leaves and nodes that are in use, without labels.
  std::uint64_t tree_bytes() const {
    const LeafShape shape = leaf_shape();
    const std::uint64_t leaf_bytes = sizeof(LeafHeader) + shape.leaf_bytes() +
                                     shape.leaf_rows * sizeof(std::int64_t) +
                                     kZoneVectors * shape.zone_vector_bytes();
    return num_leaves * leaf_bytes +
           num_nodes * (arena->node_bytes() + kZoneVectors * shape.zone_vector_bytes());
  }

  const LeafHeader& leaf(std::size_t leaf) const { return std::as_const(*arena).leaf(leaf); }
  NodeRef node(std::size_t node) const { return arena->node(node); }
  template <typename T>
  const T* leaf_values(std::size_t leaf) const {
    return reinterpret_cast<const T*>(std::as_const(*arena).values(leaf));
  }
  template <typename T>
  const T* zone_vector(std::size_t leaf, Extreme which) const {
    return reinterpret_cast<const T*>(std::as_const(*arena).zone_map(leaf)) +
           static_cast<std::size_t>(which) * attributes.size();
  }
  template <typename T>
  const T* node_zone_vector(std::size_t node, Extreme which) const {
    return reinterpret_cast<const T*>(std::as_const(*arena).node_zone_map(node)) +
           static_cast<std::size_t>(which) * attributes.size();
  }
  const std::uint16_t* leaf_codes(std::size_t leaf) const { return std::as_const(*arena).codes(leaf); }
  const std::int64_t* leaf_ids(std::size_t leaf) const { return std::as_const(*arena).ids(leaf); }
  // These take row = leaf * leaf_rows + position in the leaf.
  std::int64_t id(std::uint64_t row) const { return leaf_ids(0)[row]; }
  double value(std::uint64_t row, int attribute) const;  // oriented
  std::string_view label(std::uint64_t row) const;

  // For readers of the whole tree. Computed when it is first asked for: a walk over all nodes.
  const TreeOrder& order() const;
  // For `gta`. Computed when they are first asked for.
  const Thresholds& thresholds() const;

 private:
  mutable std::once_flag order_once_;
  mutable std::mutex thresholds_mutex_;
  mutable TreeOrder order_;
  mutable std::shared_ptr<const Thresholds> thresholds_;
};

// Calls f with a value of the snapshot's stored type: visit_value_type(s, [&]<typename T>(T) { ... }).
template <typename F>
decltype(auto) visit_value_type(const Snapshot& snapshot, F&& f) {
  if (snapshot.value_type == ValueType::float32) return f(float{});
  return f(double{});
}

// -value for Preference::low, value otherwise; never -0. Its own inverse.
inline double oriented(double value, Preference preference) {
  return (preference == Preference::low ? -value : value) + 0.0;
}

}  // namespace culmen
