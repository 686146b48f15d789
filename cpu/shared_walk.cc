#include "cpu/shared_walk.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "base/floating_point_scope.h"
#include "cpu/bounded.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"
#include "cpu/topk.h"
#include "index/read_session.h"
#include "query/watch.h"

namespace culmen::cpu {
namespace {

// Ends the search that a question makes alone once it has made so many visits, unless memory had nearly all of it.
class FirstVisits : public SearchMonitor {
 public:
  explicit FirstVisits(std::uint64_t most) : most_(most) {}
  std::uint64_t first_checkpoint() const override { return most_; }
  std::uint64_t checkpoint(const Progress& progress) override {
    constexpr std::uint64_t kFewReads = 4;
    const std::uint64_t reads = SlotCache::num_reads_of_thread() - reads_before_;
    return reads < kFewReads ? progress.visits() + 1 : 0;
  }

  // A part of what a walk reads for each question; a larger one of few questions, which gain less by a walk
  // (bench/limited_memory).
  static std::uint64_t most_of(const Snapshot& snapshot, std::uint64_t num_questions) {
    constexpr std::uint64_t kLeast = 8;
    const std::uint64_t of_share = std::clamp<std::uint64_t>(num_questions / 4, 1, 8);
    return std::max(kLeast, (snapshot.num_leaves + snapshot.num_nodes) / (of_share * num_questions));
  }

 private:
  const std::uint64_t most_;
  const std::uint64_t reads_before_ = SlotCache::num_reads_of_thread();
};

// A question that walks. Threads that visit different places for it wait for each other: one visit.
class Walker {
 public:
  // floor: k rows are known to reach it.
  Walker(std::size_t number, ResolvedQuery query, double floor, const SearchStats& stats)
      : number_(number),
        watch_(std::exchange(query.watch, nullptr)),
        query_(std::move(query)),
        first_look_(first_look_of_bounded(query_)),
        filter_(query_.filter),
        best_(query_.k, std::max(floor, query_.min_score)),
        stats_(stats) {}

  const ResolvedQuery& query() const { return query_; }  // without its watch
  void look_at_watch() const { look_at(watch_); }

  bool excludes(double bound, std::int64_t min_id) {
    const std::lock_guard lock(mutex_);
    return best_.excludes(bound, min_id);
  }

  Frontier::Bounds bounds_of_children(const Snapshot& snapshot, std::uint32_t node) {
    SearchStats of_node;
    const Frontier::Bounds bounds = culmen::bounds_of_children(snapshot, query_, node, of_node);
    const std::lock_guard lock(mutex_);
    stats_ += of_node;
    return bounds;
  }

  template <typename T>
  void visit(const Snapshot& snapshot, std::uint32_t leaf, double bound, std::int64_t min_id) {
    look_at_watch();  // which calls the caller's functions, so not under the lock
    const std::lock_guard lock(mutex_);
    if (!best_.excludes(bound, min_id))
      visit_leaf<T>(snapshot, query_, first_look_, leaf, filter_, best_, stats_);
  }

  void answer(const GiveAnswer& give) {
    stats_.replacements += best_.num_replacements();
    give(number_, best_.take_sorted(), stats_);
  }

 private:
  const std::size_t number_;
  Watch* const watch_;
  const ResolvedQuery query_;
  const FirstLook first_look_;
  std::mutex mutex_;  // of all that follows
  LeafFilter filter_;
  TopK best_;
  SearchStats stats_;
};

// A node or leaf, and the questions whose bound for it reaches their k-th scores so far.
struct Place {
  struct Visitor {
    Walker* walker;
    double bound;
  };
  std::uint32_t slot = 0;
  std::int64_t min_id = 0;
  std::vector<Visitor> visitors;
};

template <typename T>
class Walk {
 public:
  explicit Walk(const Snapshot& snapshot) : snapshot_(snapshot) {}

  void visit_node(const Place& place) const {
    std::vector<Place> children;
    bool are_leaves = false;
    {
      const ReadSession session(snapshot_);
      const NodeRef node = snapshot_.node(place.slot);
      are_leaves = node.header().level == 1;
      children = children_of(node, place);
    }
    if (are_leaves) {
      for (const Place& child : children) visit_leaf_with(child);
    } else {
      tbb::parallel_for(std::size_t{0}, children.size(), [&](std::size_t c) {
        const FloatingPointScope floating_point;
        visit_node(children[c]);
      });
    }
  }

