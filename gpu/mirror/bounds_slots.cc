#include "gpu/mirror/bounds_slots.h"

#include <algorithm>

namespace culmen::gpu {
namespace {

constexpr std::uint32_t kNoSlot = 0xffffffff;
constexpr std::uint32_t kGroup = 32;  // slots that one warp reads together

// Spare slots for splits: one for so many nodes, and those that fill the last group.
constexpr std::uint32_t kRoomToGrow = 32;
// Slots for each node beyond which all nodes get new slots.
constexpr std::uint32_t kTooMany = 4;

// The nth of `num_slots` slots to be filled: neighbours in the tree are in different groups.
std::uint32_t nth_slot(std::uint32_t n, std::uint32_t num_slots) {
  const std::uint32_t num_groups = num_slots / kGroup;
  return n % num_groups * kGroup + n / num_groups;
}

}  // namespace

std::uint32_t BoundsSlots::slot_of(std::uint32_t node) const {
  return node < slot_of_.size() ? slot_of_[node] : kNoSlot;
}

void BoundsSlots::put(std::uint32_t slot, std::uint32_t node) {
  node_at_[slot] = node;
  if (node == kNoNode) return;
  if (node >= slot_of_.size()) slot_of_.resize(node + std::size_t{1} + node / kRoomToGrow, kNoSlot);
  slot_of_[node] = slot;
}

std::vector<BoundsSlot> BoundsSlots::update(std::span<const TreeChanges::Node> level_1) {
  if (level_1.size() > size() || (size() > kGroup && level_1.size() < size() / kTooMany))
    return lay_out(level_1);
  std::vector<BoundsSlot> changes;
  std::vector<bool> stays(size());
  std::vector<std::uint32_t> arrivals;
  for (const TreeChanges::Node& node : level_1) {
    const std::uint32_t slot = slot_of(node.slot);
    if (slot == kNoSlot) {
      arrivals.push_back(node.slot);
    } else {
      stays[slot] = true;
      if (node.is_new) changes.push_back({slot, node.slot});
    }
  }
  std::vector<std::uint32_t> left, empty;
  for (std::uint32_t slot = 0; slot < size(); ++slot)
    if (!stays[slot] && node_at_[slot] != kNoNode) left.push_back(slot);
  for (std::uint32_t n = 0; n < size() && left.size() + empty.size() < arrivals.size(); ++n) {
    const std::uint32_t slot = nth_slot(n, size());
    if (node_at_[slot] == kNoNode) empty.push_back(slot);
  }
  for (const std::uint32_t slot : left) slot_of_[node_at_[slot]] = kNoSlot;
  for (std::size_t i = 0; i < std::max(left.size(), arrivals.size()); ++i) {
    const std::uint32_t slot = i < left.size() ? left[i] : empty[i - left.size()];
    changes.push_back({slot, i < arrivals.size() ? arrivals[i] : kNoNode});
    put(slot, changes.back().node);
  }
  return changes;
}

std::vector<BoundsSlot> BoundsSlots::lay_out(std::span<const TreeChanges::Node> level_1) {
  const auto num_nodes = static_cast<std::uint32_t>(level_1.size());
  const std::uint32_t num_slots = (num_nodes + num_nodes / kRoomToGrow + kGroup - 1) / kGroup * kGroup;
  node_at_.assign(num_slots, kNoNode);
  slot_of_.clear();
  std::vector<BoundsSlot> changes;
  for (std::uint32_t n = 0; n < num_slots; ++n) {
    const std::uint32_t slot = nth_slot(n, num_slots);
    changes.push_back({slot, n < num_nodes ? level_1[n].slot : kNoNode});
    put(slot, changes.back().node);
  }
  return changes;
}

}  // namespace culmen::gpu
