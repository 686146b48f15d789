#include "cpu/monotone.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "base/floating_point_scope.h"
#include "base/number_text.h"
#include "cpu/frontier.h"
#include "cpu/leaf_filter.h"
#include "cpu/node_children.h"
#include "cpu/parallel_topk.h"
#include "cpu/topk.h"
#include "culmen/error.h"
#include "index/read_session.h"

namespace culmen::cpu {
namespace {

// Scores the rows of leaves with a caller's function. Holds a buffer for one row, so each thread has its own.
class LeafScorer {
 public:
  LeafScorer(const Snapshot& snapshot, MonotoneFunctionRef function, const ResolvedQuery& query)
      : snapshot_(snapshot),
        function_(function),
        filter_(query.filter),
        watch_(query.watch),
        values_(static_cast<std::size_t>(snapshot.num_attributes())) {
    for (int i = 0; i < snapshot.num_attributes(); ++i)
      if (function.direction(i) != Direction::unused) used_.push_back(static_cast<std::size_t>(i));
  }

  // The attributes that the function reads.
  const std::vector<std::size_t>& used() const { return used_; }

  // Throws InvalidArgument if a row scores above `bound`, the leaf's: the function is not monotone then.
  template <typename T>
  void visit(std::uint32_t leaf, double bound, TopK& best, SearchStats& stats) {
    look_at(watch_);
    const auto leaf_rows = static_cast<std::uint64_t>(snapshot_.leaf_rows);
    const T* columns = snapshot_.leaf_values<T>(leaf);
    const std::uint32_t num_rows = snapshot_.leaf(leaf).num_rows;
    const Verdict verdict = filter_.test<T>(snapshot_, leaf, stats);
    for (std::uint32_t r = 0; r < num_rows && verdict != Verdict::none; ++r) {
      if (verdict == Verdict::some && !filter_.passes(r)) continue;
      read_row(columns, r);
      const double score = function_.score(values_) + 0.0;
      const std::uint64_t row = leaf * leaf_rows + r;
      if (!std::isfinite(score))
        throw InvalidArgument("the function's score of id " + snapshot_.shown_id(row) + " is not finite");
      if (score > bound) throw_not_monotone(row, score, bound);
      if (score >= best.kth_bound()) best.offer({snapshot_.id(row), score, row});
    }
    ++stats.leaves_visited;
    stats.rows_scored += num_rows;
    stats.bytes_touched += num_rows * used_.size() * sizeof(T);
  }

 private:
  template <typename T>
  const T* column(const T* columns, std::size_t attribute) const {
    return columns + attribute * static_cast<std::size_t>(snapshot_.leaf_rows);
  }

  // Fills values_ with the row as the user gave it; 0 for attributes that the function does not read.
  template <typename T>
  void read_row(const T* columns, std::uint32_t r) {
    for (const std::size_t i : used_)
      values_[i] = oriented(static_cast<double>(column(columns, i)[r]), snapshot_.attributes[i].preference);
  }

  [[noreturn]] void throw_not_monotone(std::uint64_t row, double score, double bound) const {
    throw InvalidArgument("the function is not monotone as its direction() and relative_error() say: id " +
                          snapshot_.shown_id(row) + " scores " + number_text(score) +
                          ", but values that are nowhere worse at most " + number_text(bound));
  }

  const Snapshot& snapshot_;
  MonotoneFunctionRef function_;
  LeafFilter filter_;
  Watch* watch_;
  std::vector<std::size_t> used_;
  std::vector<double> values_;
};

class MonotoneSearch {
 public:
  MonotoneSearch(const Snapshot& snapshot, MonotoneFunctionRef function, const ResolvedQuery& query,
                 SearchStats& stats)
      : snapshot_(snapshot),
        function_(function),
        query_(query),
        stats_(stats),
        best_(query.k, query.min_score),
        scorer_(snapshot, function, query),
        values_(static_cast<std::size_t>(snapshot.num_attributes())) {}

