// Snapshot: one immutable version of an index, as all engines read it.
//
// Rows are in leaves of up to `leaf_rows` rows, attribute by attribute, oriented (index/attribute_stats.h). Above them
// are levels of inner nodes. A node stores the bounds of its children, so a search decides whether to visit a child
// without reading it. Leaves and nodes are slots of memory that versions share (index/slot_arena.h); the tree
// determines which of them belong to this version. Its order is that of the partitions (Partitioner::order), then of
// order keys, then of ids.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/statistics.h"
#include "index/filed_tree.h"
#include "index/id_lookup.h"
#include "index/index_metadata.h"
#include "index/node_layout.h"
#include "index/slot_arena.h"

namespace culmen {

struct LoggedRows;
class TextRows;
class Thresholds;

inline constexpr int kMaxLeafRows = 4096;

// The slots of a tree.
struct TreeOrder {
  std::vector<std::uint32_t> leaves;       // in the tree's order
  std::vector<std::uint32_t> nodes;        // level 1 first, the root last; each level in the tree's order
  std::vector<PartitionRange> partitions;  // positions in `leaves`
  std::vector<std::uint32_t> ascending_leaves;  // in memory order, for scans
};

// Every version has one pin, which lives as long as anybody can read the version. Afterwards the version's slots can be
// reused.
class VersionPin {
 public:
  VersionPin() : over_(std::make_shared<std::atomic<bool>>(false)) {}
  ~VersionPin() { over_->store(true, std::memory_order_release); }
  VersionPin(const VersionPin&) = delete;
  VersionPin& operator=(const VersionPin&) = delete;

  // Becomes true when the pin is destroyed, and may outlive it.
  std::shared_ptr<const std::atomic<bool>> over() const { return over_; }

 private:
  std::shared_ptr<std::atomic<bool>> over_;
};

// The root and the sizes of one version's tree; slots are shared between versions. No node: the index is empty.
struct TreeRoot {
  std::shared_ptr<SlotArena> arena;
  std::uint32_t root = 0;
  int height = 0;  // levels of inner nodes
  std::uint64_t num_leaves = 0;
  std::uint64_t num_nodes = 0;
  std::uint64_t leaf_slots = 0, node_slots = 0;  // the version only refers to lower slots
};

struct Snapshot : IndexMetadata, TreeRoot {
  Snapshot() = default;
  explicit Snapshot(const IndexMetadata& metadata, const TreeRoot& tree = {})
      : IndexMetadata(metadata), TreeRoot(tree) {}

  const TreeRoot& tree() const { return *this; }

  // Whether what was read on touch is given back at some time; then the whole is never in memory.
  bool has_memory_limit() const { return arena != nullptr && arena->cache() != nullptr; }
  // For those who need all of it at once. Throws InvalidArgument if there is one.
  void require_no_memory_limit() const {
    if (has_memory_limit()) throw InvalidArgument(kNeedsWholeIndex);
  }
  // Reads what is not in memory yet (index/slot_source.h). Throws FormatError or IoError.
  void require_all() const {
    if (arena != nullptr) arena->require_all();
  }

  VersionPin pin;
  // Of a version that was read from files; null: no rows are found but by a pass over all ids, or by a writer's map.
  std::shared_ptr<const IdLookup> id_lookup;
  // Of a version that is read from files on touch, for its writer.
  std::shared_ptr<const FiledTree> filed_tree;
  // Of a version that is no tree of its own (index/logged_rows.h): those who read trees get none. Else null.
  std::shared_ptr<const LoggedRows> logged;

  // For a writer, which has to know until when this version is read.
  SlotArena::OlderVersion as_older() const { return {version, pin.over()}; }

  // Bytes of all leaves and nodes of this version, without codes and labels.
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
  LeafFields leaf_fields(std::size_t leaf) const { return arena->fields(leaf); }
  LeafTexts leaf_texts(std::size_t leaf) const { return arena->texts(leaf); }
  const std::uint16_t* leaf_codes(std::size_t leaf) const { return std::as_const(*arena).codes(leaf); }
  const std::int64_t* leaf_ids(std::size_t leaf) const { return std::as_const(*arena).ids(leaf); }
  // row = leaf slot * leaf_rows + position in the leaf.
  std::int64_t id(std::uint64_t row) const {
    const auto stride = static_cast<std::uint64_t>(leaf_rows);
    return leaf_ids(row / stride)[row % stride];
  }
  // As messages show it: a number, or a text in quotes.
  std::string shown_id(std::uint64_t row) const;
  double value(std::uint64_t row, int attribute) const;  // oriented
  std::string_view label(std::uint64_t row) const;

  // For readers of the whole tree, once it is complete. The first call computes it by a walk over all nodes, and reads what
  // is not in memory.
  const TreeOrder& order() const;
  // For `gta`. The first call computes them.
  const Thresholds& thresholds() const;
  // [num_attributes]; for Scale::zscore (index/spreads.h), also of a version with LoggedRows. The first call computes them.
  const std::vector<Spread>& spreads() const;
  // Throws InvalidArgument if the index has none.
  const Quantiles& known_quantiles() const;
  // Of an index of IdType::text, also of a version with LoggedRows. The first call makes them.
  const TextRows& text_rows() const { return *shared_text_rows(); }
  std::shared_ptr<const TextRows> shared_text_rows() const;
  // Null if they are not made yet.
  std::shared_ptr<const TextRows> made_text_rows() const;

 private:
  mutable std::once_flag order_once_;
  mutable std::mutex thresholds_mutex_, spreads_mutex_, text_rows_mutex_;
  mutable TreeOrder order_;
  mutable std::shared_ptr<const Thresholds> thresholds_;
  mutable std::optional<std::vector<Spread>> spreads_;
  mutable std::shared_ptr<const TextRows> text_rows_;
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
