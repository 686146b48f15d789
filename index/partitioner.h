// Partitioners: which part of the table a row belongs to, and where in the part's order it stands.
//
// kd and angle: level by level. Level 0 cuts the table into shells by the sum of the scaled attributes, each half as
// large as the one below: what the best rows of most queries share is a high sum, and there the leaves are to be the
// most compact. Each level cuts each part made so far at quantiles of that part's own rows in a sample.
//
// kd: the next levels halve each part by its own widest attribute (Bentley's k-d tree, CACM 1975; the widest: Friedman,
// Bentley and Finkel, TOMS 1977), or by an angle where no attribute spreads.
// angle (GTA, section 3.3): they cut by angles in turn. Seen from the best corner of the scaled table, y_i = 1 - x_i,
// these are
//   tan^2(phi_i) = (y_(i+1)^2 + ... + y_d^2) / y_i^2.
// Cuts are compared as y_(i+1)^2 + ... >= cut * y_i^2: only operations that IEEE 754 rounds exactly, so every machine
// puts a row into the same partition.
// random: by position in the table.
//
// A partition that changes have made large is cut in two by one attribute (late splits). Its upper part, from the cut on,
// becomes a partition with the next number, which follows it in the tree's order. These cuts are on values
// as they are, for rows that come may lie beyond the range that was scaled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "culmen/schema.h"
#include "index/attribute_stats.h"
#include "index/order_key.h"
#include "index/row_chunk.h"

namespace culmen {

// Level i cuts each part into splits[i].
std::vector<PartitionLevel> partition_levels(Partitioning kind, std::span<const std::int32_t> splits,
                                             std::size_t num_attributes);

// Cuts `partition`, as it is by then: values of the attribute from `cut` on go to a new one.
struct LateSplit {
  std::uint32_t partition = 0;
  std::uint32_t attribute = 0;
  double cut = 0;

  friend bool operator==(const LateSplit&, const LateSplit&) = default;
};

class Partitioner {
 public:
  Partitioner() = default;

  // Kind kd or angle. Level i cuts each part into splits[i]; 1 at level 0: no shells. No level: one partition. Cuts are
  // from a sample of the table.
  static Partitioner from_sample(Partitioning kind, std::span<const AttributeStats> stats,
                                 std::vector<std::int32_t> splits, const RowChunk& sample);
  static Partitioner random(std::span<const AttributeStats> stats, std::uint32_t num_partitions);
  // From its stored parts, checked: throws InvalidArgument if they do not fit together.
  static Partitioner restore(Partitioning kind, std::vector<double> minimum, std::vector<double> maximum,
                             std::vector<std::int32_t> splits, std::vector<double> cuts,
                             std::vector<std::uint8_t> own_coordinates, std::uint32_t num_partitions);
  // This one and more cuts, which come in order. Throws InvalidArgument if one of them does not fit.
  Partitioner with(std::span<const LateSplit> cuts) const;

  // Keys of chunk. `first_row` and `num_rows` of the table matter to `random` only.
  void keys(const RowChunk& chunk, std::uint64_t first_row, std::uint64_t num_rows,
            std::span<OrderKey> out) const;

  // The bits of a row's key behind the partition. value(i) is attribute i.
  template <typename Value>
  OrderKey order_of(const Value& value) const;

  Partitioning kind() const { return kind_; }
  std::uint32_t num_partitions() const {
    return num_partitions_ + static_cast<std::uint32_t>(late_splits_.size());
  }
  const std::vector<LateSplit>& late_splits() const { return late_splits_; }
  // Of each partition, the one that the levels made and that it was cut from; of those that they made, itself.
  std::vector<std::uint32_t> origins() const;
  // Where the late splits send a row that the levels put into `partition`. value(i) is attribute i.
  template <typename Value>
  std::uint32_t later_partition(std::uint32_t partition, const Value& value) const;
  // Late splits within late splits by other attributes: more would only make rows slow to place.
  static constexpr int kMaxLaterDepth = 32;
  // Whether a partition can be cut so deep once more.
  bool can_be_cut(std::uint32_t partition) const;
  // All partitions in the tree's order: by number, each one cut off behind what it was cut from.
  std::vector<std::uint32_t> order() const;
  const std::vector<double>& minimum() const { return minimum_; }
  const std::vector<double>& maximum() const { return maximum_; }
  const std::vector<std::int32_t>& splits() const { return splits_; }
  const std::vector<double>& cuts() const { return cuts_; }
  const std::vector<std::uint8_t>& own_coordinates() const { return own_coordinates_; }
  const std::vector<double>& inverse() const { return inverse_; }
  std::vector<PartitionLevel> levels() const { return partition_levels(kind_, splits_, minimum_.size()); }

