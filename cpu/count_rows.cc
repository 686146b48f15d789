#include "cpu/count_rows.h"

#include <tbb/parallel_for_each.h>

#include <array>
#include <atomic>
#include <bit>
#include <limits>
#include <span>
#include <vector>

#include "base/floating_point_scope.h"
#include "cpu/leaf_visit.h"
#include "cpu/node_children.h"
#include "index/read_session.h"
#include "index/snapshot_fields.h"
#include "query/bound_plan.h"

namespace culmen::cpu {
namespace {

// What a search knows that knows nothing: any score.
constexpr Frontier::Bounds kNoBounds = [] {
  Frontier::Bounds bounds{};
  bounds.fill(std::numeric_limits<double>::infinity());
  return bounds;
}();

// The query whose scores are the others' with the sign changed, for every row: an upper bound of its scores is a lower
// bound of theirs.
ResolvedQuery negated(const ResolvedQuery& query, const Snapshot& snapshot) {
  ResolvedQuery result;
  for (const Term& term : query.terms) result.terms.push_back({term.attribute, -term.weight});
  result.offset = -query.offset;
  const std::vector<AttributeStats> stats = filled_stats(snapshot);
  result.bound = make_bound_plan(result.chain(), {}, snapshot, stats);
  return result;
}

// A child of a node of which the bounds leave something to count.
struct Below {
  std::uint32_t slot;   // a leaf's below a node of level 1
  bool all_score_more;  // than the place: then only the filter decides
};

// Of one thread.
template <typename T>
class Counter {
 public:
  Counter(const Snapshot& snapshot, const ResolvedQuery& query, const ResolvedQuery& negated,
          const Cursor& place)
      : snapshot_(snapshot), query_(query), negated_(negated), place_(place), filter_(query.filter) {}

  std::uint64_t count_below(const Below& of) {
    std::uint64_t count = 0;
    for (const Below& child : children_to_count(of))
      count += snapshot_.node(of.slot).header().level == 1 ? count_in_leaf(child) : count_below(child);
    return count;
  }

  std::vector<Below> children_to_count(const Below& of) {
    const auto [slot, all_score_more] = of;
    look_at(query_.watch);
    session_.rest();
    const NodeRef node = session_.keep(snapshot_.node(slot));
    Frontier::Bounds highest{}, highest_negated{};
    if (!all_score_more) {
      highest = bounds_of_children(snapshot_, query_, slot);
      highest_negated = lowest_is_known() ? bounds_of_children(snapshot_, negated_, slot) : kNoBounds;
    }
    std::vector<Below> children;
    for (auto left = children_to_visit(query_.filter, snapshot_, slot); left != 0; left &= left - 1) {
      const auto child = static_cast<std::uint32_t>(std::countr_zero(left));
      if (!all_score_more && is_behind(highest[child], node.min_ids()[child])) continue;
      children.push_back({node.children()[child], all_score_more || highest_negated[child] < -place_.score});
    }
    return children;
  }

 private:
  // Terms besides the weights have upper bounds alone.
  bool lowest_is_known() const { return query_.functions.empty(); }

  // Whether no row with at most this score and at least this id ranks before the place. False for NaN.
  bool is_behind(double score, std::int64_t id) const {
    return score < place_.score || (score == place_.score && id >= place_.id);
  }

  std::uint64_t count_in_leaf(const Below& of) {
    auto [leaf, all_score_more] = of;
    look_at(query_.watch);
    session_.rest();
    const std::uint32_t num_rows = snapshot_.leaf(leaf).num_rows;
    if (!all_score_more) {
      const T* maxima = snapshot_.zone_vector<T>(leaf, Extreme::maximum);
      const T* minima = snapshot_.zone_vector<T>(leaf, Extreme::minimum);
      double highest = zone_score(query_, maxima, minima);
      if (!lowest_is_known()) highest = highest_of_leaf<T>(query_.functions, snapshot_, leaf).add_to(highest);
      if (is_behind(highest, snapshot_.leaf(leaf).min_id)) return 0;
      all_score_more = lowest_is_known() && lowest_score(maxima, minima) > place_.score;
    }
    const Verdict verdict =
        filter_.is_everything() ? Verdict::all : filter_.test<T>(snapshot_, leaf, ignored_);
    if (verdict == Verdict::none) return 0;
    if (all_score_more) return verdict == Verdict::all ? num_rows : filter_.num_passing();
    return count_scored(leaf, num_rows, verdict);
  }

  // Rule A, turned around: no row of the leaf scores less.
  double lowest_score(const T* maxima, const T* minima) const {
    return score(query_.score_terms(), query_.offset,
                 [&, t = std::size_t{0}](std::int32_t attribute) mutable {
                   return static_cast<double>((query_.terms[t++].weight > 0 ? minima : maxima)[attribute]);
                 });
  }

  std::uint64_t count_scored(std::uint32_t leaf, std::uint32_t num_rows, Verdict verdict) {
    std::array<simd::ScoredRow, kMaxLeafRows + 1> scored;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    const auto leaf_rows = static_cast<std::size_t>(snapshot_.leaf_rows);
    const double least =
        lowest_is_known() ? place_.score
                          : highest_of_leaf<T>(query_.functions, snapshot_, leaf).least_before(place_.score);
    std::size_t num_scored =
        simd::score_rows(snapshot_.leaf_values<T>(leaf), leaf_rows, num_rows, query_, least, scored.data());
    if (verdict != Verdict::all) num_scored = drop_failing(filter_, std::span(scored.data(), num_scored));
    if (!lowest_is_known())
      num_scored = add_functions<T>(query_.functions, snapshot_, leaf, place_.score,
                                    std::span(scored.data(), num_scored));
    const std::int64_t* ids = snapshot_.leaf_ids(leaf);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < num_scored; ++i) {
      const auto [row_score, row] = scored[i];
      count += row_score > place_.score || ids[row] < place_.id ? 1 : 0;
    }
    return count;
  }

  const Snapshot& snapshot_;
  ReadSession session_{snapshot_};
  const ResolvedQuery& query_;
  const ResolvedQuery& negated_;
  const Cursor place_;
  LeafFilter filter_;
  SearchStats ignored_;  // what filters count
};

// What is below the root's children, on all threads.
template <typename T>
std::uint64_t count_in_tree(const Snapshot& snapshot, const ResolvedQuery& query, const Cursor& place) {
  const ResolvedQuery opposite = negated(query, snapshot);
  Counter<T> of_root(snapshot, query, opposite, place);
  const Below root = {snapshot.root, false};
  if (snapshot.height == 1) return of_root.count_below(root);
  const std::vector<Below> children = of_root.children_to_count(root);
  std::atomic<std::uint64_t> count = 0;
  tbb::parallel_for_each(children, [&](const Below& child) {
    const FloatingPointScope floating_point;
    count += Counter<T>(snapshot, query, opposite, place).count_below(child);
  });
  return count;
}

}  // namespace

std::uint64_t count_before(const Snapshot& snapshot, const ResolvedQuery& query, const Cursor& place) {
  if (snapshot.height == 0) return 0;
  return visit_value_type(snapshot, [&]<typename T>(T) { return count_in_tree<T>(snapshot, query, place); });
}

}  // namespace culmen::cpu
