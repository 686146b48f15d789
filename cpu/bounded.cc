#include "cpu/bounded.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cpu/frontier.h"
#include "cpu/full_groups.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"
#include "cpu/topk_per_group.h"
#include "index/read_session.h"

namespace culmen::cpu {
namespace {

// Best: TopK, or the part that one of several trees has in one.
template <typename T, typename Best>
class BoundedSearch {
 public:
  BoundedSearch(const Snapshot& snapshot, const ResolvedQuery& query, Best& best, SearchStats& stats)
      : snapshot_(snapshot), query_(query), stats_(stats), best_(best) {
    if (snapshot_.height > 0) open(snapshot_.root);
  }

  // False once no row that is left can be in the answer.
  bool has_next() const {
    if (frontier_.empty()) return false;
    const Frontier::Entry& next = frontier_.top();
    return !best_.excludes(next.bound, frontier_.parent(next).min_ids()[next.child]);
  }

  // The highest bound that is left. Needs a next.
  double next_bound() const { return frontier_.top().bound; }

  // Visits what has the highest bound.
  void visit_next() {
    const Frontier::Entry next = frontier_.top();
    const NodeRef parent = frontier_.parent(next);
    const bool is_leaf = parent.header().level == 1;
    if (could_tie(next.bound) && skip_ties(parent, next.child)) return;
    frontier_.take_top();
    if (!frontier_.empty()) prefetch(frontier_.top());
    if (snapshot_.arena->reads_files()) read_ahead();
    const std::uint32_t slot = parent.children()[next.child];
    session_.rest();
    if (is_leaf) {
      visit_leaf<T>(snapshot_, query_, first_look_, slot, filter_, best_, stats_);
    } else {
      open(slot);
    }
  }

  // Returns false if `monitor`, which may be null, ended the search.
  bool run(SearchMonitor* monitor) {
    std::uint64_t next_checkpoint = monitor == nullptr ? SearchMonitor::kNever : monitor->first_checkpoint();
    while (has_next()) {
      const Progress progress = {stats_, best_, frontier_};
      if (progress.visits() >= next_checkpoint) {
        next_checkpoint = monitor->checkpoint(progress);
        if (next_checkpoint <= progress.visits()) return false;
      }
      visit_next();
    }
    return true;
  }

 private:
  void open(std::size_t slot) {
    look_at(query_.watch);
    const NodeRef node = snapshot_.node(slot);
    frontier_.open(session_.keep(node), bounds_of_children(snapshot_, query_, slot, stats_),
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
    if (!query_.functions.empty() && !is_leaf)
      return false;  // what they add below a node is known less exactly
    const auto zone_vector = [&](Extreme which) {
      return is_leaf ? snapshot_.zone_vector<T>(slot, which) : snapshot_.node_zone_vector<T>(slot, which);
    };
    double best = zone_score(query_, zone_vector(Extreme::maximum), zone_vector(Extreme::minimum));
    if (!query_.functions.empty()) best = highest_of_leaf<T>(query_.functions, snapshot_, slot).add_to(best);
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
      if (!snapshot_.arena->has_node(slot)) return;
      const NodeRef node = snapshot_.node(slot);
      prefetch_bytes(node.bytes, kNodeBoundsOffset);
      prefetch_bounds(query_, snapshot_, node);
      prefetch_child_zones(query_.filter, snapshot_, slot);
    } else if (snapshot_.arena->has_leaf(slot)) {
      prefetch_leaf<T>(snapshot_, query_, first_look_, slot, filter_, best_);
    }
  }

  void read_ahead() {
    frontier_.for_each_new_near_top([&](const Frontier::Entry& entry) {
      const NodeRef parent = frontier_.parent(entry);
      snapshot_.arena->will_touch(parent.header().level == 1 ? SlotKind::leaf : SlotKind::node,
                                  parent.children()[entry.child]);
    });
  }

