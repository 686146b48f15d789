#include "cpu/gta.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "base/floating_point_scope.h"
#include "cpu/leaf_visit.h"
#include "cpu/parallel_topk.h"
#include "index/read_session.h"
#include "index/thresholds.h"

namespace culmen::cpu {
namespace {

template <typename T>
void walk_partition(const Snapshot& snapshot, const ResolvedQuery& query, const PartitionRange& partition,
                    const Thresholds& thresholds, const HighestTerms& highest, PrivateSearch<TopK>& search) {
  ReadSession session(snapshot);
  for (std::uint32_t i = 0; i < partition.num_leaves; ++i) {
    session.rest();
    const std::size_t position = partition.first_leaf + std::size_t{i};
    const std::uint32_t leaf = snapshot.order().leaves[position];
    visit_leaf<T>(snapshot, query, FirstLook::values, leaf, search.filter, search.best, search.stats);
    double threshold = zone_score(query, thresholds.maximum<T>(position), thresholds.minimum<T>(position));
    if (!query.functions.empty()) threshold = highest.add_to(threshold);
    ++search.stats.bounds_computed;
    search.stats.bytes_touched += query.terms.size() * sizeof(T);
    if (search.best.excludes(threshold, thresholds.min_id(position))) return;
  }
}

// Early exit is unpredictable, so tasks are single partitions: the scheduler balances them.
std::size_t partitions_per_task(const Snapshot& snapshot) {
  return snapshot.num_leaves <= kLeavesPerTask ? snapshot.order().partitions.size() : 1;
}

}  // namespace

std::vector<Hit> search_gta(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  ParallelTopK<TopK> searches(query);
  const std::vector<PartitionRange>& partitions = snapshot.order().partitions;
  const Thresholds& thresholds = snapshot.thresholds();
  const HighestTerms highest = highest_of_index(query.functions, snapshot);
  visit_value_type(snapshot, [&]<typename T>(T) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, partitions.size(), partitions_per_task(snapshot)),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        const FloatingPointScope floating_point;
                        PrivateSearch<TopK>& mine = searches.local();
                        for (std::size_t p = range.begin(); p < range.end(); ++p)
                          walk_partition<T>(snapshot, query, partitions[p], thresholds, highest, mine);
                      });
  });
  return searches.merge(stats);
}

}  // namespace culmen::cpu
