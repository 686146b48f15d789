// Chooses the engine for a query and says why, without answering it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "culmen/query.h"
#include "index/resolved_query.h"
#include "index/snapshot.h"
#include "query/device_costs.h"
#include "query/machine_costs.h"

namespace culmen {

struct Plan {
  Engine engine = Engine::bounded;  // never automatic
  std::string reason;
  std::vector<Prediction> predictions;  // the chosen engine first, GPU 0 last; without ta
  double copy_us = 0;                   // of the index to GPU 0
};

// `wanted` other than automatic is obeyed. For a single query with options.num_threads. Cost: a probe, which
// is a search by bounds that ends after a few hundred visits, and a rehearsal of scan and gta. `device`: of a
// GPU, if there is one; it is predicted, never chosen.
Plan make_plan(const Snapshot& snapshot, const ResolvedQuery& query, const SearchOptions& options,
               const MachineCosts& costs, const std::optional<DeviceCosts>& device);

// Placement for a batch, or for one query. Cost: probes of a few queries.
Placement place_queries(const Snapshot& snapshot, std::span<const ResolvedQuery> queries,
                        const PlacementOptions& options, const MachineCosts& costs,
                        const std::optional<DeviceCosts>& device);

// The plan and the bound of a query as text for people.
Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan);

}  // namespace culmen
