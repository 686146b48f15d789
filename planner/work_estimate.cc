#include "planner/work_estimate.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "cpu/frontier.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"
#include "cpu/topk.h"
#include "index/read_session.h"
#include "query/predicate.h"

namespace culmen {
namespace {

// Fitted at checkpoints of random queries (bench/planner) over six kinds of tables: docs/decisions/0015-planner.md.
constexpr double kRise = 0.15;          // of the way from the present k-th score to the highest bound left
constexpr double kUnopenedShare = 0.4;  // nodes are opened best first: unopened ones have fewer such leaves
constexpr double kSureFactor = 2;       // times the leaves that the rate of sure rows predicts

constexpr double kCodeBytes = 0.5;
constexpr int kMaxLevels = 16;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

double rows_per_leaf(const Snapshot& snapshot) {
  return static_cast<double>(snapshot.num_rows) / static_cast<double>(snapshot.num_leaves);
}

void add_leaves(const Snapshot& snapshot, const ResolvedQuery& query, FirstLook look, double leaves,
                double ranges, Work& work) {
  const double rows = leaves * rows_per_leaf(snapshot);
  const auto terms = static_cast<double>(query.terms.size());
  const bool by_codes = look == FirstLook::codes;
  const double value_bytes = by_codes ? kCodeBytes : static_cast<double>(snapshot.value_bytes());
  work.leaves += leaves;
  (by_codes ? work.codes : work.values) += rows * terms;
  work.values += rows * ranges;
  work.bytes += rows * terms * value_bytes;
  work.span += leaves * value_bytes * static_cast<double>(snapshot.attributes.size()) * snapshot.leaf_rows;
}

// A query reads scattered lines of a node, so the whole node counts as span.
void add_nodes(const Snapshot& snapshot, const ResolvedQuery& query, double nodes, Work& work) {
  const double rows = nodes * static_cast<double>(query.bound.num_terms());
  work.nodes += nodes;
  work.rows += rows;
  work.ranges += nodes * static_cast<double>(query.filter.num_tests());
  work.span += nodes * static_cast<double>(snapshot.arena->node_bytes());
}

// Ranges are compared only for rows that reach the k-th score bound: few, once there are k rows.
double compared_ranges(const ResolvedQuery& query, bool is_full) {
  return is_full ? 0 : static_cast<double>(query.filter.num_tests());
}

// What a search by bounds reads first of a leaf.
FirstLook look_of(const ResolvedQuery& query, bool is_full) {
  return is_full ? cpu::first_look_of_bounded(query) : FirstLook::values;
}

// Unvisited children with a bound of `limit` or more, and the children of level-1 nodes.
struct FrontierCount {
  std::array<double, kMaxLevels> left{};  // by the level of their parent
  double leaves_seen = 0;                 // children of opened level-1 nodes
  // Those of them that were visited. A filter excludes children, too: these are neither left nor taken.
  double leaves_taken = 0;
};

FrontierCount count_frontier(const cpu::Progress& progress, double limit) {
  FrontierCount count;
  count.leaves_taken = static_cast<double>(progress.stats.leaves_visited + progress.stats.leaves_tied_out);
  progress.frontier.for_each_open([&](NodeRef node, const Frontier::Bounds& bounds, Frontier::Children left) {
    const NodeHeader& header = node.header();
    int reaching = 0;
    for (std::uint32_t c = 0; c < header.num_children; ++c)
      reaching += static_cast<int>(bounds[c] >= limit) & static_cast<int>(left >> c & 1);
    count.left[std::min<std::uint32_t>(header.level, kMaxLevels - 1)] += reaching;
    if (header.level == 1) count.leaves_seen += header.num_children;
  });
  return count;
}

// Adds the work below `part` of the children that are left.
void add_left(const Snapshot& snapshot, const ResolvedQuery& query, const FrontierCount& count, double part,
              bool is_full, Work& work) {
  const double seen = std::max(count.leaves_seen, 1.0);
  const double share = kUnopenedShare * std::min(1.0, (count.left[1] + count.leaves_taken) / seen);
  double nodes = 0;  // to open at the level below
  for (int level = kMaxLevels - 1; level > 1; --level) {
    nodes = count.left[static_cast<std::size_t>(level)] + nodes * kFanOut * share;
    add_nodes(snapshot, query, part * nodes, work);
  }
  const double left = static_cast<double>(snapshot.num_leaves) - work.leaves;
  add_leaves(snapshot, query, look_of(query, is_full),
             part * std::min(left, count.left[1] + nodes * kFanOut * share), compared_ranges(query, is_full),
             work);
}

// The part of `leaves` until k rows are sure, at the rate of the `before` visited leaves. A row is sure once no bound
// is above its score. If there are k rows, the k-th score bound is the better guide, and sure rows only show that a
// search ends early because many rows tie at the top. If all k are sure, ids decide.
double part_until_sure(const cpu::Progress& progress, double before, double k, double leaves) {
  if (progress.stats.leaves_visited == 0)
    return 1;  // so many nodes before the first leaf: bounds hardly differ
  const double bound = progress.frontier.top().bound;
  const auto sure = static_cast<double>(
      std::ranges::count_if(progress.best.hits(), [&](const Hit& hit) { return hit.score >= bound; }));
  double wanted = before * (k - sure) / std::max(sure, 0.5);
  if (progress.best.full()) {
    if (sure == 0 || sure == k) return 1;
    wanted *= kSureFactor;
  }
  return std::min(1.0, wanted / std::max(leaves, 1.0));
}

std::uint64_t random_below(std::uint64_t count, std::uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return (state >> 33) % count;
}

// Follows a random path from the root to a leaf.
std::uint32_t random_leaf(const Snapshot& snapshot, std::uint64_t& state) {
  std::uint32_t slot = snapshot.root;
  for (;;) {
    const NodeRef node = snapshot.node(slot);
    slot = node.children()[random_below(node.header().num_children, state)];
    if (node.header().level == 1) return slot;
  }
}

// Follows a random path among children that may pass. The product of their shares estimates that of the leaves.
double part_that_may_pass(const Snapshot& snapshot, const Predicate& filter, std::uint64_t& state) {
  std::uint32_t slot = snapshot.root;
  for (double part = 1;;) {
    const NodeRef node = snapshot.node(slot);
    Frontier::Children children = children_to_visit(filter, snapshot, slot);
    const int count = std::popcount(children);
    part *= static_cast<double>(count) / node.header().num_children;
    if (count == 0 || node.header().level == 1) return part;
    for (auto skipped = random_below(static_cast<std::uint64_t>(count), state); skipped > 0; --skipped)
      children &= children - 1;
    slot = node.children()[std::countr_zero(children)];
  }
}

}  // namespace

double estimate_selectivity(const Snapshot& snapshot, const ResolvedQuery& query) {
  if (query.filter.is_everything() || snapshot.height == 0) return 1;
  constexpr int kLeaves = 64;
  constexpr std::uint32_t kRowsOfEach = 8;
  const ReadSession session(snapshot);
  std::uint64_t state = 1;
  double passing = 0.5, seen = 1;  // keeps the estimate off 0 and 1
  for (int i = 0; i < kLeaves; ++i) {
    const std::uint32_t leaf = random_leaf(snapshot, state);
    const std::uint32_t num_rows = snapshot.leaf(leaf).num_rows;
    const std::uint32_t step = std::max(1U, num_rows / kRowsOfEach);
    for (std::uint32_t r = 0; r < num_rows; r += step, ++seen)
      passing +=
          passes(snapshot, query.filter, leaf * static_cast<std::uint64_t>(snapshot.leaf_rows) + r) ? 1 : 0;
  }
  return passing / seen;
}

double lines_of_rows(const Snapshot& snapshot, const ResolvedQuery& query, double rows) {
  const double lines_of_column =
      std::ceil(snapshot.leaf_rows * static_cast<double>(snapshot.value_bytes()) / 64);
  return static_cast<double>(query.terms.size()) * lines_of_column *
         (1 - std::pow(1 - 1 / lines_of_column, rows));
}

Work counted_work(const Snapshot& snapshot, const ResolvedQuery& query, const SearchStats& stats,
                  double hits) {
  Work work;
  add_nodes(snapshot, query, static_cast<double>(stats.nodes_visited), work);
  work.leaves_tied_out = static_cast<double>(stats.leaves_tied_out);
  const bool is_full = hits >= static_cast<double>(query.k);
  add_leaves(snapshot, query, look_of(query, is_full), static_cast<double>(stats.leaves_visited),
             compared_ranges(query, is_full), work);
  const double by_codes = static_cast<double>(stats.rows_by_codes);
  const double by_values = std::max(0.0, work.leaves * rows_per_leaf(snapshot) - by_codes);
  const double leaves = std::max(1.0, by_codes / rows_per_leaf(snapshot));
  const double rows = std::max(0.0, static_cast<double>(stats.rows_scored) - by_values);
  work.lines = leaves * lines_of_rows(snapshot, query, rows / leaves);
  work.candidates = static_cast<double>(stats.candidates);
  work.replacements = static_cast<double>(stats.replacements);
  work.hits = hits;
  return work;
}

Work estimate_bounded(const Snapshot& snapshot, const ResolvedQuery& query, const cpu::Progress& progress) {
  const auto k = static_cast<double>(query.k);
  const auto found = static_cast<double>(progress.best.size());
  Work work = counted_work(snapshot, query, progress.stats, k);
  const double before = std::max(work.leaves, 1.0);
  const bool is_full = progress.best.full();
  const double kth_bound = progress.best.kth_bound();
  const double limit = is_full ? kth_bound + kRise * (progress.frontier.top().bound - kth_bound)
                               : std::max(kth_bound, -kInfinity);
  const FrontierCount count = count_frontier(progress, limit);
  Work all;  // the work below all children that are left
  add_left(snapshot, query, count, 1, is_full, all);
  if (is_full && !query.bound.exact && progress.frontier.top().bound <= kth_bound + query.bound.error_bound) {
    // Everything left can at most tie: zone maps decide, and few of these leaves are read.
    work.nodes += all.nodes;
    work.rows += all.rows;
    work.leaves_tied_out += all.leaves;
  } else {
    const double part = part_until_sure(progress, before, k, all.leaves);
    add_left(snapshot, query, count, part, is_full, work);
    if (!is_full) work.hits = std::min(k, found * work.leaves / before);
  }
  work.lines *= std::max(work.leaves, 1.0) / before;
  work.replacements = static_cast<double>(progress.best.num_replacements());
  if (is_full) work.replacements += 0.5 * expected_replacements(k, k * work.leaves / before);
  work.candidates += work.replacements + (work.hits - found);
  return work;
}

double estimate_leaves(const Snapshot& snapshot, const Predicate& filter) {
  const auto num_leaves = static_cast<double>(snapshot.num_leaves);
  if (filter.is_everything() || snapshot.height == 0) return num_leaves;
  constexpr int kPaths = 16;
  std::uint64_t state = 1;
  double sum = 0;
  for (int i = 0; i < kPaths; ++i) sum += part_that_may_pass(snapshot, filter, state);
  return num_leaves * sum / kPaths;
}

Work estimate_scan(const Snapshot& snapshot, const ResolvedQuery& query, double selectivity, double leaves,
                   int threads) {
  const auto n = static_cast<double>(snapshot.num_rows);
  const auto k = static_cast<double>(query.k);
  const double matches = n * selectivity;
  Work work;
  const bool is_full = matches >= k;
  add_leaves(snapshot, query, is_full ? cpu::first_look_of_scan(snapshot, query) : FirstLook::values, leaves,
             compared_ranges(query, is_full), work);
  work.hits = std::min(k, matches);
  work.replacements = threads * expected_replacements(k, matches / threads);
  work.candidates = work.replacements + std::min(matches, threads * k);
  return work;
}

}  // namespace culmen
