#include "index/late_splits.h"

#include <cmath>
#include <numeric>
#include <utility>

#include "index/order_key.h"

namespace culmen {
namespace {

constexpr std::uint32_t kMaxSplitDepth = 2 * LateSplits::kMaxNesting;
constexpr std::size_t kMaxCutsPerNode = 1024;  // inserting a cut moves those after it

}  // namespace

bool LateSplits::add(const LateSplit& split) {
  if (!fits(split)) return false;
  roots_.resize(num_built_, kNone);
  parents_.resize(num_partitions(), kNone);
  const std::uint32_t parent = parents_[split.partition], fresh = num_partitions();
  splits_.push_back(split);
  if (parent != kNone && fits_into_parent(split, nodes_[parent])) {
    Node& node = nodes_[parent];
    const auto position = std::ranges::upper_bound(node.cuts, split.cut) - node.cuts.begin();
    node.cuts.insert(node.cuts.begin() + position, split.cut);
    node.children.insert(node.children.begin() + position + 1, fresh);
    parents_.push_back(parent);
    return true;
  }
  const auto index = static_cast<std::uint32_t>(nodes_.size());
  std::uint32_t depth = 1;
  if (parent == kNone) {
    roots_[split.partition] = index;
  } else {
    *std::ranges::find(nodes_[parent].children, split.partition) = kIsNode | index;
    depth = nodes_[parent].depth + 1;
  }
  nodes_.push_back({split.column, depth, {split.cut}, {split.partition, fresh}});
  parents_[split.partition] = index;
  parents_.push_back(index);
  return true;
}

bool LateSplits::fits(const LateSplit& split) const {
  if (split.partition >= num_partitions() || num_partitions() == kMaxPartitions || !std::isfinite(split.cut))
    return false;
  const std::uint32_t parent = parent_of(split.partition);
  if (parent == kNone) return true;
  const Node& node = nodes_[parent];
  if (node.column != split.column) return node.depth < kMaxSplitDepth;
  // The cut lies between those on either side of the partition.
  const auto after = std::ranges::upper_bound(node.cuts, split.cut);
  return node.children[static_cast<std::size_t>(after - node.cuts.begin())] == split.partition &&
         (after == node.cuts.begin() || *(after - 1) < split.cut) &&
         (fits_into_parent(split, node) || node.depth < kMaxSplitDepth);
}

bool LateSplits::fits_into_parent(const LateSplit& split, const Node& parent) const {
  return parent.column == split.column && parent.cuts.size() < kMaxCutsPerNode;
}

bool LateSplits::can_be_split(std::uint32_t partition) const {
  const std::uint32_t parent = parent_of(partition);
  return parent == kNone || nodes_[parent].depth <= kMaxSplitDepth - kMaxNesting;
}

std::vector<std::uint32_t> LateSplits::origins() const {
  std::vector<std::uint32_t> origins(num_built_);
  std::iota(origins.begin(), origins.end(), 0U);
  origins.reserve(num_partitions());
  for (const LateSplit& split : splits_) origins.push_back(origins[split.partition]);
  return origins;
}

std::vector<std::uint32_t> LateSplits::order() const {
  std::vector<std::uint32_t> next(num_built_);
  std::iota(next.begin(), next.end(), 1U);
  next.reserve(num_partitions());
  for (const LateSplit& split : splits_) {
    const auto fresh = static_cast<std::uint32_t>(next.size());
    next.push_back(std::exchange(next[split.partition], fresh));
  }
  std::vector<std::uint32_t> order;
  for (std::uint32_t p = 0; order.size() < next.size(); p = next[p]) order.push_back(p);
  return order;
}

}  // namespace culmen
