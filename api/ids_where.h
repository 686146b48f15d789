// The ids of all rows that pass a filter, of an Index or a ShardedIndex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "culmen/info.h"
#include "culmen/search.h"

namespace culmen {

// Ascending. Scores do not matter, so any weights will do; but rows that miss a value must not be skipped.
std::vector<std::int64_t> find_ids_where(const auto& index, const Filter& filter) {
  const IndexInfo info = index.info();
  if (info.num_rows == 0) return {};
  Query query;
  query.weights.assign(info.attributes.size(), 0);
  query.weights.front() = 1;
  query.k = static_cast<std::size_t>(info.num_rows);
  query.where = filter;
  query.missing = Missing::fill;
  const SearchResult found = index.search(query, {.engine = Engine::scan});
  std::vector<std::int64_t> ids;
  for (const Hit& hit : found.hits) ids.push_back(hit.id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace culmen
