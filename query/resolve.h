// Turns a user's query into the form that engines read: checks it, orients and scales its weights, and plans its bound.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "culmen/query.h"
#include "culmen/statistics.h"
#include "index/snapshot.h"
#include "query/resolved_query.h"

namespace culmen {

// `table`: of the table that the index holds a part of; null: the index's own. Throws InvalidArgument as documented at
// Index::search.
ResolvedQuery resolve(const Query& query, const Snapshot& snapshot, const TableStatistics* table = nullptr);

// How a filter names the id of a row.
inline constexpr std::string_view kIdName = "id";

// The position of an attribute. Throws InvalidArgument, for an unknown name with the names that are known.
int position_of(const AttributeRef& attribute, const Snapshot& snapshot);

// Sets the query's filter, which also demands a value of each `required` attribute, and the ranges that it implies.
// Throws as compile_filter.
void resolve_filter(const Filter& filter, const Snapshot& snapshot, ResolvedQuery& query,
                    std::span<const std::int32_t> required = {});

// Parses a filter in the syntax of Index::filter. Throws InvalidArgument.
Filter parse_filter(std::string_view where, const Snapshot& snapshot);

// k, at most the number of rows; all rows if only min_score is set. Throws InvalidArgument for 0, or if neither is set.
std::size_t resolve_k(const Query& query, const Snapshot& snapshot);

// -infinity if it is not set. Throws InvalidArgument for NaN.
double resolve_min_score(const std::optional<double>& min_score);

// Whether its score may have more than weights times values: terms, or what Scale::rank makes of the weights.
bool has_functions(const Query& query);

// For error messages. The names of a snapshot's attributes: "price, rating, stars".
std::string known_attributes(const Snapshot& snapshot);
// Ends a message about a name that no column has: the nearest of those that are known, and all of them, then `also`.
std::string known_columns(const std::string& name, const std::vector<std::string>& known,
                          std::string_view also = "");
std::string unknown_attribute(const std::string& name, const Snapshot& snapshot);

}  // namespace culmen
