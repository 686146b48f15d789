#include "cpu/monotone.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/number_text.h"
#include "cpu/frontier.h"
#include "cpu/node_children.h"
#include "cpu/topk.h"
#include "culmen/error.h"
#include "query/passes.h"

namespace culmen::cpu {
namespace {

class MonotoneSearch {
 public:
  MonotoneSearch(const Snapshot& snapshot, MonotoneFunctionRef function, const ResolvedQuery& query,
                 SearchStats& stats)
      : snapshot_(snapshot),
        function_(function),
        query_(query),
        stats_(stats),
        best_(query.k, query.min_score),
        values_(static_cast<std::size_t>(snapshot.num_attributes())) {}

  std::vector<Hit> best_first() {
    if (snapshot_.height > 0) open(snapshot_.root);
    while (!frontier_.empty()) {
      const Frontier::Entry next = frontier_.top();
      const NodeRef parent = frontier_.parent(next);
      if (best_.excludes(next.bound, parent.min_ids()[next.child])) break;
      frontier_.take_top();
      const std::uint32_t slot = parent.children()[next.child];
      if (parent.header().level > 1) {
        open(slot);
      } else {
        visit(slot, next.bound);
      }
    }
    return best_.take_sorted();
  }

  std::vector<Hit> scan() {
    for (const std::uint32_t leaf : snapshot_.order().leaves)
      visit(leaf, std::numeric_limits<double>::infinity());
    return best_.take_sorted();
  }

 private:
  void open(std::size_t slot) {
    const NodeRef node = snapshot_.node(slot);
    Frontier::Bounds bounds{};
    for (std::uint32_t c = 0; c < node.header().num_children; ++c) bounds[c] = child_bound(node, c);
    frontier_.open(node, bounds, children_in_ranges(query_.bound, node));
    ++stats_.nodes_visited;
    stats_.bounds_computed += node.header().num_children;
    stats_.bytes_touched += node.header().num_children * values_.size() * 2 * sizeof(Half);
  }

  // The function at the corner of the child's box where it is highest.
  double child_bound(NodeRef node, std::uint32_t child) {
    for (int i = 0; i < snapshot_.num_attributes(); ++i) {
      const bool low = snapshot_.attributes[static_cast<std::size_t>(i)].preference == Preference::low;
      const bool rising = function_.direction(i) != Direction::falling;
      const bool oriented_maximum = rising != low;
      const int row = oriented_maximum ? snapshot_.layout.maximum_row(i) : snapshot_.layout.minimum_row(i);
      const float in_units = node.bounds()[row * kFanOut + static_cast<int>(child)];
      const double value = corner_value(i, in_units, oriented_maximum);
      values_[static_cast<std::size_t>(i)] = low ? -value : value;
    }
    return widened(function_.score(values_));
  }

  // With a monotone g that the function f misses by r |g| at most, no row of the box scores more than
  // f(corner) + 2 r / (1 - r) |f(corner)|. The last factor is for the rounding of the others.
  double widened(double corner_score) const {
    const double error = function_.relative_error();
    if (error == 0) return corner_score;
    return corner_score + (2 * error / (1 - error) * (1 + 0x1p-20) * std::fabs(corner_score) + 0x1p-1000);
  }

  // A bound in units as an oriented value, never out of the attribute's own range.
  double corner_value(int attribute, float in_units, bool up) const {
    const auto i = static_cast<std::size_t>(attribute);
    return std::clamp(snapshot_.units[i].value_outwards(in_units, up), snapshot_.stats[i].minimum,
                      snapshot_.stats[i].maximum);
  }

  // `bound`: that no row of the leaf may score above, if the function is what it says.
  void visit(std::uint32_t leaf, double bound) {
    const auto block_rows = static_cast<std::uint64_t>(snapshot_.block_rows);
    for (std::uint32_t r = 0; r < snapshot_.leaf(leaf).num_rows; ++r) {
      const std::uint64_t row = leaf * block_rows + r;
      if (!read_row(row)) continue;
      const double score = function_.score(values_) + 0.0;
      if (!std::isfinite(score))
        throw InvalidArgument("the function's score of id " + std::to_string(snapshot_.id(row)) +
                              " is not finite");
      if (score > bound) throw_not_monotone(row, score, bound);
      best_.offer({snapshot_.id(row), score, row});
    }
    ++stats_.blocks_visited;
    stats_.tuples_scored += snapshot_.leaf(leaf).num_rows;
    stats_.bytes_touched += snapshot_.leaf(leaf).num_rows * values_.size() * snapshot_.value_bytes();
  }

  [[noreturn]] void throw_not_monotone(std::uint64_t row, double score, double bound) const {
    throw InvalidArgument("the function is not monotone as its direction() and relative_error() say: id " +
                          std::to_string(snapshot_.id(row)) + " scores " + number_text(score) +
                          ", but values that are nowhere worse at most " + number_text(bound));
  }

  // Fills values_ with the tuple as the user gave it; false if it fails the filter.
  bool read_row(std::uint64_t row) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      values_[i] = oriented(snapshot_.value(row, static_cast<int>(i)), snapshot_.attributes[i].preference);
    return passes(snapshot_, query_, row);
  }

  const Snapshot& snapshot_;
  MonotoneFunctionRef function_;
  const ResolvedQuery& query_;
  SearchStats& stats_;
  TopK best_;
  Frontier frontier_;
  std::vector<double> values_;
};

}  // namespace

std::vector<Hit> search_monotone(const Snapshot& snapshot, MonotoneFunctionRef function,
                                 const ResolvedQuery& query, SearchStats& stats) {
  return MonotoneSearch(snapshot, function, query, stats).best_first();
}

std::vector<Hit> scan_monotone(const Snapshot& snapshot, MonotoneFunctionRef function,
                               const ResolvedQuery& query, SearchStats& stats) {
  return MonotoneSearch(snapshot, function, query, stats).scan();
}

}  // namespace culmen::cpu
