// Chooses the engine for a query and says why, without answering it.
#pragma once

#include <string>
#include <vector>

#include "culmen/query.h"
#include "index/resolved_query.h"
#include "index/snapshot.h"
#include "query/machine_costs.h"

namespace culmen {

struct Plan {
  Engine engine = Engine::bounded;  // never automatic
  std::string reason;
  std::vector<Prediction> predictions;  // the chosen engine first; without ta
};

// `wanted` other than automatic is obeyed. For a single query with options.num_threads. Cost: a probe, which
// is a search by bounds that ends after a few hundred visits.
Plan make_plan(const Snapshot& snapshot, const ResolvedQuery& query, const SearchOptions& options,
               const MachineCosts& costs);

// The plan and the bound of a query as text for people.
Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan);

}  // namespace culmen
