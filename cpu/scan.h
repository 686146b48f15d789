// Engine `scan` (the paper's CFTE): scores every tuple in one pass; scores are never written to memory.
// Cost: reads every used column once, in a stream, with all threads of the caller's arena.
#pragma once

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

std::vector<Hit> search_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats);

}  // namespace culmen::cpu
