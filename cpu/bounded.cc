#include "cpu/bounded.h"

#include <optional>

#include "cpu/frontier.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"

namespace culmen::cpu {
namespace {

template <typename T>
class BoundedSearch {
 public:
  BoundedSearch(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats)
      : snapshot_(snapshot), query_(query), stats_(stats), best_(query.k, query.min_score) {}

  // False if `monitor`, which may be null, ended it.
  bool run(SearchMonitor* monitor) {
    std::uint64_t next_checkpoint = monitor == nullptr ? SearchMonitor::kNever : monitor->first_checkpoint();
    if (snapshot_.height > 0) open(snapshot_.root);
    while (!frontier_.empty()) {
      const Frontier::Entry next = frontier_.top();
      const NodeRef parent = frontier_.parent(next);
      if (best_.excludes(next.bound, parent.min_ids()[next.child])) break;  // and so is everything behind it
      const Progress progress = {stats_, best_, frontier_};
      if (progress.visits() >= next_checkpoint) {
        next_checkpoint = monitor->checkpoint(progress);
        if (next_checkpoint <= progress.visits()) return false;
      }
      const bool is_leaf = parent.header().level == 1;
      if (could_tie(next.bound) && leave_out_ties(parent, next.child)) continue;
      frontier_.take_top();
      if (!frontier_.empty()) prefetch(frontier_.top());
      const std::uint32_t slot = parent.children()[next.child];
      if (is_leaf) {
        visit_leaf<T>(snapshot_, query_, first_look_, slot, best_, stats_);
      } else {
        open(slot);
      }
    }
    return true;
  }

  std::vector<Hit> take_hits() {
    stats_.replacements += best_.num_replacements();
    return best_.take_sorted();
  }

 private:
  void open(std::size_t slot) {
    const NodeRef node = snapshot_.node(slot);
    frontier_.open(node, bounds_of_children(query_, node, stats_), children_in_ranges(query_.bound, node));
  }

  // The chain bound carries a margin for rounding, so among full ties it never equals the k-th score. The
  // corner's score carries none: where tuples are alike it shows that the leaf can only tie, and then the ids
  // decide. Far from the floor rounding decides nothing, and the corner is not worth a cache miss.
  bool could_tie(double bound) const {
    return (!query_.bound.exact || query_.bound.capped) && best_.full() &&
           bound <= best_.floor() + query_.bound.looseness;
  }

  bool is_tied_out(NodeRef parent, std::uint32_t child) const {
    const double corner =
        corner_score<T>(snapshot_, query_, parent.children()[child], Corner::maximum, Corner::minimum);
    return best_.excludes(corner, parent.min_ids()[child]);
  }

  std::uint32_t last_leaf(NodeRef parent, std::uint32_t child) const {
    std::uint32_t slot = parent.children()[child];
    for (std::uint32_t level = parent.header().level; level > 1; --level) {
      const NodeRef node = snapshot_.node(slot);
      slot = node.children()[node.header().num_children - 1];
    }
    return slot;
  }

  // Whether all later leaves of the leaf's partition are out, by its threshold.
  bool is_later_tied_out(std::uint32_t leaf) const {
    const double threshold =
        corner_score<T>(snapshot_, query_, leaf, Corner::suffix_maximum, Corner::suffix_minimum);
    return best_.excludes(threshold, snapshot_.leaf(leaf).suffix_min_id);
  }

  // Whether all that is below the children after this one is: leaves come in the order of partitions.
  bool is_rest_tied_out(NodeRef parent, std::uint32_t child) const {
    const std::uint32_t leaf = last_leaf(parent, child);
    const std::uint32_t last = last_leaf(parent, parent.header().num_children - 1);
    return snapshot_.leaf(leaf).partition == snapshot_.leaf(last).partition && is_later_tied_out(leaf);
  }

  // Whether the top, this child of `parent`, is tied out. Where one leaf is, its neighbours often are: all
  // that are left of its parent are looked at together. One at a time, each would cost a way through the
  // heap.
  bool leave_out_ties(NodeRef parent, std::uint32_t top) {
    if (parent.header().level > 1) {
      if (top == 0 || !is_rest_tied_out(parent, top - 1)) return false;
      frontier_.leave_out_of_top([&](std::uint32_t child) { return child >= top; });
      return true;
    }
    if (!is_tied_out(parent, top)) return false;
    std::optional<std::uint32_t> finished;  // a partition of which no later leaf is left
    stats_.leaves_tied_out += frontier_.leave_out_of_top([&](std::uint32_t child) {
      const std::uint32_t leaf = parent.children()[child];
      const std::uint32_t partition = snapshot_.leaf(leaf).partition;
      if (partition == finished) return true;
      if (!is_tied_out(parent, child)) return false;
      if (is_later_tied_out(leaf)) finished = partition;
      return true;
    });
    return true;
  }

  // What the next visit will read first is fetched while this one computes.
  void prefetch(const Frontier::Entry& entry) const {
    const NodeRef parent = frontier_.parent(entry);
    const std::uint32_t slot = parent.children()[entry.child];
    if (parent.header().level > 1) {
      const NodeRef node = snapshot_.node(slot);
      prefetch_bytes(node.bytes, kNodeBoundsOffset);
      prefetch_rows(node, query_.bound.terms);
      if (query_.bound.capped) prefetch_rows(node, query_.bound.capped->terms);
    } else {
      prefetch_leaf<T>(snapshot_, query_, first_look_, slot, best_);
    }
  }

  static void prefetch_rows(NodeRef node, const BoundTerms& terms) {
    for (const BoundTerm& term : terms) prefetch_bytes(node.bounds() + term.row, sizeof(BoundRow));
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  const FirstLook first_look_ = first_look_of_bounded(query_);
  SearchStats& stats_;
  TopK best_;
  Frontier frontier_;
};

MonitoredAnswer search_monitored(const Snapshot& snapshot, const ResolvedQuery& query, SearchMonitor* monitor,
                                 SearchStats& stats) {
  return visit_value_type(snapshot, [&]<typename T>(T) {
    BoundedSearch<T> search(snapshot, query, stats);
    const bool finished = search.run(monitor);
    return MonitoredAnswer{search.take_hits(), finished};
  });
}

}  // namespace

std::vector<Hit> search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  return search_monitored(snapshot, query, nullptr, stats).hits;
}

MonitoredAnswer search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchMonitor& monitor,
                               SearchStats& stats) {
  return search_monitored(snapshot, query, &monitor, stats);
}

}  // namespace culmen::cpu
