// Plans: the engine for a query with predicted times, and the CPU or a GPU for a batch.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "culmen/plan.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "planner/device_costs.h"
#include "query/resolved_query.h"

namespace culmen {

enum class PlanReason : std::uint8_t {
  named,           // SearchOptions name the engine
  no_rows,         // the index is empty
  most_rows,       // k is a large part of the table
  bounds_prune,    // a search by bounds ran to its end
  scan_is_faster,  // than the rest of a search by bounds
  few_ids,         // can pass the filter
};

struct Plan {
  Engine engine = Engine::bounded;  // automatic: none, as ids are looked up
  PlanReason reason = PlanReason::named;
  Work bounded;             // of a search by bounds to its end
  bool is_counted = false;  // that search ran to its end; else its work is estimated
  std::size_t num_ids = 0;  // that are looked up
  bool has_id_map = false;  // for that
  std::vector<Prediction>
      predictions;     // of bounded and scan, the chosen one first; GPU 0 last; none for a look-up
  double copy_us = 0;  // of the index to GPU 0
};

// The plan of a single query with options.num_threads. For Engine::automatic it runs what a search does until a scan
// would begin (start_automatic), so it names the engine that a search then uses. Any other engine is obeyed, and a
// probe of a few hundred visits predicts `bounded`. Both then scan a sample. `slowness` multiplies all costs on the
// CPU (planner/speed_factor.h). `device`: the costs of a GPU, if there is one; it is predicted, never chosen.
Plan make_plan(const Snapshot& snapshot, const ResolvedQuery& query, const SearchOptions& options,
               const CostsNs& costs, double slowness, const std::optional<DeviceCosts>& device);

// Where a batch, or one query, would be answered sooner. Cost: probes of up to 63 of the queries.
Placement place_queries(const Snapshot& snapshot, std::span<const ResolvedQuery> queries,
                        const PlacementOptions& options, const CostsNs& costs, double slowness,
                        const std::optional<DeviceCosts>& device);

}  // namespace culmen
