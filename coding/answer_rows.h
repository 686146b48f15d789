// The rows of an answer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

#include "culmen/search.h"

namespace culmen {

// Calls use(rank, row) for each hit, in their order. Some rows are read together: SearchResult::rows.
template <typename Use>
void for_rows(const SearchResult& result, const Use& use) {
  constexpr std::size_t kAtOnce = 128;  // more in memory at a time would not pay: texts may be long
  for (std::size_t first = 0; first < result.hits.size(); first += kAtOnce) {
    std::vector<std::size_t> ranks(std::min(kAtOnce, result.hits.size() - first));
    std::iota(ranks.begin(), ranks.end(), first);
    const std::vector<Row> rows = result.rows(ranks);
    for (std::size_t i = 0; i < rows.size(); ++i) use(first + i, rows[i]);
  }
}

}  // namespace culmen
