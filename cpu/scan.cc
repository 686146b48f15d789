#include "cpu/scan.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <array>
#include <bit>

#include "base/floating_point_scope.h"
#include "cpu/buffered_topk.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"
#include "cpu/parallel_topk.h"

namespace culmen::cpu {
namespace {

// A leaf's columns are short: the processor's own prefetcher loses its way at each of their ends.
constexpr std::size_t kLeavesAhead = 2;
constexpr std::size_t kNodesPerTask = kLeavesPerTask / kFanOut;

// All threads: calls visit(begin, end, search) for parts of [0, count), with the thread's own search.
template <typename Best, typename Visit>
void share_out(std::size_t count, std::size_t of_a_task, ParallelTopK<Best>& searches, const Visit& visit) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, of_a_task),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      const FloatingPointScope floating_point;
                      visit(range.begin(), range.end(), searches.local());
                    });
}

// Visits the leaves of a level-1 node that can have a row for `search`.
template <typename T, typename Best>
void visit_reaching(const Snapshot& snapshot, const ResolvedQuery& query, NodeRef node,
                    PrivateSearch<Best>& search) {
  const Frontier::Bounds bounds = bounds_of_children(query, node, search.stats);
  const auto reaches = [&](std::uint32_t child) {
    return !search.best.excludes(bounds[child], node.min_ids()[child]);
  };
  std::array<std::uint32_t, kFanOut> reaching;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count = 0;
  for (auto left = children_in_ranges(query.bound, node); left != 0; left &= left - 1) {
    const auto child = static_cast<std::uint32_t>(std::countr_zero(left));
    if (reaches(child)) reaching[count++] = child;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kLeavesAhead < count)
      prefetch_leaf<T>(snapshot, query, node.children()[reaching[i + kLeavesAhead]]);
    if (reaches(reaching[i]))  // the floor has risen since
      visit_leaf<T>(snapshot, query, node.children()[reaching[i]], search.best, search.stats);
  }
}

template <typename T, typename Best>
std::vector<Hit> scan_all(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  ParallelTopK<Best> searches(query);
  const std::vector<std::uint32_t>& leaves = snapshot.order().leaves;
  share_out(leaves.size(), kLeavesPerTask, searches,
            [&](std::size_t begin, std::size_t end, PrivateSearch<Best>& mine) {
              for (std::size_t i = begin; i < end; ++i) {
                if (i + kLeavesAhead < leaves.size())
                  prefetch_leaf<T>(snapshot, query, leaves[i + kLeavesAhead]);
                visit_leaf<T>(snapshot, query, leaves[i], mine.best, mine.stats);
              }
            });
  return searches.merge(stats);
}

template <typename T, typename Best>
std::vector<Hit> scan_reaching(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  ParallelTopK<Best> searches(query);
  const std::vector<std::uint32_t>& nodes = snapshot.order().nodes;
  share_out(nodes.size(), kNodesPerTask, searches,
            [&](std::size_t begin, std::size_t end, PrivateSearch<Best>& mine) {
              for (std::size_t i = begin; i < end; ++i) {
                const NodeRef node = snapshot.node(nodes[i]);
                if (node.header().level == 1) visit_reaching<T>(snapshot, query, node, mine);
              }
            });
  return searches.merge(stats);
}

}  // namespace

std::vector<Hit> search_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  return visit_value_type(snapshot, [&]<typename T>(T) {
    return query.k < BufferedTopK::kWorthIt ? scan_all<T, TopK>(snapshot, query, stats)
                                            : scan_all<T, BufferedTopK>(snapshot, query, stats);
  });
}

std::vector<Hit> search_reaching(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  return visit_value_type(snapshot, [&]<typename T>(T) {
    return query.k < BufferedTopK::kWorthIt ? scan_reaching<T, TopK>(snapshot, query, stats)
                                            : scan_reaching<T, BufferedTopK>(snapshot, query, stats);
  });
}

}  // namespace culmen::cpu
