// What an engine will have done when it ends, from what is known before: the input of the cost model.
#pragma once

#include "cpu/bounded.h"
#include "index/snapshot.h"
#include "planner/cost_model.h"
#include "query/resolved_query.h"

namespace culmen {

// The part of the rows that passes the query's ranges, from a few hundred rows all over the tree. 1 without a
// range. Cost: some 30 us.
double estimate_selectivity(const Snapshot& snapshot, const ResolvedQuery& query);

// Cache lines that hold the values of `rows` rows of one leaf, which are anywhere in it. `rows` may be a mean.
double lines_of_rows(const Snapshot& snapshot, const ResolvedQuery& query, double rows);

// The work that these counters stand for.
Work counted_work(const Snapshot& snapshot, const ResolvedQuery& query, const SearchStats& stats,
                  double hits);

// All that a search by bounds, which has come as far as `progress`, will have done at its end.
//
// A leaf is still to be read if its bound is above the k-th best score at the end. That score lies between
// the present one and the highest bound that is left; kRise says where. Leaves under nodes that are not
// opened yet are counted by the part that was above it in those that are. But not more are read than it takes
// until k rows are above all bounds that are left, at the rate at which rows have come to be so; once there
// are k rows, not more than twice that.
Work estimate_bounded(const Snapshot& snapshot, const ResolvedQuery& query, const cpu::Progress& progress);

// The work of a scan over rows that come in no order: cheap, but only a guess for the rows that enter the k
// best (planner/sampled_scan.h finds out).
Work estimate_scan(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, int threads);

}  // namespace culmen
