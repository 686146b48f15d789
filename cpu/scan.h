// Engine `scan` (the paper's CFTE): looks at every row in one pass; scores are never written to memory.
// Cost: reads the codes of every used column once, in a stream, with all threads of the caller's arena, and the values of
// the rows that they leave; all values as long as there is no k-th score bound.
#pragma once

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

std::vector<Hit> search_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The k-th score bound that it begins with: the score of the k-th of the rows in a few leaves with the highest bounds, at least
// query.min_score. No row below it is in the answer. Without it each thread would have to score many rows before codes
// leave any out.
double kth_bound_of_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The same answer where query.min_score is a good k-th score bound: leaves are passed over whose chain bound is below it, or
// that lie outside a range. The best k-th score bound, the k-th score itself, leaves those that `bounded` reads, here in a stream
// and by all threads. Cost: the bounds of all level-1 nodes, and those leaves.
std::vector<Hit> search_pruned_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

}  // namespace culmen::cpu
