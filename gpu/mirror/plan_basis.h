// What plans of queries take from a snapshot, in one piece that lies beside the mirror of it.
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
