// The planner's decisions as text for people.
#pragma once

#include <string>

#include "culmen/plan.h"
#include "index/snapshot.h"
#include "planner/device_costs.h"
#include "planner/planner.h"
#include "query/resolved_query.h"

namespace culmen {

// The plan and the bound of a query.
Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan);

// Compares the CPU with a GPU. `has_copy`: the index is there already.
std::string placement_reason(const PlacementTimes& times, bool has_copy);

}  // namespace culmen
