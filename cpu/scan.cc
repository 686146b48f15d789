#include "cpu/scan.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "cpu/leaf_visit.h"
#include "cpu/parallel_topk.h"
#include "index/floating_point_scope.h"

namespace culmen::cpu {
namespace {

constexpr std::size_t kLeavesPerTask =
    256;  // about a megabyte: long enough to stream, short enough to share out
constexpr std::size_t kLeavesAhead = 2;

}  // namespace

std::vector<Hit> search_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  ParallelTopK searches(query);
  visit_value_type(snapshot, [&]<typename T>(T) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, snapshot.leaves.size(), kLeavesPerTask),
                      [&](const tbb::blocked_range<std::size_t>& leaves) {
                        const FloatingPointScope floating_point;
                        PrivateSearch& mine = searches.local();
                        for (std::size_t leaf = leaves.begin(); leaf < leaves.end(); ++leaf) {
                          // A leaf's columns are short: the processor's own prefetcher loses its way at each
                          // of their ends.
                          if (leaf + kLeavesAhead < snapshot.leaves.size())
                            prefetch_leaf<T>(snapshot, query, leaf + kLeavesAhead);
                          visit_leaf<T>(snapshot, query, static_cast<std::uint32_t>(leaf), mine.best,
                                        mine.stats);
                        }
                      });
  });
  return searches.merge(stats);
}

}  // namespace culmen::cpu
