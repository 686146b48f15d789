// Engine `scan` (the paper's CFTE): one pass over all rows, which never writes scores to memory. It skips nodes and leaves
// that have no row that can pass the filter. Cost: all threads of the caller's arena stream the codes of the used
// columns once, and read the values of the rows that codes leave; while there is no k-th score bound, they read all
// values.
#pragma once

#include <cstdint>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// The leaves that a scan reads, in memory order: those that may have rows that pass the filter.
std::vector<std::uint32_t> leaves_that_may_pass(const Snapshot& snapshot, const Predicate& filter);

std::vector<Hit> search_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The k-th score bound that a scan starts with: the k-th best score within a few leaves of the highest bounds, at least
// query.min_score. No row below it is in the answer. Without it each thread would score many rows before codes exclude
// any.
double kth_bound_of_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

// The same answer, for a query whose min_score is a good k-th score bound: skips leaves whose chain bound is below it,
// too. With the k-th score itself it reads the leaves that `bounded` reads, but as a stream and with all threads. Cost:
// the bounds of all level-1 nodes that the filter leaves, and these leaves.
std::vector<Hit> search_pruned_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

}  // namespace culmen::cpu
