// What a scan will do with the rows that it reads, found out by doing it to a part of the table.
//
// Rows stand in key order, not in any order: the k best so far may be replaced a few times or a hundred times
// as often as by chance, and where rows tie, many reach the k-th best in vain. No formula says so, but every
// s-th leaf does, with a heap for the k / s best.
#pragma once

#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "query/resolved_query.h"

namespace culmen {

// Cost: some 500 visits of leaves, less where the table has fewer. The snapshot has rows.
Work sample_scan(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, int threads);

}  // namespace culmen
