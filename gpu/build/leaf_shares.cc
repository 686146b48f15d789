#include "gpu/build/leaf_shares.h"

#include <algorithm>

namespace culmen::gpu {
namespace {

// A partition without leaves begins where the next one does.
PartitionSpan partitions_with(std::uint32_t first_leaf, std::uint32_t end_leaf,
                              std::span<const PartitionRange> partitions) {
  if (first_leaf == end_leaf) return {0, 0};
  const auto begins_after = [](std::uint32_t leaf, const PartitionRange& range) {
    return leaf < range.first_leaf;
  };
  const auto begins_before = [](const PartitionRange& range, std::uint32_t leaf) {
    return range.first_leaf < leaf;
  };
  const auto begin = partitions.begin();
  const auto first = std::upper_bound(begin, partitions.end(), first_leaf, begins_after) - 1;
  const auto end = std::lower_bound(first, partitions.end(), end_leaf, begins_before);
  return {static_cast<std::uint32_t>(first - begin), static_cast<std::uint32_t>(end - begin)};
}

}  // namespace

std::vector<LeafShare> share_leaves(std::span<const PartitionRange> partitions, std::size_t count) {
  const std::uint64_t num_leaves = std::uint64_t{partitions.back().first_leaf} + partitions.back().num_leaves;
  const std::uint64_t num_nodes = (num_leaves + kFanOut - 1) / kFanOut;
  // Rounded up: if there are fewer nodes than shares, the first one has some.
  const auto start_of = [&](std::size_t i) {
    return static_cast<std::uint32_t>(std::min((num_nodes * i + count - 1) / count * kFanOut, num_leaves));
  };
  std::vector<LeafShare> shares;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t first = start_of(i), end = start_of(i + 1);
    shares.push_back({first, end, partitions_with(first, end, partitions)});
  }
  return shares;
}

}  // namespace culmen::gpu
