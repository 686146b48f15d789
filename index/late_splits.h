// LateSplits: splits of single partitions, each in two by one column: of those that have grown since the build, and all
// of a clustered build (index/build/cluster_cuts.h).
//
// The rows at or above the cut form a new partition, which gets the next free number and directly follows the split one
// in the tree's order. Cuts are unscaled values, since inserted rows may lie beyond the range that the build scaled. Columns
// are numbered as in Partitioner::cluster.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace culmen {

// Moves those rows whose value is at least `cut` from `partition`, as earlier splits have left it, to a new one.
struct LateSplit {
  std::uint32_t partition = 0;
  std::uint32_t column = 0;
  double cut = 0;

  friend bool operator==(const LateSplit&, const LateSplit&) = default;
};

class LateSplits {
 public:
  LateSplits() = default;
  explicit LateSplits(std::uint32_t num_built) : num_built_(num_built) {}

  // Returns false, and changes nothing, if there is no such partition, if the cut is not finite or is outside the cuts
  // around the partition, if there are kMaxPartitions already, or if splits would nest too deeply.
  bool add(const LateSplit& split);

  const std::vector<LateSplit>& all() const { return splits_; }  // in the order in which they were added
  std::size_t size() const { return splits_.size(); }
  bool empty() const { return splits_.empty(); }
  // The partitions of the build, and one more for each split.
  std::uint32_t num_partitions() const { return num_built_ + static_cast<std::uint32_t>(splits_.size()); }
  // For each partition, the partition of the build that contained its rows.
  std::vector<std::uint32_t> origins() const;
  // All partitions in the tree's order: each new one directly after the one that it was split from.
  std::vector<std::uint32_t> order() const;

  // The partition of a row that the build's cuts put into `built`. value(i) is the row's value in column i, unscaled.
  template <typename Value>
  std::uint32_t partition_of(std::uint32_t built, const Value& value) const;

  // When a writer splits a partition, how many cuts by changing columns it may nest. More would slow down
  // partition_of.
  static constexpr int kMaxNesting = 32;
  // Returns true if kMaxNesting more nested splits fit below `partition`.
  bool can_be_split(std::uint32_t partition) const;

 private:
  // Successive splits by one column share a node. In a column that only ever rises the last part is split again and
  // again, and a binary tree would become a list.
  struct Node {
    std::uint32_t column;
    std::uint32_t depth;
    std::vector<double> cuts;             // ascending
    std::vector<std::uint32_t> children;  // [cuts.size() + 1] partitions, or kIsNode | index in nodes_
  };
  static constexpr std::uint32_t kIsNode = std::uint32_t{1} << 31, kNone = ~std::uint32_t{0};

  bool fits(const LateSplit& split) const;
  bool fits_into_parent(const LateSplit& split, const Node& parent) const;
  std::uint32_t parent_of(std::uint32_t partition) const {
    return splits_.empty() ? kNone : parents_[partition];
  }

  std::uint32_t num_built_ = 1;
  std::vector<LateSplit> splits_;
  std::vector<Node> nodes_;
  // Positions in nodes_, or kNone. Both vectors are empty as long as there is no split.
  std::vector<std::uint32_t> roots_;    // [num_built_] the node where partition_of begins
  std::vector<std::uint32_t> parents_;  // [num_partitions()] the node with the partition as a child
};

template <typename Value>
std::uint32_t LateSplits::partition_of(std::uint32_t built, const Value& value) const {
  std::uint32_t next = splits_.empty() ? kNone : roots_[built];
  if (next == kNone) return built;
  while (true) {
    const Node& node = nodes_[next];
    const auto after = std::upper_bound(node.cuts.begin(), node.cuts.end(), value(node.column));
    const std::uint32_t child = node.children[static_cast<std::size_t>(after - node.cuts.begin())];
    if ((child & kIsNode) == 0) return child;
    next = child & ~kIsNode;
  }
}

}  // namespace culmen
