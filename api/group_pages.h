// Query::per by searches that cannot count, as those of devices: page after page, without the groups that have all their
// rows.
#pragma once

#include <functional>
#include <vector>

#include "culmen/query.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "query/row_groups.h"

namespace culmen {

// Answers a query as if it had no `per`, without the rows of groups that are full; those are ascending.
using SearchPage = std::function<SearchResult(const Query&, const std::vector<GroupKey>& full)>;

// All pages are of this version. Costs one search if groups are mixed, and at most one more for each group that fills, and
// for each 1,024 rows before `after`. Throws InvalidArgument.
SearchResult search_by_pages(const Query& query, const Snapshot& snapshot, const SearchPage& search);

}  // namespace culmen
