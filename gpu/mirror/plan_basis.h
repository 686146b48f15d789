// What plans of queries read of a snapshot, in one piece beside its mirror.
#pragma once

#include <cstddef>
#include <vector>

#include "base/host_device.h"
#include "culmen/schema.h"
#include "query/chain.h"

namespace culmen {
struct Snapshot;
}

namespace culmen::gpu {

// Followed by its arrays, [num_attributes] each.
struct alignas(BoundUnit) PlanBasis {
  BoundLayout layout;
  bool exact_sums = false;

  CULMEN_HOST_DEVICE const BoundUnit* units() const { return reinterpret_cast<const BoundUnit*>(this + 1); }
  // Of values that are not missing or, for queries that rank stand-ins, with these.
  CULMEN_HOST_DEVICE const AttributeStats* stats_of(bool fills) const {
    const auto* stats = reinterpret_cast<const AttributeStats*>(units() + layout.num_attributes());
    return fills ? stats + layout.num_attributes() : stats;
  }
  CULMEN_HOST_DEVICE const Preference* preferences() const {
    return reinterpret_cast<const Preference*>(stats_of(true) + layout.num_attributes());
  }
  CULMEN_HOST_DEVICE BoundBasis bounds(bool fills) const {
    return {&layout, units(), stats_of(fills), exact_sums};
  }
};
static_assert(alignof(BoundUnit) >= alignof(AttributeStats));

constexpr std::size_t plan_basis_bytes(std::size_t num_attributes) {
  return sizeof(PlanBasis) +
         num_attributes * (sizeof(BoundUnit) + 2 * sizeof(AttributeStats) + sizeof(Preference));
}
std::vector<std::byte> make_plan_basis(const Snapshot& snapshot);

}  // namespace culmen::gpu
