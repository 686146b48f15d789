#include "planner/sampled_scan.h"

#include <algorithm>
#include <span>

#include "cpu/leaf_visit.h"
#include "cpu/scan.h"
#include "index/read_session.h"
#include "planner/work_estimate.h"

namespace culmen {
namespace {

// Rows that filled the heap, replaced another, and reached the k-th score without entering; and cache lines of the rows
// that codes did not exclude.
struct Entries {
  double first = 0, replacing = 0, in_vain = 0, lines = 0;
};

// Scans every step-th of the leaves, as one thread with its own heap.
template <typename T>
Entries visit_leaves(const Snapshot& snapshot, const ResolvedQuery& query,
                     std::span<const std::uint32_t> leaves, std::size_t step, std::size_t k) {
  ReadSession session(snapshot);
  TopK best(k, query.min_score);
  LeafFilter filter(query.filter);
  SearchStats stats;
  double lines = 0;
  for (std::size_t i = 0; i < leaves.size(); i += step) {
    session.rest();
    const SearchStats before = stats;
    visit_leaf<T>(snapshot, query, cpu::first_look_of_scan(snapshot, query), leaves[i], filter, best, stats);
    if (stats.rows_by_codes > before.rows_by_codes)
      lines += lines_of_rows(snapshot, query, static_cast<double>(stats.rows_scored - before.rows_scored));
  }
  const auto first = static_cast<double>(best.size());
  const auto replacing = static_cast<double>(best.num_replacements());
  return {first, replacing, static_cast<double>(stats.candidates) - first - replacing, lines};
}

}  // namespace

Work sample_scan(const Snapshot& snapshot, const ResolvedQuery& asked, double selectivity, int threads) {
  SearchStats ignored;
  ResolvedQuery query = asked;
  query.min_score = cpu::kth_bound_of_scan(snapshot, asked, ignored);
  constexpr std::size_t kLeaves = 512;
  const std::vector<std::uint32_t> passing = query.filter.is_everything()
                                                 ? std::vector<std::uint32_t>()
                                                 : cpu::leaves_that_may_pass(snapshot, query.filter);
  const std::span<const std::uint32_t> leaves =
      query.filter.is_everything() ? snapshot.order().leaves : passing;
  const std::size_t step = std::max<std::size_t>(1, leaves.size() / kLeaves);
  const std::size_t k = std::max<std::size_t>(1, (query.k + step / 2) / step);
  const double larger = static_cast<double>(query.k) / static_cast<double>(k);
  Work work = estimate_scan(snapshot, query, selectivity, static_cast<double>(leaves.size()), threads);
  double first = 0;
  work.replacements = work.candidates = 0;
  const auto num_threads = static_cast<std::size_t>(threads);
  for (std::size_t t = 0; t < num_threads; ++t) {
    const std::size_t from = t * leaves.size() / num_threads, to = (t + 1) * leaves.size() / num_threads;
    const Entries entries = visit_value_type(snapshot, [&]<typename T>(T) {
      return visit_leaves<T>(snapshot, query, leaves.subspan(from, to - from), step, k);
    });
    first += larger * entries.first;
    work.replacements += larger * entries.replacing;
    work.candidates += static_cast<double>(step) * entries.in_vain;
    work.lines += static_cast<double>(step) * entries.lines;
  }
  work.hits = std::min(work.hits, first);
  work.candidates += first + work.replacements;
  return work;
}

}  // namespace culmen
