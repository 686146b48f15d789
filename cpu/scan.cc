#include "cpu/scan.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "base/floating_point_scope.h"
#include "cpu/buffered_topk.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"
#include "cpu/parallel_topk.h"
#include "index/read_session.h"

namespace culmen::cpu {
namespace {

// A leaf's columns are short: the hardware prefetcher overruns the end of each.
constexpr std::size_t kLeavesAhead = 2;
constexpr std::size_t kNodesPerTask = kLeavesPerTask / kFanOut;

// Calls visit(begin, end, search) for parts of [0, count) on all threads, with each thread's own search.
template <typename Best, typename Visit>
void share_out(const Snapshot& snapshot, std::size_t count, std::size_t of_a_task,
               ParallelTopK<Best>& searches, const Visit& visit) {
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, of_a_task),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      const FloatingPointScope floating_point;
                      const ReadSession session(snapshot);
                      visit(range.begin(), range.end(), searches.local());
                    });
}

std::vector<std::uint32_t> children_that_may_pass(const Snapshot& snapshot, const Predicate& filter,
                                                  const std::vector<std::uint32_t>& nodes) {
  std::vector<std::uint32_t> children;
  ReadSession session(snapshot);
  for (const std::uint32_t slot : nodes) {
    session.rest();
    for (auto left = children_to_visit(filter, snapshot, slot); left != 0; left &= left - 1)
      children.push_back(snapshot.node(slot).children()[std::countr_zero(left)]);
  }
  return children;
}

// The level-1 nodes below which rows may pass the filter.
std::vector<std::uint32_t> nodes_that_may_pass(const Snapshot& snapshot, const Predicate& filter) {
  std::vector<std::uint32_t> nodes;
  if (snapshot.height > 0) nodes.push_back(snapshot.root);
  for (int level = snapshot.height; level > 1; --level)
    nodes = children_that_may_pass(snapshot, filter, nodes);
  return nodes;
}

// Visits the leaves of a level-1 node that can hold a row for `search`.
template <typename T, typename Best>
void visit_within_bound(const Snapshot& snapshot, const ResolvedQuery& query, FirstLook look,
                        std::uint32_t slot, PrivateSearch<Best>& search) {
  look_at(query.watch);
  const NodeRef node = snapshot.node(slot);
  const Frontier::Bounds bounds = bounds_of_children(snapshot, query, slot, search.stats);
  const auto reaches = [&](std::uint32_t child) {
    return !search.best.excludes(bounds[child], node.min_ids()[child]);
  };
  search.share_kth_bound();
  std::array<std::uint32_t, kFanOut> reaching;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  std::size_t count = 0;
  for (auto left = children_to_visit(query.filter, snapshot, slot); left != 0; left &= left - 1) {
    const auto child = static_cast<std::uint32_t>(std::countr_zero(left));
    if (reaches(child)) reaching[count++] = child;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (i + kLeavesAhead < count)
      prefetch_leaf<T>(snapshot, query, look, node.children()[reaching[i + kLeavesAhead]], search.filter,
                       search.best);
    if (reaches(reaching[i]))  // the k-th score bound has risen since
      visit_leaf<T>(snapshot, query, look, node.children()[reaching[i]], search.filter, search.best,
                    search.stats);
  }
}

template <typename T, typename Best>
std::vector<Hit> scan_all(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  ParallelTopK<Best> searches(query);
  const FirstLook look = first_look_of_scan(snapshot, query);
  const bool has_filter = !query.filter.is_everything();
  const std::vector<std::uint32_t> passing =
      has_filter ? leaves_that_may_pass(snapshot, query.filter) : std::vector<std::uint32_t>();
  const std::vector<std::uint32_t>& leaves = has_filter ? passing : snapshot.order().ascending_leaves;
  share_out(snapshot, leaves.size(), kLeavesPerTask, searches,
            [&](std::size_t begin, std::size_t end, PrivateSearch<Best>& mine) {
              for (std::size_t i = begin; i < end; ++i) {
                if (i + kLeavesAhead < leaves.size())
                  prefetch_leaf<T>(snapshot, query, look, leaves[i + kLeavesAhead], mine.filter, mine.best);
                mine.share_kth_bound();
                visit_leaf<T>(snapshot, query, look, leaves[i], mine.filter, mine.best, mine.stats);
              }
            });
  return searches.merge(stats);
}

