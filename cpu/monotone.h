// Best-first search under any monotone function: the bound of a leaf is the function's value at its attribute maxima,
// or minima where the function falls.
#pragma once

#include "culmen/scoring.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// Both read only k, min_score, where and the range bounds of `query`. Both throw InvalidArgument if a score is not
// finite; search_monotone also if a row scores above the bound of its leaf, because the function is not monotone then.
std::vector<Hit> search_monotone(const Snapshot& snapshot, MonotoneFunctionRef function,
                                 const ResolvedQuery& query, SearchStats& stats);

// The same answer by scoring every row.
std::vector<Hit> scan_monotone(const Snapshot& snapshot, MonotoneFunctionRef function,
                               const ResolvedQuery& query, SearchStats& stats);

}  // namespace culmen::cpu
