#include "api/row_rank.h"

#include "base/floating_point_scope.h"
#include "cpu/listed_rows.h"
#include "index/find_rows.h"
#include "query/few_ids.h"
#include "query/resolve.h"

namespace culmen {

std::optional<std::vector<std::uint64_t>> rows_in_order_of_ids(const Snapshot& version,
                                                               std::span<const std::int64_t> ids) {
  std::optional<std::vector<std::uint64_t>> rows = look_up_rows(version, ids);
  if (!rows)
    if (const std::shared_ptr<const TextRows> in_order = version.made_text_rows())
      rows = in_order->rows_with(ids);
  return rows;
}

std::optional<std::vector<Hit>> hits_without_search(const Snapshot& version, const Query& query) {
  const FloatingPointScope floating_point;
  const ResolvedQuery resolved = resolve(query, version);
  if (version.num_rows == 0 || resolved.filter.is_nothing()) return std::vector<Hit>();
  const FewIds ids = few_ids_of(resolved);
  if (!ids) return std::nullopt;
  std::optional<std::vector<std::uint64_t>> rows = rows_in_order_of_ids(version, *ids);
  if (!rows) return std::nullopt;
  std::erase(*rows, kNowhere);
  SearchStats ignored;
  return cpu::search_listed_rows(version, resolved, *rows, ignored);
}

}  // namespace culmen