template <typename T, typename Best>
std::vector<Hit> pruned_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  ParallelTopK<Best> searches(query);
  const FirstLook look = first_look_of_scan(snapshot, query);
  const std::vector<std::uint32_t> nodes = nodes_that_may_pass(snapshot, query.filter);
  share_out(snapshot, nodes.size(), kNodesPerTask, searches,
            [&](std::size_t begin, std::size_t end, PrivateSearch<Best>& mine) {
              for (std::size_t i = begin; i < end; ++i)
                visit_within_bound<T>(snapshot, query, look, nodes[i], mine);
            });
  return searches.merge(stats);
}

// Visits the leaves with the highest bounds in one level-1 node below each of the best children of the root. Where
// bounds hardly differ, a best-first search would open all nodes before its first leaf.
template <typename T>
class Seeds {
 public:
  Seeds(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats)
      : snapshot_(snapshot), query_(query), stats_(stats), best_(query.k, query.min_score) {}

  double kth_bound(std::size_t num_leaves) {
    const ReadSession session(snapshot_);
    const std::size_t of_each = num_leaves / kDescents;
    for (const std::uint32_t child : best_children(snapshot_.root, kDescents))
      visit_below(snapshot_.root, child, of_each);
    return best_.kth_bound();
  }
  static constexpr std::size_t kDescents = 4;

 private:
  // Of those that may have rows that pass the filter.
  std::vector<std::uint32_t> best_children(std::uint32_t slot, std::size_t count) {
    const Frontier::Bounds bounds = bounds_of_children(snapshot_, query_, slot, stats_);
    std::vector<std::uint32_t> children;
    for (auto left = children_to_visit(query_.filter, snapshot_, slot); left != 0; left &= left - 1)
      children.push_back(static_cast<std::uint32_t>(std::countr_zero(left)));
    const auto bound_of = [&](std::uint32_t child) {
      return std::isnan(bounds[child]) ? std::numeric_limits<double>::infinity() : bounds[child];
    };
    std::ranges::sort(children, std::greater(), bound_of);
    children.resize(std::min(children.size(), count));
    return children;
  }
  void visit_below(std::uint32_t slot, std::uint32_t child, std::size_t num_leaves) {
    while (snapshot_.node(slot).header().level > 1) {
      slot = snapshot_.node(slot).children()[child];
      if (snapshot_.node(slot).header().level == 1) break;
      const std::vector<std::uint32_t> best = best_children(slot, 1);
      if (best.empty()) return;
      child = best.front();
    }
    for (const std::uint32_t leaf : best_children(slot, num_leaves))
      visit_leaf<T>(snapshot_, query_, FirstLook::values, snapshot_.node(slot).children()[leaf], filter_,
                    best_, stats_);
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  SearchStats& stats_;
  TopK best_;
  LeafFilter filter_{query_.filter};
};

}  // namespace

std::vector<std::uint32_t> leaves_that_may_pass(const Snapshot& snapshot, const Predicate& filter) {
  std::vector<std::uint32_t> leaves =
      children_that_may_pass(snapshot, filter, nodes_that_may_pass(snapshot, filter));
  std::ranges::sort(leaves);
  return leaves;
}

double kth_bound_of_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  constexpr std::uint64_t kMinLeaves = 16, kWorthIt = 64;  // a small part of all leaves
  const std::uint64_t num_leaves = kMinLeaves + 2 * query.k / static_cast<std::uint64_t>(snapshot.leaf_rows);
  if (num_leaves * kWorthIt > snapshot.num_leaves) return query.min_score;
  return visit_value_type(
      snapshot, [&]<typename T>(T) { return Seeds<T>(snapshot, query, stats).kth_bound(num_leaves); });
}

std::vector<Hit> search_scan(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  return visit_value_type(snapshot, [&]<typename T>(T) {
    ResolvedQuery seeded = query;
    seeded.min_score = kth_bound_of_scan(snapshot, query, stats);
    return query.k < BufferedTopK::kWorthIt ? scan_all<T, TopK>(snapshot, seeded, stats)
                                            : scan_all<T, BufferedTopK>(snapshot, seeded, stats);
  });
}

std::vector<Hit> search_pruned_scan(const Snapshot& snapshot, const ResolvedQuery& query,
                                    SearchStats& stats) {
  return visit_value_type(snapshot, [&]<typename T>(T) {
    return query.k < BufferedTopK::kWorthIt ? pruned_scan<T, TopK>(snapshot, query, stats)
                                            : pruned_scan<T, BufferedTopK>(snapshot, query, stats);
  });
}

}  // namespace culmen::cpu
