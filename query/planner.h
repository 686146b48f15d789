// Chooses the engine for a query and says why.
#pragma once

#include <string>

#include "culmen/query.h"
#include "index/resolved_query.h"
#include "index/snapshot.h"

namespace culmen {

struct Plan {
  Engine engine = Engine::bounded;  // never automatic
  std::string reason;
};

// `wanted` other than automatic is obeyed.
Plan choose_engine(const Snapshot& snapshot, const ResolvedQuery& query, Engine wanted);

// The plan and the bound of a query as text for people.
Explanation explain_plan(const Snapshot& snapshot, const ResolvedQuery& query, const Plan& plan);

}  // namespace culmen
