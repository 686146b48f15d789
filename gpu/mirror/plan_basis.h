// What plans of queries read of a snapshot, in one piece beside its mirror.
#pragma once

#include "base/host_device.h"
#include "culmen/schema.h"
#include "query/chain.h"

namespace culmen {
struct Snapshot;
}

namespace culmen::gpu {

struct PlanBasis {
  BoundLayout layout;
  BoundUnit units[kMaxAttributes];
  AttributeStats stats[kMaxAttributes];
  Preference preferences[kMaxAttributes] = {};
  bool exact_sums = false;

  CULMEN_HOST_DEVICE BoundBasis bounds() const { return {&layout, units, stats, exact_sums}; }
};

PlanBasis make_plan_basis(const Snapshot& snapshot);

}  // namespace culmen::gpu
