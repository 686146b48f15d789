// From what kernels count to SearchStats.
#pragma once

#include <cstddef>

#include "culmen/search.h"
#include "gpu/search/search_state.h"
#include "index/snapshot.h"

namespace culmen::gpu {

// Adds the work for a query that reads `num_values` attributes of each row and `num_bounds` bounds rows of each node.
void add_work(const ResultHeader& work, std::size_t num_values, std::size_t num_bounds,
              const Snapshot& snapshot, SearchStats& stats);

}  // namespace culmen::gpu
