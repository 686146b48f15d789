// Answers a query from rows that are known to be the only ones that can pass its filter, without a search.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen::cpu {

// Every row once, in any order. Cost: some cache lines of each.
std::vector<Hit> search_listed_rows(const Snapshot& snapshot, const ResolvedQuery& query,
                                    std::span<const std::uint64_t> rows, SearchStats& stats);

}  // namespace culmen::cpu
