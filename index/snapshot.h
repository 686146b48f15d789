// Snapshot: one immutable version of an index, as all engines read it.
//
// Tuples stand in leaves (ODT blocks) of `block_rows` slots, attribute-major, oriented
// (index/attribute_stats.h). Leaves are numbered in key order: (partition, order key descending, id). Above
// them stand levels of inner nodes; a node keeps the bounds of each of its children, so that whether a child
// is worth a visit is known without touching it. Node and leaf memory is apart: leaf values are read in a
// stream by scans, nodes at random.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/index.h"
#include "index/attribute_stats.h"
#include "index/bound_layout.h"
#include "index/node_layout.h"
#include "index/pages.h"
#include "index/partitioner.h"

namespace culmen {

inline constexpr int kMaxBlockRows = 4096;
static_assert(kMaxGroups * kMaxGroupSize >= kMaxAttributes);

class NodePool {
 public:
  NodePool() = default;
  NodePool(std::size_t num_nodes, const BoundLayout& layout)
      : stride_bytes_(kNodeBoundsOffset +
                      static_cast<std::size_t>(layout.num_rows()) * kFanOut * sizeof(Half)),
        bytes_(num_nodes * stride_bytes_) {}

  std::size_t stride_bytes() const { return stride_bytes_; }
  std::size_t size() const { return stride_bytes_ == 0 ? 0 : bytes_.size() / stride_bytes_; }
  NodeRef operator[](std::size_t node) const { return {bytes_.data() + node * stride_bytes_}; }
  NodeAccess<std::byte> mutable_node(std::size_t node) { return {bytes_.data() + node * stride_bytes_}; }

 private:
  std::size_t stride_bytes_ = 0;
  PageBuffer<std::byte> bytes_;
};

// Labels in leaf order. Leaf l owns bytes [leaf_start[l], leaf_start[l + 1]); the label of its row r ends at
// leaf_start[l] + row_end[l * block_rows + r] and starts where the one before ends.
struct LabelStore {
  std::vector<char> bytes;
  std::vector<std::uint64_t> leaf_start;
  std::vector<std::uint32_t> row_end;
};

struct Snapshot {
  // What it is a table of.
  std::vector<Attribute> attributes;
  ValueType value_type = ValueType::float32;  // float32 or float64, never automatic
  bool has_labels = false;
  std::vector<AttributeStats> stats;  // [num_attributes]
  std::vector<BoundUnit> units;       // [num_attributes]
  bool exact_sums = false;            // sums of unit values are exact in binary64: bounds carry no slack
  Partitioner partitioner;
  int block_rows = 0;
  std::uint64_t num_tuples = 0;
  std::uint64_t rounded_values = 0;
  std::uint64_t version = 1;
  std::int64_t next_id = 0;  // above all ids that were ever given out, unless it is the largest there is

  // Leaves.
  std::vector<LeafHeader> leaves;
  PageBuffer<std::byte>
      values;  // [num_leaves][num_attributes][block_rows] of the value type; unused slots are 0
  PageBuffer<std::int64_t> ids;   // [num_leaves][block_rows]; unused slots are 0
  PageBuffer<std::byte> corners;  // [num_leaves][kNumCorners][num_attributes] of the value type
  LabelStore labels;
  std::vector<PartitionRange> partitions;

  // Inner nodes, level 1 first; the root is the last one. No node: an empty index.
  BoundLayout layout{0};
  NodePool nodes;
  int height = 0;

  int num_attributes() const { return static_cast<int>(attributes.size()); }
  std::size_t value_bytes() const {
    return value_type == ValueType::float32 ? sizeof(float) : sizeof(double);
  }
  std::size_t leaf_bytes() const {
    return static_cast<std::size_t>(num_attributes()) * static_cast<std::size_t>(block_rows) * value_bytes();
  }
  std::size_t corner_bytes() const { return static_cast<std::size_t>(num_attributes()) * value_bytes(); }

  template <typename T>
  const T* leaf_values(std::size_t leaf) const {
    return reinterpret_cast<const T*>(values.data() + leaf * leaf_bytes());
  }
  template <typename T>
  const T* corner(std::size_t leaf, Corner which) const {
    return reinterpret_cast<const T*>(
        corners.data() + (leaf * kNumCorners + static_cast<std::size_t>(which)) * corner_bytes());
  }
  const std::int64_t* leaf_ids(std::size_t leaf) const {
    return ids.data() + leaf * static_cast<std::size_t>(block_rows);
  }
  // The oriented value of attribute `attribute` in slot `row` = leaf * block_rows + slot in leaf.
  double value(std::uint64_t row, int attribute) const;
  std::string_view label(std::uint64_t row) const;
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
