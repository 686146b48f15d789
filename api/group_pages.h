// Query::per on devices, whose searches cannot count: page after page, without the groups that have all their rows.
#pragma once

#include <functional>

#include "api/index_copy.h"

namespace culmen {

// Answers a query without `per` counts: rows of SearchCall::full_groups are left out.
using SearchPage = std::function<SearchResult(const Query&, const SearchCall&)>;

// All pages are of this version. Costs one search if groups are mixed, and at most one for each group that fills.
SearchResult search_by_pages(const Query& query, const SearchCall& call, const Snapshot& snapshot,
                             const SearchPage& search);

}  // namespace culmen
