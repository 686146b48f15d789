// The tree that a bulk load leaves on a device, for the index's mirror.
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/mirror/slot_arrays.h"

namespace culmen::gpu {

struct LoadedTree {
  std::shared_ptr<SlotArrays> arrays;    // all slots of the version are written
  std::weak_ptr<const SlotArena> arena;  // of these slots
  std::uint64_t version;
};

}  // namespace culmen::gpu
