// From what the user asks to what the engines take: checks a query and orients, scales and bounds it.
#pragma once

#include <optional>
#include <string_view>

#include "culmen/query.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

// Throws InvalidArgument as Index::search says.
ResolvedQuery resolve(const Query& query, const Snapshot& snapshot);

// Where an attribute stands. Throws InvalidArgument, for a name listing those that are known.
int position_of(const AttributeRef& attribute, const Snapshot& snapshot);

// Ranges of a filter, oriented. Throws InvalidArgument for NaN or a position that is not there.
std::vector<RangePredicate> resolve_filter(const Filter& filter, const Snapshot& snapshot);

// A filter from its text, as Index::filter takes it. Throws InvalidArgument.
Filter parse_filter(std::string_view where, const Snapshot& snapshot);

// How many rows: k, cut to the number of rows. Throws InvalidArgument for 0, or if nothing says how many.
std::size_t resolve_k(const Query& query, const Snapshot& snapshot);

// -infinity if there is none. Throws InvalidArgument for NaN.
double resolve_min_score(const std::optional<double>& min_score);

// The names of a snapshot's attributes for error texts: "price, rating, stars".
std::string known_attributes(const Snapshot& snapshot);

}  // namespace culmen
