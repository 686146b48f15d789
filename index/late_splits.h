// LateSplits: splits partitions that have grown since the build in two, by one attribute each.
//
// The rows from the cut on get a partition of their own, which has the next free number and follows the split one in
// the tree's order. Cuts are unscaled values, since inserted rows may lie beyond the range that is scaled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace culmen {

// Moves the rows of `partition`, as it is by then, whose attribute is `cut` or more to a new partition.
struct LateSplit {
  std::uint32_t partition = 0;
  std::uint32_t attribute = 0;
  double cut = 0;

  friend bool operator==(const LateSplit&, const LateSplit&) = default;
};

class LateSplits {
 public:
  LateSplits() = default;
  explicit LateSplits(std::uint32_t num_built) : num_built_(num_built) {}

  // Returns false, and changes nothing, if there is no such partition, if the cut is outside of it, or if splits are
  // nested too deeply.
  bool add(const LateSplit& split);

  const std::vector<LateSplit>& all() const { return splits_; }  // in the order in which they were added
  std::size_t size() const { return splits_.size(); }
  bool empty() const { return splits_.empty(); }
  // Partitions of the build, and one more for each split.
  std::uint32_t num_partitions() const { return num_built_ + static_cast<std::uint32_t>(splits_.size()); }
  // For each partition, the one of the build that it is a part of.
  std::vector<std::uint32_t> origins() const;
  // All partitions in the tree's order: each new one directly after the one that it was split from.
  std::vector<std::uint32_t> order() const;

  // The partition of a row that is in `built` after the build. value(i) is attribute i.
  template <typename Value>
  std::uint32_t partition_of(std::uint32_t built, const Value& value) const;

  // Splits by different attributes that one split of a partition may nest: deeper ones would slow down partition_of.
  static constexpr int kMaxNesting = 32;
  // Returns true if `partition` can take kMaxNesting nested splits more.
  bool can_be_split(std::uint32_t partition) const;

 private:
  // Successive splits by one attribute share a node. If a column always rises, it is always the last part that is split
  // again, and a binary tree would become a list.
  struct Node {
    std::uint32_t attribute;
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
  // Indexes in nodes_, or kNone. Both are empty as long as there is no split.
  std::vector<std::uint32_t> roots_;    // [num_built_] where partition_of begins
  std::vector<std::uint32_t> parents_;  // [num_partitions()] the node that has the partition as a child
};

template <typename Value>
std::uint32_t LateSplits::partition_of(std::uint32_t built, const Value& value) const {
  std::uint32_t next = splits_.empty() ? kNone : roots_[built];
  if (next == kNone) return built;
  while (true) {
    const Node& node = nodes_[next];
    const auto after = std::upper_bound(node.cuts.begin(), node.cuts.end(), value(node.attribute));
    const std::uint32_t child = node.children[static_cast<std::size_t>(after - node.cuts.begin())];
    if ((child & kIsNode) == 0) return child;
    next = child & ~kIsNode;
  }
}

}  // namespace culmen
