// Queries about one row or place of the order, from those for pages of it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "culmen/id_set.h"
#include "culmen/query.h"

namespace culmen {

// The whole order of the query: no k, no least score, no page, no groups.
inline Query without_page(Query query) {
  query.k = 1;
  query.min_score = std::nullopt;
  query.after = std::nullopt;
  query.per = std::nullopt;
  return query;
}

inline Filter is_id(std::int64_t id, IdType type) {
  const std::int64_t ids[] = {id};
  return Filter::ids_in(type == IdType::text ? IdSet::of_stand_ins(ids) : IdSet(ids, type));
}

// Answered by the row that passes the filter, which one does, if it is in the order.
inline Query only_row(Query query, const Filter& is_row) {
  query = without_page(std::move(query));
  query.where = query.where && is_row;
  return query;
}

}  // namespace culmen
