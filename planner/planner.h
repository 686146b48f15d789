// Chooses the engine for a query and says why, without answering it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "culmen/plan.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "planner/device_costs.h"
#include "query/resolved_query.h"

namespace culmen {

struct Plan {
  Engine engine = Engine::bounded;  // never automatic
  std::string reason;
  std::vector<Prediction> predictions;  // of bounded and scan, the chosen one first; GPU 0 last
  double copy_us = 0;                   // of the index to GPU 0
};

// `wanted` other than automatic is obeyed. For a single query with options.num_threads. Cost: a probe, which
// is a search by bounds that ends after a few hundred visits, and a scan of a sample. `device`: of a GPU, if
// there is one; it is predicted, never chosen. `slowness`: by which all costs on the CPU are multiplied
// (planner/speed_factor.h).
Plan make_plan(const Snapshot& snapshot, const ResolvedQuery& query, const SearchOptions& options,
               const CostsNs& costs, double slowness, const std::optional<DeviceCosts>& device);

// Placement for a batch, or for one query. Cost: probes of a few queries.
Placement place_queries(const Snapshot& snapshot, std::span<const ResolvedQuery> queries,
                        const PlacementOptions& options, const CostsNs& costs, double slowness,
                        const std::optional<DeviceCosts>& device);

// The plan and the bound of a query as text for people.
Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan);

}  // namespace culmen
