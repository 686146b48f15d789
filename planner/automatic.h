// Engine::automatic: starts with `bounded`, which answers most queries after a few dozen leaves. At checkpoints it
// compares the rest of the search with a scan; if the scan is cheaper, it scans the leaves whose bounds reach the k-th
// score bound so far.
//
// So an easy query pays nothing for planning. A hard one loses the work before the checkpoint that gave up: the first
// checkpoint is after some 200 visits (fewer if many threads would share a scan), each later one after twice as many,
// and a search goes on only while its rest is expected to cost about as much as a scan. On one thread, a table of fewer
// than 1,024 leaves has no checkpoint.
#pragma once

#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "query/resolved_query.h"

namespace culmen {

// The threads that share a scan of the table: only as many as there are tasks, so one for a small table. Throws
// InvalidArgument for a negative num_threads.
int scan_threads(const Snapshot& snapshot, int num_threads);

// True if k, without a minimum score, is so large that the heap of a search by bounds costs more than a scan on so
// many threads. Then the query is scanned at once.
bool asks_for_most(const Snapshot& snapshot, const ResolvedQuery& query, int threads);

// A search by Engine::automatic up to its end, or to the point where a scan must answer.
struct AutomaticStart {
  Engine engine = Engine::bounded;  // bounded: the answer is complete; scan: the scan is still to run
  bool gave_up = false;             // a search by bounds ran and a scan is cheaper than its rest
  bool scans_all = false;           // bounds prune so little that the scan is faster without them
  std::vector<Hit> hits;            // of the search by bounds: the answer, or the best so far
  Work expected;                    // if it gave up: its work, had it run to its end
};

// Both search_automatic and the planner's explanation decide by this. `threads`: of scan_threads(). Adds the work of
// the search by bounds to `stats`.
AutomaticStart start_automatic(const Snapshot& snapshot, const ResolvedQuery& query, int threads,
                               SearchStats& stats, const CostsNs& costs);

// Sets stats.engine to the one that answered.
std::vector<Hit> search_automatic(const Snapshot& snapshot, const ResolvedQuery& query, int num_threads,
                                  SearchStats& stats, const CostsNs& costs = {});

}  // namespace culmen
