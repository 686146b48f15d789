#include "gpu/mirror/node_places.h"

#include <algorithm>

namespace culmen::gpu {
namespace {

constexpr std::uint32_t kNoPlace = 0xffffffff;
constexpr std::uint32_t kGroup = 32;  // places that one warp reads together

// Room for splits: one node in so many, beside what it takes to fill the last group.
constexpr std::uint32_t kRoomToGrow = 32;
// Places for each node from which on the nodes are laid out anew.
constexpr std::uint32_t kTooMany = 4;

// The nth place to be filled of `num_places`: neighbours in the tree stand in different groups.
std::uint32_t nth_place(std::uint32_t n, std::uint32_t num_places) {
  const std::uint32_t num_groups = num_places / kGroup;
  return n % num_groups * kGroup + n / num_groups;
}

}  // namespace

std::uint32_t NodePlaces::place_of(std::uint32_t node) const {
  return node < place_of_.size() ? place_of_[node] : kNoPlace;
}

void NodePlaces::put(std::uint32_t place, std::uint32_t node) {
  node_at_[place] = node;
  if (node == kNoNode) return;
  if (node >= place_of_.size()) place_of_.resize(node + std::size_t{1} + node / kRoomToGrow, kNoPlace);
  place_of_[node] = place;
}

std::vector<NodePlace> NodePlaces::update(std::span<const TreeChanges::Node> level_1) {
  if (level_1.size() > size() || (size() > kGroup && level_1.size() < size() / kTooMany))
    return lay_out(level_1);
  std::vector<NodePlace> changes;
  std::vector<bool> stays(size());
  std::vector<std::uint32_t> arrivals;
  for (const TreeChanges::Node& node : level_1) {
    const std::uint32_t place = place_of(node.slot);
    if (place == kNoPlace) {
      arrivals.push_back(node.slot);
    } else {
      stays[place] = true;
      if (node.is_new) changes.push_back({place, node.slot});
    }
  }
  std::vector<std::uint32_t> left, empty;
  for (std::uint32_t n = 0; n < size(); ++n) {
    const std::uint32_t place = nth_place(n, size());
    if (stays[place]) continue;
    (node_at_[place] == kNoNode ? empty : left).push_back(place);
  }
  for (const std::uint32_t place : left) place_of_[node_at_[place]] = kNoPlace;
  for (std::size_t i = 0; i < std::max(left.size(), arrivals.size()); ++i) {
    const std::uint32_t place = i < left.size() ? left[i] : empty[i - left.size()];
    changes.push_back({place, i < arrivals.size() ? arrivals[i] : kNoNode});
    put(place, changes.back().node);
  }
  return changes;
}

std::vector<NodePlace> NodePlaces::lay_out(std::span<const TreeChanges::Node> level_1) {
  const auto num_nodes = static_cast<std::uint32_t>(level_1.size());
  const std::uint32_t num_places = (num_nodes + num_nodes / kRoomToGrow + kGroup - 1) / kGroup * kGroup;
  node_at_.assign(num_places, kNoNode);
  place_of_.clear();
  std::vector<NodePlace> changes;
  for (std::uint32_t n = 0; n < num_places; ++n) {
    const std::uint32_t place = nth_place(n, num_places);
    changes.push_back({place, n < num_nodes ? level_1[n].slot : kNoNode});
    put(place, changes.back().node);
  }
  return changes;
}

}  // namespace culmen::gpu
