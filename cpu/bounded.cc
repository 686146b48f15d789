#include "cpu/bounded.h"

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

  // Returns false if `monitor`, which may be null, ended the search.
  bool run(SearchMonitor* monitor) {
    std::uint64_t next_checkpoint = monitor == nullptr ? SearchMonitor::kNever : monitor->first_checkpoint();
    if (snapshot_.height > 0) open(snapshot_.root);
    while (!frontier_.empty()) {
      const Frontier::Entry next = frontier_.top();
      const NodeRef parent = frontier_.parent(next);
      if (best_.excludes(next.bound, parent.min_ids()[next.child])) break;  // and all others
      const Progress progress = {stats_, best_, frontier_};
      if (progress.visits() >= next_checkpoint) {
        next_checkpoint = monitor->checkpoint(progress);
        if (next_checkpoint <= progress.visits()) return false;
      }
      const bool is_leaf = parent.header().level == 1;
      if (could_tie(next.bound) && skip_ties(parent, next.child)) continue;
      frontier_.take_top();
      if (!frontier_.empty()) prefetch(frontier_.top());
      const std::uint32_t slot = parent.children()[next.child];
      if (is_leaf) {
        visit_leaf<T>(snapshot_, query_, first_look_, slot, filter_, best_, stats_);
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
    frontier_.open(node, bounds_of_children(query_, node, stats_),
                   children_to_visit(query_.filter, snapshot_, slot));
  }

  // The chain bound includes an error bound for rounding, so among full ties it never equals the k-th score. The zone
  // vector's score includes none: for equal rows it shows that a leaf or node can only tie, and then ids decide. Far
  // from the k-th score bound rounding decides nothing, and reading the zone vector is not worth a cache miss.
  bool could_tie(double bound) const {
    return (!query_.bound.exact || query_.bound.capped) && best_.full() &&
           bound <= best_.kth_bound() + query_.bound.error_bound;
  }

  bool is_tied_out(NodeRef parent, std::uint32_t child) const {
    const std::uint32_t slot = parent.children()[child];
    const bool is_leaf = parent.header().level == 1;
    const auto zone_vector = [&](Extreme which) {
      return is_leaf ? snapshot_.zone_vector<T>(slot, which) : snapshot_.node_zone_vector<T>(slot, which);
    };
    const double best = zone_score(query_, zone_vector(Extreme::maximum), zone_vector(Extreme::minimum));
    return best_.excludes(best, parent.min_ids()[child]);
  }

  // If the top entry, child `top` of `parent`, is tied out: drops it with all its siblings that are, and returns true.
  // Where one child is tied out its siblings often are, and each dropped alone would cost a pass through the heap.
  bool skip_ties(NodeRef parent, std::uint32_t top) {
    if (!is_tied_out(parent, top)) return false;
    const std::uint64_t count =
        frontier_.drop_from_top([&](std::uint32_t child) { return is_tied_out(parent, child); });
    if (parent.header().level == 1) stats_.leaves_tied_out += count;
    return true;
  }

  // Prefetches what the next visit will read first.
  void prefetch(const Frontier::Entry& entry) const {
    const NodeRef parent = frontier_.parent(entry);
    const std::uint32_t slot = parent.children()[entry.child];
    if (parent.header().level > 1) {
      const NodeRef node = snapshot_.node(slot);
      prefetch_bytes(node.bytes, kNodeBoundsOffset);
      prefetch_rows(node, query_.bound.terms);
      if (query_.bound.capped) prefetch_rows(node, query_.bound.capped->terms);
      prefetch_child_zones(query_.filter, snapshot_, slot);
    } else {
      prefetch_leaf<T>(snapshot_, query_, first_look_, slot, filter_, best_);
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
  LeafFilter filter_{query_.filter};
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

double bound_of_root(const Snapshot& snapshot, const ResolvedQuery& query) {
  double highest = -std::numeric_limits<double>::infinity();
  if (snapshot.height == 0) return highest;
  const Frontier::Bounds bounds = bounds_of_children(query.bound, snapshot.node(snapshot.root));
  const Frontier::Children children = children_to_visit(query.filter, snapshot, snapshot.root);
  for (std::uint32_t c = 0; c < kFanOut; ++c)
    if ((children >> c & 1) != 0) highest = std::max(highest, bounds[c]);
  return highest;
}

MonitoredAnswer search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchMonitor& monitor,
                               SearchStats& stats) {
  return search_monitored(snapshot, query, &monitor, stats);
}

}  // namespace culmen::cpu
