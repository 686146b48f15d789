// Counts the rows that rank before a place, by whole blocks wherever bounds decide.
#pragma once

#include <cstdint>

#include "culmen/query.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// The rows that pass the query's filter and score more than `place`, or as much with a smaller id, on all threads of the
// caller's arena. The query's k, min_score and page do not matter.
std::uint64_t count_before(const Snapshot& snapshot, const ResolvedQuery& query, const Cursor& place);

}  // namespace culmen::cpu
