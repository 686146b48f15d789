#include "cpu/listed_rows.h"

#include "cpu/topk.h"
#include "index/read_session.h"
#include "index/score.h"

namespace culmen::cpu {

std::vector<Hit> search_listed_rows(const Snapshot& snapshot, const ResolvedQuery& query,
                                    std::span<const std::uint64_t> rows, SearchStats& stats) {
  TopK best(query.k, query.min_score);
  for (const std::uint64_t row : rows) {
    look_at(query.watch);
    const ReadSession session(snapshot);
    if (!passes(snapshot, query.filter, row)) continue;
    const double of_weights = score(query.score_terms(), query.offset,
                                    [&](std::int32_t attribute) { return snapshot.value(row, attribute); });
    const double scored = query.functions.add(snapshot, row, of_weights);
    ++stats.rows_scored;
    if (query.is_on_earlier_page(scored, snapshot.id(row))) continue;
    if (scored >= best.kth_bound()) ++stats.candidates;
    best.offer({snapshot.id(row), scored, row});
  }
  stats.replacements += best.num_replacements();
  stats.bytes_touched += stats.rows_scored * query.terms.size() * snapshot.value_bytes();
  return best.take_sorted();
}

}  // namespace culmen::cpu