 private:
  // Those that have visitors, those of most first: they raise the most k-th scores.
  std::vector<Place> children_of(NodeRef node, const Place& place) const {
    std::array<Place, kFanOut> all;
    for (const auto& [walker, bound] : place.visitors) {
      if (walker->excludes(bound, place.min_id)) continue;
      walker->look_at_watch();
      const Frontier::Bounds bounds = walker->bounds_of_children(snapshot_, place.slot);
      Frontier::Children left = children_to_visit(walker->query().filter, snapshot_, place.slot);
      for (; left != 0; left &= left - 1) {
        const auto c = static_cast<std::size_t>(std::countr_zero(left));
        if (!walker->excludes(bounds[c], node.min_ids()[c])) all[c].visitors.push_back({walker, bounds[c]});
      }
    }
    const SlotKind kind = node.header().level == 1 ? SlotKind::leaf : SlotKind::node;
    std::vector<Place> visited;
    for (std::size_t c = 0; c < kFanOut; ++c) {
      if (all[c].visitors.empty()) continue;
      visited.push_back({node.children()[c], node.min_ids()[c], std::move(all[c].visitors)});
      snapshot_.arena->will_touch(kind, visited.back().slot);
    }
    std::ranges::stable_sort(visited, std::greater(),
                             [](const Place& child) { return child.visitors.size(); });
    return visited;
  }

  void visit_leaf_with(const Place& leaf) const {
    const ReadSession session(snapshot_);
    for (const Place::Visitor& visitor : leaf.visitors)
      visitor.walker->visit<T>(snapshot_, leaf.slot, visitor.bound, leaf.min_id);
  }

  const Snapshot& snapshot_;
};

// Answers the question if that takes few visits; else returns it as one that walks.
std::unique_ptr<Walker> search_alone(const Snapshot& snapshot, std::size_t number, ResolvedQuery query,
                                     std::uint64_t most_visits, const GiveAnswer& give) {
  FirstVisits monitor(most_visits);
  SearchStats stats;
  stats.engine = Engine::bounded;
  MonitoredAnswer answer = search_bounded(snapshot, query, monitor, stats);
  if (answer.finished) {
    give(number, std::move(answer.hits), stats);
    return nullptr;
  }
  const double floor = answer.hits.size() == query.k ? answer.hits.back().score : query.min_score;
  return std::make_unique<Walker>(number, std::move(query), floor, stats);
}

}  // namespace

void walk_together(const Snapshot& snapshot, std::size_t num_questions, const QuestionOf& query_of,
                   const GiveAnswer& give) {
  const std::uint64_t most_visits = FirstVisits::most_of(snapshot, std::min(num_questions, kMostWalkers));
  for (std::size_t first = 0; first < num_questions; first += kMostWalkers) {
    std::vector<std::unique_ptr<Walker>> walkers(std::min(kMostWalkers, num_questions - first));
    tbb::parallel_for(std::size_t{0}, walkers.size(), [&](std::size_t i) {
      const FloatingPointScope floating_point;
      if (std::optional<ResolvedQuery> query = query_of(first + i))
        walkers[i] = search_alone(snapshot, first + i, *std::move(query), most_visits, give);
    });
    std::erase(walkers, nullptr);
    if (walkers.empty()) continue;
    Place root = {.slot = snapshot.root, .min_id = std::numeric_limits<std::int64_t>::min(), .visitors = {}};
    for (const std::unique_ptr<Walker>& walker : walkers)
      root.visitors.push_back({walker.get(), std::numeric_limits<double>::infinity()});
    visit_value_type(snapshot, [&]<typename T>(T) { Walk<T>(snapshot).visit_node(root); });
    tbb::parallel_for(std::size_t{0}, walkers.size(), [&](std::size_t i) {
      const FloatingPointScope floating_point;
      walkers[i]->answer(give);
    });
  }
}

}  // namespace culmen::cpu
