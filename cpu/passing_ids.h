// The ids of the rows that pass a filter.
#pragma once

#include <cstdint>
#include <vector>

#include "index/snapshot.h"
#include "query/predicate.h"

namespace culmen::cpu {

// Ascending. Cost: a scan by all threads of the caller's arena of what the filter tests, without the nodes and leaves whose
// minima and maxima decide.
std::vector<std::int64_t> passing_ids(const Snapshot& snapshot, const Predicate& filter);

}  // namespace culmen::cpu
