// What scan and gta will do, found out by doing it to a part of the table.
//
// Rows stand in key order, not in any order: the k best so far may be replaced a few times or a hundred times
// as often as by chance, by rows that tie they are looked at in vain, and gta leaves a partition the sooner
// the more it knows. No formula says so, but every s-th leaf does, with a heap for the k / s best; or for
// gta, every s-th partition.
#pragma once

#include "index/resolved_query.h"
#include "index/snapshot.h"
#include "query/cost_model.h"

namespace culmen {

// Both cost a few hundred visits of leaves, less where the table has fewer. The snapshot has rows.
Work rehearse_scan(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, int threads);
Work rehearse_gta(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, int threads);

}  // namespace culmen
