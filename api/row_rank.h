// Queries about one row or place of the order, from those for pages of it.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "culmen/error.h"
#include "culmen/id_set.h"
#include "culmen/query.h"
#include "culmen/search.h"
#include "index/snapshot.h"
#include "index/text_rows.h"

namespace culmen {

// The whole order of the query: no k, no least score, no page, no groups.
inline Query without_page(Query query) {
  query.k = 1;
  query.min_score = std::nullopt;
  query.after = std::nullopt;
  query.per = std::nullopt;
  return query;
}

inline Filter is_id(std::int64_t id, const Snapshot& version) {
  const std::int64_t ids[] = {id};
  return Filter::ids_in(version.id_type == IdType::text ? IdSet::of_stand_ins(ids)
                                                        : IdSet(ids, version.id_type));
}
inline Filter is_id(std::string_view text, const Snapshot& version) {
  require_text_ids(version);
  return id_col() == std::string(text);
}

// Answered by the row that passes the filter, which one does, if it is in the order.
inline Query only_row(Query query, const Filter& is_row) {
  query = without_page(std::move(query));
  query.where = query.where && is_row;
  return query;
}

// For each id its row, or kNowhere. None: the version itself does not know (index/find_rows.h, index/text_rows.h).
std::optional<std::vector<std::uint64_t>> rows_in_order_of_ids(const Snapshot& version,
                                                               std::span<const std::int64_t> ids);

// The hits of a query for rows of a few ids. None: they have to be searched for. Throws as Index::search.
std::optional<std::vector<Hit>> hits_without_search(const Snapshot& version, const Query& query);

// The rank of the only row that is a hit; count_before(score, id) is of the same version.
std::optional<RowRank> rank_of_hit(const std::vector<Hit>& hits, std::uint64_t version,
                                   const auto& count_before) {
  if (hits.empty()) return std::nullopt;
  const auto [id, score, row] = hits.front();
  return RowRank{count_before(score, id) + 1, score, version};
}

inline void check_place(double score) {
  if (std::isnan(score)) throw InvalidArgument("the score of the place is NaN");
}
// Before which are the rows that score more.
inline Cursor place_above(double score) {
  check_place(score);
  return {score, std::numeric_limits<std::int64_t>::min()};
}

}  // namespace culmen