  const Snapshot& snapshot_;
  ReadSession session_{snapshot_};
  const ResolvedQuery& query_;
  const FirstLook first_look_ = first_look_of_bounded(query_);
  SearchStats& stats_;
  Best& best_;
  LeafFilter filter_{query_.filter};
  Frontier frontier_;
};

MonitoredAnswer search_monitored(const Snapshot& snapshot, const ResolvedQuery& query, SearchMonitor* monitor,
                                 SearchStats& stats) {
  return visit_value_type(snapshot, [&]<typename T>(T) {
    TopK best(query.k, query.min_score);
    const bool finished = BoundedSearch<T, TopK>(snapshot, query, best, stats).run(monitor);
    stats.replacements += best.num_replacements();
    return MonitoredAnswer{best.take_sorted(), finished};
  });
}

template <typename T, typename Best>
void run_to_end(const Snapshot& snapshot, const ResolvedQuery& query, Best& best, SearchStats& stats) {
  BoundedSearch<T, Best> search(snapshot, query, best, stats);
  while (search.has_next()) search.visit_next();
}

// ---- Groups

constexpr std::uint64_t kVisitsOfGroups = 64, kMoreVisits = 2;

// Where all groups together have fewer than k rows, no k-th score ends the search: it would score every row of groups that are full.
// So when `visits` are done, and few of the latest have found a row, full groups are noted and the search stops; the next one
// skips them. If the zone maps of their column show that there are no others, it visits nothing. `visits` then doubles, so all
// searches together visit at most three times as much as one. Returns true at the end of the last one.
template <typename T>
bool run_until_groups_are_full(BoundedSearch<T, TopKPerGroup>& search, const TopKPerGroup& best,
                               std::uint64_t& visits, FullGroups& full) {
  std::size_t found = 0;
  for (std::uint64_t done = 0; search.has_next(); ++done) {
    if (done == visits) {
      const bool is_growing = best.size() > found + found / 8;
      found = best.size();
      visits *= kMoreVisits;
      if (!best.full() && !is_growing && full.add(best.settled(search.next_bound()), best)) return false;
    }
    search.visit_next();
  }
  return true;
}

// ---- Several trees

// The rows of hits in a TopK of several trees say in their highest bits of which tree they are.
constexpr int kRowBits = 44;
static_assert(std::uint64_t{kMaxLeafRows} << 32 <= std::uint64_t{1} << kRowBits);

// One tree's part in a TopK of several.
class TopKOfTree {
 public:
  TopKOfTree(TopK& best, std::size_t tree) : best_(best), tree_bits_(std::uint64_t{tree} << kRowBits) {}

  bool full() const { return best_.full(); }
  double kth_bound() const { return best_.kth_bound(); }
  bool excludes(double bound, std::int64_t min_id) const { return best_.excludes(bound, min_id); }
  void offer(Hit hit) {
    hit.row |= tree_bits_;
    best_.offer(hit);
  }

 private:
  TopK& best_;
  std::uint64_t tree_bits_;
};

// The search of one of several trees, whatever the type of its values.
class TreeSearch {
 public:
  TreeSearch() = default;
  TreeSearch(const TreeSearch&) = delete;
  TreeSearch& operator=(const TreeSearch&) = delete;
  virtual ~TreeSearch() = default;
  virtual bool has_next() const = 0;
  virtual double next_bound() const = 0;
  virtual void visit_next() = 0;
};

template <typename T>
class TypedTreeSearch final : public TreeSearch {
 public:
  TypedTreeSearch(const JointTree& tree, std::size_t number, TopK& best, SearchStats& stats)
      : best_(best, number), search_(*tree.snapshot, *tree.query, best_, stats) {}

  bool has_next() const override { return search_.has_next(); }
  double next_bound() const override { return search_.next_bound(); }
  void visit_next() override { search_.visit_next(); }

