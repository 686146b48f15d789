// BoundsSlots: assigns level-1 nodes to the slots of a mirror's arrays of their bounds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpu/mirror/write_slots.h"
#include "index/tree_changes.h"

namespace culmen::gpu {

class BoundsSlots {
 public:
  // A multiple of 32.
  std::uint32_t size() const { return static_cast<std::uint32_t>(node_at_.size()); }

  // Assigns slots to a version's level-1 nodes. Returns the slots that differ from the version before. A remaining
  // node keeps its slot, and new ones take those of removed nodes. If nodes have become too many or very few, all get
  // new slots.
  std::vector<BoundsSlot> update(std::span<const TreeChanges::Node> level_1);

 private:
  std::vector<BoundsSlot> lay_out(std::span<const TreeChanges::Node> level_1);
  void put(std::uint32_t slot, std::uint32_t node);
  std::uint32_t slot_of(std::uint32_t node) const;

  std::vector<std::uint32_t> node_at_;  // [size()]; kNoNode: empty
  std::vector<std::uint32_t> slot_of_;  // by slot of the node; kNoSlot
};

}  // namespace culmen::gpu
