// Filters that only rows of a few given ids can pass: `id in (3, 5, 8)`, a small set of ids, either with more conditions.
// Their rows are looked up and scored; a search would test the ids of most leaves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "query/predicate.h"
#include "query/resolved_query.h"

namespace culmen {

using FewIds = std::optional<std::vector<std::int64_t>>;

// Ascending, at most `most`. Every row that passes has one of these ids; not every row that has one passes. None: the
// filter lets pass rows of more ids, as far as its form shows.
FewIds few_ids_of(const Predicate& predicate, std::size_t most);

// The number of ids, at most, that the filter excludes, if it does nothing else: `id not in (3, 5)`, or all but a set.
// None: it may exclude more than `most`, or goes by something else than the id.
std::optional<std::size_t> num_excluded_ids(const Predicate& predicate, std::size_t most);

// Where looking them up is faster than a search.
FewIds few_ids_of(const ResolvedQuery& query);

}  // namespace culmen
