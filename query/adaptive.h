// Engine::automatic: begins with `bounded`, which answers most queries after a few dozen blocks, and looks
// now and then at what is left. Where that would take longer than reading the whole table, `scan` takes over
// with the floor that was reached.
//
// So easy queries are planned at no cost. A hard one loses what the search did before the look that gave up
// on it: the first is after some 200 visits, fewer where many threads would share a scan, each later one
// after twice as many, and a search goes on only while the rest is expected to be about as cheap as a scan.
// Tables of fewer than 1,024 blocks are not worth a look to one thread.
#pragma once

#include <vector>

#include "culmen/query.h"
#include "index/resolved_query.h"
#include "index/snapshot.h"
#include "query/cost_model.h"
#include "query/current_costs.h"

namespace culmen {

// Those that share a scan, or gta, of a table: one, where it is not worth waking a second. Throws
// InvalidArgument for a negative num_threads.
Threads sharing_threads(const Snapshot& snapshot, int num_threads);

// Sets stats.engine to the one that answered. `costs` is asked for at the first look, if there is one.
std::vector<Hit> search_adaptive(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                                 SearchStats& stats, MachineCosts (*costs)() = current_costs);

}  // namespace culmen
