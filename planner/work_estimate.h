// Estimates of the work of an engine, before it ends: the input of the cost model.
#pragma once

#include "cpu/bounded.h"
#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "query/resolved_query.h"

namespace culmen {

// The part of the rows that pass the query's filter, estimated from a few hundred rows all over the tree; 1 without a
// filter. Cost: some 30 us.
double estimate_selectivity(const Snapshot& snapshot, const ResolvedQuery& query);

// The expected number of cache lines with the values of `rows` random rows of one leaf. `rows` may be a mean.
double lines_of_rows(const Snapshot& snapshot, const ResolvedQuery& query, double rows);

// Converts the counters of a search to work.
Work counted_work(const Snapshot& snapshot, const ResolvedQuery& query, const SearchStats& stats,
                  double hits);

// The total work of a search by bounds that is at `progress`.
//
// It will read the leaves whose bounds are above the final k-th score. That score is between the present one and the
// highest bound left, at kRise of the way. Leaves of unopened nodes are extrapolated from those of opened ones. The
// search also ends once k rows are above all bounds left, so at most as many leaves are counted as that takes at the
// rate so far (twice as many once there are k rows).
Work estimate_bounded(const Snapshot& snapshot, const ResolvedQuery& query, const cpu::Progress& progress);

// The work of a scan of rows in random order: cheap, but only a guess at the rows that enter the k best, which
// planner/sampled_scan.h samples.
// `leaves`: those that a scan reads.
Work estimate_scan(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, double leaves,
                   int threads);

// The number of leaves that may have rows that pass the filter, from a few paths down the tree. Cost: some 10 us; none
// without a filter.
double estimate_leaves(const Snapshot& snapshot, const Predicate& filter);

}  // namespace culmen
