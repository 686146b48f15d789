#include "cpu/scan.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "base/floating_point_scope.h"
#include "cpu/leaf_visit.h"
#include "cpu/parallel_topk.h"

namespace culmen::cpu {
namespace {

constexpr std::size_t kLeavesAhead = 2;

}  // namespace

std::vector<Hit> search_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  ParallelTopK searches(query);
  const std::vector<std::uint32_t>& leaves = snapshot.order().leaves;
  visit_value_type(snapshot, [&]<typename T>(T) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kLeavesPerTask),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        const FloatingPointScope floating_point;
                        PrivateSearch& mine = searches.local();
                        for (std::size_t i = range.begin(); i < range.end(); ++i) {
                          // A leaf's columns are short: the processor's own prefetcher loses its way at each
                          // of their ends.
                          if (i + kLeavesAhead < leaves.size())
                            prefetch_leaf<T>(snapshot, query, leaves[i + kLeavesAhead]);
                          visit_leaf<T>(snapshot, query, leaves[i], mine.best, mine.stats);
                        }
                      });
  });
  return searches.merge(stats);
}

}  // namespace culmen::cpu