 private:
  struct Coordinates;
  struct Parts;
  void cut_level(const Coordinates& coordinates, const PartitionLevel& level, std::size_t number,
                 const Parts& parts);
  void refine(const Coordinates& coordinates, const PartitionLevel& level,
              std::span<std::uint32_t> partition) const;
  void set_scale(std::span<const AttributeStats> stats);
  void set_inverse();
  double scaled(double value, std::size_t attribute) const {
    return scaled_to_one(value, minimum_[attribute], inverse_[attribute]);
  }
  RowChunk scaled(const RowChunk& chunk) const;
  bool can_add(const LateSplit& cut) const;
  void add(const LateSplit& cut);
  bool joins_node_above(const LateSplit& cut) const;

  Partitioning kind_ = Partitioning::random;
  std::uint32_t num_partitions_ = 1;       // before late splits
  std::vector<double> minimum_, maximum_;  // [num_attributes] oriented; the range that is scaled to 0..1
  std::vector<double> inverse_;            // 1 / (half the range)
  std::vector<std::int32_t> splits_;  // [num levels] parts that each part is cut into; >= 2 but at level 0
  std::vector<double> cuts_;          // level by level, part by part: splits[level] - 1 ascending cuts
  std::vector<std::uint8_t> own_coordinates_;  // kd: of each cut, as of order_key.h; of shells 0
  std::vector<LateSplit> late_splits_;

  // The late splits as a tree. Those on one attribute that follow each other stand in one node, however many: where a
  // column always rises, it is always the last part that is cut again.
  struct CutNode {
    std::uint32_t attribute;
    std::uint32_t depth;
    std::vector<double> cuts;             // ascending
    std::vector<std::uint32_t> children;  // one more: partitions, or kIsNode and the number of a node
  };
  static constexpr std::uint32_t kIsNode = std::uint32_t{1} << 31, kNone = ~std::uint32_t{0};
  std::vector<CutNode> cut_nodes_;
  // [num_partitions()], once there are such cuts: the node where the cuts of a partition begin, of those that were there
  // before; the node that it is a child of. Or kNone.
  std::vector<std::uint32_t> cut_node_of_, cut_node_above_;
};

template <typename Value>
OrderKey Partitioner::order_of(const Value& value) const {
  double largest = 0, sum = 0;
  for (std::size_t i = 0; i < minimum_.size(); ++i) {
    const double x = scaled_value(value(i), minimum_[i], inverse_[i]);
    largest = std::max(largest, x);
    sum += cut_off_at_one(x);
  }
  return pack_order(largest, sum / static_cast<double>(minimum_.size()));
}

template <typename Value>
std::uint32_t Partitioner::later_partition(std::uint32_t partition, const Value& value) const {
  std::uint32_t next = late_splits_.empty() ? kNone : cut_node_of_[partition];
  if (next == kNone) return partition;
  while (true) {
    const CutNode& node = cut_nodes_[next];
    const auto after = std::upper_bound(node.cuts.begin(), node.cuts.end(), value(node.attribute));
    const std::uint32_t child = node.children[static_cast<std::size_t>(after - node.cuts.begin())];
    if ((child & kIsNode) == 0) return child;
    next = child & ~kIsNode;
  }
}

// Levels for about `num_partitions` partitions and not more: shells, then halves.
std::vector<std::int32_t> choose_splits(Partitioning kind, int num_attributes, std::uint32_t num_partitions);

}  // namespace culmen
