// The work of a scan, estimated by scanning a sample of the table.
//
// Rows are in key order, not in random order: rows may enter the k best a hundred times as often as by chance, and
// where many tie, many reach the k-th score in vain. No formula predicts this. Scanning every s-th leaf with a heap of
// the k / s best does.
#pragma once

#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "query/resolved_query.h"

namespace culmen {

// The snapshot must have rows. Cost: visits some 500 leaves, or all of a smaller table.
Work sample_scan(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, int threads);

}  // namespace culmen