  std::vector<Hit> best_first() {
    if (snapshot_.height > 0) open(snapshot_.root);
    while (!frontier_.empty()) {
      const Frontier::Entry next = frontier_.top();
      const NodeRef parent = frontier_.parent(next);
      if (best_.excludes(next.bound, parent.min_ids()[next.child])) break;
      frontier_.take_top();
      const std::uint32_t slot = parent.children()[next.child];
      session_.rest();
      if (parent.header().level > 1) {
        open(slot);
      } else {
        visit_value_type(snapshot_,
                         [&]<typename T>(T) { scorer_.visit<T>(slot, next.bound, best_, stats_); });
      }
    }
    return best_.take_sorted();
  }

 private:
  void open(std::size_t slot) {
    const NodeRef node = snapshot_.node(slot);
    Frontier::Bounds bounds{};
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) bounds[c] = child_bound(node, c);
    frontier_.open(session_.keep(node), bounds, children_to_visit(query_.filter, snapshot_, slot));
    ++stats_.nodes_visited;
    stats_.bounds_computed += node.header().num_children;
    stats_.bytes_touched += scorer_.used().size() * sizeof(BoundRow);
  }

  // The function's value at the corner of the child's zone map where it is highest.
  double child_bound(NodeRef node, std::uint32_t child) {
    for (const std::size_t attribute : scorer_.used()) {
      const auto i = static_cast<int>(attribute);
      const bool low = snapshot_.attributes[attribute].preference == Preference::low;
      const bool rising = function_.direction(i) != Direction::falling;
      const bool oriented_maximum = rising != low;
      const int row = oriented_maximum ? snapshot_.layout.maximum_row(i) : snapshot_.layout.minimum_row(i);
      const float in_units = node.bounds()[row][child];
      const double value = zone_value(i, in_units, oriented_maximum);
      values_[attribute] = low ? -value : value;
    }
    return widened(function_.score(values_));
  }

  // If f differs from a monotone g by at most r |g|, no row of the box scores more than
  // f(zone_vector) + 2 r / (1 - r) |f(zone_vector)|. The factor 1 + 2^-20 covers the rounding of this sum.
  double widened(double zone_score) const {
    const double error = function_.relative_error();
    if (error == 0) return zone_score;
    return zone_score + (2 * error / (1 - error) * (1 + 0x1p-20) * std::fabs(zone_score) + 0x1p-1000);
  }

  // Converts a bound in units to an oriented value within the attribute's range.
  double zone_value(int attribute, float in_units, bool up) const {
    const auto i = static_cast<std::size_t>(attribute);
    return std::clamp(snapshot_.units[i].value_outwards(in_units, up), snapshot_.stats[i].minimum,
                      snapshot_.stats[i].maximum);
  }

  const Snapshot& snapshot_;
  ReadSession session_{snapshot_};
  MonotoneFunctionRef function_;
  const ResolvedQuery& query_;
  SearchStats& stats_;
  TopK best_;
  LeafScorer scorer_;
  Frontier frontier_;
  std::vector<double> values_;  // the zone vector of one child
};

}  // namespace

std::vector<Hit> search_monotone(const Snapshot& snapshot, MonotoneFunctionRef function,
                                 const ResolvedQuery& query, SearchStats& stats) {
  return MonotoneSearch(snapshot, function, query, stats).best_first();
}

std::vector<Hit> scan_monotone(const Snapshot& snapshot, MonotoneFunctionRef function,
                               const ResolvedQuery& query, SearchStats& stats) {
  const std::vector<std::uint32_t>& leaves = snapshot.order().ascending_leaves;
  ParallelTopK<TopK> searches(query);
  tbb::enumerable_thread_specific<LeafScorer> scorers([&] { return LeafScorer(snapshot, function, query); });
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, leaves.size(), kLeavesPerTask),
                    [&](const tbb::blocked_range<std::size_t>& range) {
                      const FloatingPointScope floating_point;
                      const ReadSession session(snapshot);
                      PrivateSearch<TopK>& mine = searches.local();
                      LeafScorer& scorer = scorers.local();
                      visit_value_type(snapshot, [&]<typename T>(T) {
                        for (std::size_t i = range.begin(); i < range.end(); ++i)
                          scorer.visit<T>(leaves[i], std::numeric_limits<double>::infinity(), mine.best,
                                          mine.stats);
                      });
                    });
  return searches.merge(stats);
}

}  // namespace culmen::cpu
