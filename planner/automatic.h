// Engine::automatic: begins with `bounded`, which answers most queries after a few dozen leaves, and comes to a
// checkpoint now and then. Where what is left would take longer than reading the whole table, a scan takes over, of
// the leaves that reach the k-th score bound so far.
//
// So easy queries are planned at no cost. A hard one loses what the search did before the checkpoint that gave
// up on it: the first is after some 200 visits, fewer where many threads would share a scan, each later one
// after twice as many, and a search goes on only while the rest is expected to be about as cheap as a scan.
// In a table of fewer than 1,024 leaves there is none for one thread.
#pragma once

#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "query/resolved_query.h"

namespace culmen {

// That share a scan of the table: no more than have enough to do, so one for a small table. Throws
// InvalidArgument for a negative num_threads.
int scan_threads(const Snapshot& snapshot, int num_threads);

// Sets stats.engine to the one that answered.
std::vector<Hit> search_automatic(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                                  SearchStats& stats, const CostsNs& costs = {});

// Whether k, without a smallest score, is so large that the heap of a search by bounds costs more than a scan on so many
// threads: then the answer is a scan's from the beginning.
bool asks_for_most(const Snapshot& snapshot, const ResolvedQuery& query, int threads);

}  // namespace culmen
