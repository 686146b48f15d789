#include "cpu/threshold_algorithm.h"

#include <tbb/parallel_sort.h>

#include <limits>
#include <string>

#include "cpu/function_bounds.h"
#include "cpu/topk.h"
#include "culmen/error.h"
#include "index/score.h"
#include "query/predicate.h"

namespace culmen::cpu {

SortedLists make_sorted_lists(const Snapshot& snapshot) {
  const auto leaf_rows = static_cast<std::uint64_t>(snapshot.leaf_rows);
  if (snapshot.leaf_slots * leaf_rows > std::numeric_limits<std::uint32_t>::max())
    throw InvalidArgument("engine ta takes at most 2^32 rows; use bounded or scan");
  snapshot.require_all();
  std::vector<std::uint32_t> all;
  for (const std::uint32_t leaf : snapshot.order().leaves)
    for (std::uint32_t r = 0; r < snapshot.leaf(leaf).num_rows; ++r)
      all.push_back(static_cast<std::uint32_t>(leaf * leaf_rows) + r);
  SortedLists lists;
  for (int i = 0; i < snapshot.num_attributes(); ++i) {
    std::vector<std::uint32_t>& list = lists.rows.emplace_back(all);
    tbb::parallel_sort(list.begin(), list.end(), [&snapshot, i](std::uint32_t a, std::uint32_t b) {
      const double x = snapshot.value(a, i), y = snapshot.value(b, i);
      return x != y ? x < y : a < b;
    });
  }
  return lists;
}

std::vector<Hit> search_ta(const Snapshot& snapshot, const SortedLists& lists, const ResolvedQuery& query,
                           SearchStats& stats) {
  TopK best(query.k, query.min_score);
  const auto leaf_rows = static_cast<std::uint64_t>(snapshot.leaf_rows);
  std::vector<bool> seen(snapshot.leaf_slots * leaf_rows);
  const auto n = static_cast<std::size_t>(snapshot.num_rows);
  const HighestTerms highest = highest_of_index(query.functions, snapshot);
  for (std::size_t depth = 0; depth < n; ++depth) {
    look_at(query.watch);
    // Rule A: the score's own chain over the values at this depth of the lists is at least the score of every row not
    // yet seen.
    double threshold = query.offset;
    for (const Term& term : query.terms) {
      const std::vector<std::uint32_t>& list = lists.rows[static_cast<std::size_t>(term.attribute)];
      const std::uint32_t row = term.weight > 0 ? list[n - 1 - depth] : list[depth];
      threshold = score_step(threshold, term.weight, snapshot.value(row, term.attribute));
      if (seen[row]) continue;
      seen[row] = true;
      ++stats.rows_scored;
      if (!passes(snapshot, query.filter, row)) continue;
      const double of_weights = score(query.score_terms(), query.offset,
                                      [&](int attribute) { return snapshot.value(row, attribute); });
      const double row_score = query.functions.add(snapshot, row, of_weights);
      if (query.is_on_earlier_page(row_score, snapshot.id(row))) continue;
      best.offer({snapshot.id(row), row_score, row});
    }
    ++stats.bounds_computed;
    threshold = highest.add_to(threshold);
    // At equality an unseen row may still tie with a smaller id.
    if (threshold < best.kth_bound()) break;
  }
  stats.bytes_touched +=
      stats.rows_scored * (query.terms.size() + query.filter.num_tests()) * snapshot.value_bytes();
  return best.take_sorted();
}

}  // namespace culmen::cpu
