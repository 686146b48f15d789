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
  BoundUnit units[kMaxDeviceAttributes];
  AttributeStats stats[kMaxDeviceAttributes];   // of values that are not missing
  AttributeStats filled[kMaxDeviceAttributes];  // with stand-ins
  Preference preferences[kMaxDeviceAttributes] = {};
  bool exact_sums = false;

  // fills: for queries that rank stand-ins.
  CULMEN_HOST_DEVICE const AttributeStats* stats_of(bool fills) const { return fills ? filled : stats; }
  CULMEN_HOST_DEVICE BoundBasis bounds(bool fills) const {
    return {&layout, units, stats_of(fills), exact_sums};
  }
};

PlanBasis make_plan_basis(const Snapshot& snapshot);

}  // namespace culmen::gpu