 private:
  TopKOfTree best_;
  BoundedSearch<T, TopKOfTree> search_;
};

struct JointTurn {
  double bound;
  std::unique_ptr<TreeSearch> search;
};

constexpr auto comes_later = [](const JointTurn& a, const JointTurn& b) { return a.bound < b.bound; };

}  // namespace

std::vector<Hit> search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  return search_monitored(snapshot, query, nullptr, stats).hits;
}

GroupCounts count_earlier_pages(const Snapshot& snapshot, const ResolvedQuery& query, SearchStats& stats) {
  if (!query.after) return {};
  ResolvedQuery whole = query;
  whole.after = std::nullopt;  // it leaves out no row
  EarlierPages earlier(snapshot, query);
  visit_value_type(snapshot, [&]<typename T>(T) { run_to_end<T>(snapshot, whole, earlier, stats); });
  return earlier.take_counts();
}

std::vector<Hit> search_per_group(const Snapshot& snapshot, const ResolvedQuery& query,
                                  const GroupCounts& earlier, SearchStats& stats) {
  FullGroups full(snapshot, query, earlier);
  std::uint64_t visits = kVisitsOfGroups;
  while (true) {
    const ResolvedQuery rest = full.for_others();
    TopKPerGroup best(snapshot, rest, earlier);
    const bool is_over = visit_value_type(snapshot, [&]<typename T>(T) {
      BoundedSearch<T, TopKPerGroup> search(snapshot, rest, best, stats);
      return run_until_groups_are_full(search, best, visits, full);
    });
    if (is_over) return full.with(best.sorted());
  }
}

double bound_of_root(const Snapshot& snapshot, const ResolvedQuery& query) {
  double highest = -std::numeric_limits<double>::infinity();
  if (snapshot.height == 0) return highest;
  const ReadSession session(snapshot);
  const Frontier::Bounds bounds = bounds_of_children(snapshot, query, snapshot.root);
  const Frontier::Children children = children_to_visit(query.filter, snapshot, snapshot.root);
  for (std::uint32_t c = 0; c < kFanOut; ++c)
    if ((children >> c & 1) != 0) highest = std::max(highest, bounds[c]);
  return highest;
}

MonitoredAnswer search_bounded(const Snapshot& snapshot, const ResolvedQuery& query, SearchMonitor& monitor,
                               SearchStats& stats) {
  return search_monitored(snapshot, query, &monitor, stats);
}

JointAnswer search_jointly(std::span<const JointTree> trees, std::size_t k, std::uint64_t most_visits,
                           SearchStats& stats) {
  if (trees.empty()) return {};
  TopK best(k, trees.front().query->min_score);
  std::vector<JointTurn> turns;  // a heap, the highest bound on top
  const auto add = [&](std::unique_ptr<TreeSearch> search) {
    if (!search->has_next()) return;
    const double bound = search->next_bound();
    turns.push_back({bound, std::move(search)});
    std::ranges::push_heap(turns, comes_later);
  };
  for (std::size_t t = 0; t < trees.size(); ++t)
    add(visit_value_type(*trees[t].snapshot, [&]<typename T>(T) -> std::unique_ptr<TreeSearch> {
      return std::make_unique<TypedTreeSearch<T>>(trees[t], t, best, stats);
    }));
  JointAnswer answer;
  for (std::uint64_t visits = 0; !turns.empty(); ++visits) {
    if (visits == most_visits) {
      answer.finished = false;
      break;
    }
    std::ranges::pop_heap(turns, comes_later);
    std::unique_ptr<TreeSearch> next = std::move(turns.back().search);
    turns.pop_back();
    if (next->has_next()) next->visit_next();  // others may have raised the k-th score since
    add(std::move(next));
  }
  stats.replacements += best.num_replacements();
  answer.hits = best.take_sorted();
  for (Hit& hit : answer.hits) {
    answer.trees.push_back(static_cast<std::uint32_t>(hit.row >> kRowBits));
    hit.row &= (std::uint64_t{1} << kRowBits) - 1;
  }
  return answer;
}

}  // namespace culmen::cpu
