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

// Answered by the row with this id, if it is in the order.
inline Query only_row(Query query, std::int64_t id, IdType type) {
  query = without_page(std::move(query));
  const std::int64_t ids[] = {id};
  query.where = query.where && Filter::ids_in(IdSet(ids, type));
  return query;
}

}  // namespace culmen
