#include "cpu/bounded.h"

#include "cpu/frontier.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_ranges.h"

namespace culmen::cpu {
namespace {

template <typename T>
class BoundedSearch {
 public:
  BoundedSearch(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats)
      : snapshot_(snapshot), query_(query), stats_(stats), best_(query.k, query.min_score) {}

  std::vector<Hit> run() {
    if (snapshot_.height > 0) expand(snapshot_.nodes.size() - 1);
    while (!frontier_.empty()) {
      const FrontierEntry next = frontier_.pop();
      if (best_.excludes(next.bound, next.min_id)) break;  // and so is everything behind it
      if (!frontier_.empty()) prefetch(frontier_.top());
      if (next.level > 0) {
        expand(next.slot);
      } else if (!is_tied_out(next)) {
        visit_leaf<T>(snapshot_, query_, next.slot, best_, stats_);
      }
    }
    return best_.take_sorted();
  }

 private:
  void expand(std::size_t slot) {
    const NodeRef node = snapshot_.nodes[slot];
    const NodeHeader& header = node.header();
    double bounds[kFanOut];
    simd::child_bounds(node.bounds(), query_.bound, bounds);
    for (std::uint32_t c = 0; c < header.num_children; ++c) {
      if (bounds[c] < best_.floor()) continue;
      const std::int64_t min_id = node.min_ids()[c];
      if (best_.excludes(bounds[c], min_id) || misses_range(query_.bound, node, c)) continue;
      frontier_.push({bounds[c], min_id, node.children()[c], header.level - 1});
    }
    ++stats_.nodes_visited;
    stats_.bounds_computed += header.num_children;
    stats_.bytes_touched += query_.bound.terms.size() * kFanOut * sizeof(float);
  }

  // The chain bound carries a margin for rounding, so among full ties it never equals the k-th score. The
  // corner's score carries none: where tuples are alike it shows that the leaf can only tie, and then the ids
  // decide.
  bool is_tied_out(const FrontierEntry& leaf) const {
    if (query_.bound.exact || !best_.full()) return false;
    const double bound = corner_score<T>(snapshot_, query_, leaf.slot, Corner::maximum, Corner::minimum);
    return best_.excludes(bound, leaf.min_id);
  }

  // What the next visit will read first is fetched while this one computes.
  void prefetch(const FrontierEntry& entry) const {
    if (entry.level > 0) {
      const float* bounds = snapshot_.nodes[entry.slot].bounds();
      for (const BoundTerm& term : query_.bound.terms) {
        __builtin_prefetch(bounds + term.row * kFanOut);
        __builtin_prefetch(bounds + term.row * kFanOut + kFanOut / 2);
      }
    } else {
      const T* values = snapshot_.leaf_values<T>(entry.slot);
      const auto slots = static_cast<std::size_t>(snapshot_.block_rows);
      for (const Term& term : query_.terms)
        for (std::size_t r = 0; r < slots; r += 64 / sizeof(T))
          __builtin_prefetch(values + static_cast<std::size_t>(term.attribute) * slots + r);
    }
  }

  const Snapshot& snapshot_;
  const ResolvedQuery& query_;
  SearchStats& stats_;
  TopK best_;
  Frontier frontier_;
};

}  // namespace

std::vector<Hit> search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  return visit_value_type(snapshot,
                          [&]<typename T>(T) { return BoundedSearch<T>(snapshot, query, stats).run(); });
}

}  // namespace culmen::cpu
