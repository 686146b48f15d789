// Turns a user's query into the form that engines read: checks it, orients and scales its weights, and plans its bound.
#pragma once

#include <optional>
#include <string_view>

#include "culmen/query.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

// Throws InvalidArgument as documented at Index::search.
ResolvedQuery resolve(const Query& query, const Snapshot& snapshot);

// The position of an attribute. Throws InvalidArgument, which lists the known names.
int position_of(const AttributeRef& attribute, const Snapshot& snapshot);

// The filter's ranges, oriented. Throws InvalidArgument for NaN and for an unknown attribute.
std::vector<RangePredicate> resolve_filter(const Filter& filter, const Snapshot& snapshot);

// Parses a filter in the syntax of Index::filter. Throws InvalidArgument.
Filter parse_filter(std::string_view where, const Snapshot& snapshot);

// k, at most the number of rows; all rows if only min_score is set. Throws InvalidArgument for 0, or if neither is set.
std::size_t resolve_k(const Query& query, const Snapshot& snapshot);

// -infinity if it is not set. Throws InvalidArgument for NaN.
double resolve_min_score(const std::optional<double>& min_score);

// The names of a snapshot's attributes for error messages: "price, rating, stars".
std::string known_attributes(const Snapshot& snapshot);

}  // namespace culmen
