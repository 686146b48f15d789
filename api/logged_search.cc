// Index: searches of a version whose log is beside its tree (index/logged_rows.h). Its two trees are ranked together.
#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <utility>

#include "api/index_core.h"
#include "api/logged_groups.h"
#include "base/elapsed.h"
#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "cpu/bounded.h"
#include "cpu/passing_ids.h"
#include "gpu/group/merge_hits.h"
#include "index/find_rows.h"
#include "index/write/log_beside.h"
#include "query/few_ids.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using Clock = std::chrono::steady_clock;

void renumber(const LoggedRows& logged, std::vector<Hit>& hits) {
  for (Hit& hit : hits) hit.row += logged.first_row_beside();
}

std::vector<Hit> merged(const std::vector<Hit>& a, const std::vector<Hit>& b, std::size_t k) {
  const std::vector<Hit>* const lists[] = {&a, &b};
  const std::size_t sizes[] = {a.size(), b.size()};
  std::size_t next[2];
  std::vector<Hit> all;
  const auto hit = [&](std::size_t list, std::size_t rank) -> const Hit& { return (*lists[list])[rank]; };
  gpu::merge_hits(
      sizes, k, next, [&](std::size_t list, std::size_t rank) { return hit(list, rank).score; },
      [&](std::size_t list, std::size_t rank) { return hit(list, rank).id; },
      [&](std::size_t list, std::size_t rank) { all.push_back(hit(list, rank)); });
  return all;
}

// A row of the second tree that scores less than the k-th of the first is not in the answer.
void raise_floor(const std::vector<Hit>& first, std::size_t k, ResolvedQuery& query) {
  if (first.size() >= k) query.min_score = std::max(query.min_score, first.back().score);
}

}  // namespace

std::shared_ptr<const LoggedView> Index::Core::logged_view(const std::shared_ptr<const Snapshot>& version) {
  return derived_->logged.get(version, [&] { return std::make_shared<LoggedView>(*version); });
}

SearchResult Index::Core::search_logged(const std::shared_ptr<const Snapshot>& version, const Query& query,
                                        const SearchOptions& options, Watch* watch) {
  const FloatingPointScope floating_point;
  const Clock::time_point start = Clock::now();
  // Lists are of one tree.
  if (options.engine == Engine::ta && !query.per) return search(whole(version), query, options, watch);
  const std::shared_ptr<const LoggedView> view = logged_view(version);
  SearchResult result;
  result.snapshot = for_searches(version, 1);
  const LoggedRows& logged = *result.snapshot->logged;
  const TableStatistics& statistics = view->statistics(options.statistics, query.scale, *version);
  ResolvedQuery of_rows = resolve(query, *logged.rows, &statistics);
  result.stats.engine = options.engine == Engine::automatic ? Engine::bounded : options.engine;
  result.stats.rows_in_index = version->num_rows;
  if (version->num_rows == 0) return result;  // the base's scores could overflow, and there are none
  ResolvedQuery of_base = resolve(view->of_base(query), *logged.base, &statistics);
  of_base.watch = of_rows.watch = watch;
  const std::size_t k = std::min<std::size_t>(query.k.value_or(version->num_rows), version->num_rows);
  const bool by_bounds = options.engine == Engine::automatic || options.engine == Engine::bounded;
  const bool looks_up = options.engine == Engine::automatic && few_ids_of(of_base).has_value();
  const bool is_joint = by_bounds && !looks_up && (k < cpu::kLargeJointK || query.min_score);
  if (query.per) {
    search_groups(of_base, of_rows, k, result);
  } else if (!is_joint || !search_jointly(of_base, of_rows, k, result)) {
    search_in_turn(of_base, of_rows, k, options, result);
  }
  result.stats.elapsed_us = microseconds_since(start);
  return result;
}

// Ahead of a row of the answer there are fewer than k rows of it, and each tree by itself has no more rows of a group ahead of it
// than the answer: so the k rows of each tree have all that are in the answer, and none scores less than the k-th of either.
void Index::Core::search_groups(const ResolvedQuery& of_base, ResolvedQuery& of_rows, std::size_t k,
                                SearchResult& result) {
  const LoggedRows& logged = *result.snapshot->logged;
  SearchStats& stats = result.stats;
  stats.engine = Engine::bounded;
  const bool has_base = !of_base.filter.is_nothing();
  const bool has_rows = logged.rows->num_rows > 0 && !of_rows.filter.is_nothing();
  const auto count = [&stats](const Snapshot& tree, const ResolvedQuery& query, bool has_any) {
    return has_any ? cpu::count_earlier_pages(tree, query, stats) : GroupCounts();
  };
  LoggedGroups groups(*result.snapshot, of_base, of_rows);
  groups.count(count(*logged.base, of_base, has_base), count(*logged.rows, of_rows, has_rows));
  std::vector<Hit> base, rows;
  if (has_base) base = cpu::search_per_group(*logged.base, of_base, groups.in_base(), stats);
  raise_floor(base, k, of_rows);
  if (has_rows) rows = cpu::search_per_group(*logged.rows, of_rows, groups.in_rows(), stats);
  renumber(logged, rows);
  const std::vector<Hit> both = merged(base, rows, base.size() + rows.size());
  const bool is_of_one = base.empty() || rows.empty();
  result.hits = is_of_one ? both : groups.first_allowed(both, k);
}

// Returns false if that takes too long.
bool Index::Core::search_jointly(const ResolvedQuery& of_base, const ResolvedQuery& of_rows, std::size_t k,
                                 SearchResult& result) {
  const LoggedRows& logged = *result.snapshot->logged;
  std::vector<cpu::JointTree> trees;
  if (!of_base.filter.is_nothing()) trees.push_back({logged.base.get(), &of_base});
  const auto rows_tree = static_cast<std::uint32_t>(trees.size());
  if (logged.rows->num_rows > 0 && !of_rows.filter.is_nothing())
    trees.push_back({logged.rows.get(), &of_rows});
  const bool has_codes = code_table_of(*logged.base) != nullptr;
  cpu::JointAnswer found = cpu::search_jointly(
      trees, k, has_codes ? cpu::kVisitsBeforeCodes : cpu::kMostJointVisits, result.stats);
  if (!found.finished) return false;
  result.hits = std::move(found.hits);
  for (std::size_t i = 0; i < result.hits.size(); ++i)
    if (found.trees[i] == rows_tree) result.hits[i].row += logged.first_row_beside();
  return true;
}

void Index::Core::search_in_turn(const ResolvedQuery& of_base, ResolvedQuery& of_rows, std::size_t k,
                                 const SearchOptions& options, SearchResult& result) {
  const LoggedRows& logged = *result.snapshot->logged;
  SearchResult base;
  base.snapshot = logged.base;
  base.stats.engine = result.stats.engine;
  if (!of_base.filter.is_nothing()) base.hits = run_engine(of_base, base, options);
  const SearchStats before = result.stats;
  result = with_rows_beside(base, of_rows, result.snapshot, k, options);
  result.stats += before;
  result.stats.rows_in_index = before.rows_in_index;
}

SearchResult Index::Core::with_rows_beside(const SearchResult& base, ResolvedQuery& of_rows,
                                           std::shared_ptr<const Snapshot> version, std::size_t k,
                                           const SearchOptions& options) {
  const LoggedRows& logged = *version->logged;
  SearchResult rows;
  rows.snapshot = logged.rows;
  rows.stats.engine = base.stats.engine;
  raise_floor(base.hits, k, of_rows);
  if (logged.rows->num_rows > 0 && !of_rows.filter.is_nothing())
    rows.hits = run_engine(of_rows, rows, options);
  renumber(logged, rows.hits);
  SearchResult result;
  result.snapshot = std::move(version);
  result.hits = merged(base.hits, rows.hits, k);
  result.stats = base.stats;
  result.stats += rows.stats;
  result.stats.scan_fallback = base.stats.scan_fallback || rows.stats.scan_fallback;
  return result;
}

double Index::Core::logged_bound(const std::shared_ptr<const Snapshot>& version, const Query& query,
                                 const SearchOptions& options) {
  const std::shared_ptr<const LoggedView> view = logged_view(version);
  const LoggedRows& logged = *version->logged;
  const TableStatistics& statistics = view->statistics(options.statistics, query.scale, *version);
  const ResolvedQuery of_rows = resolve(query, *logged.rows, &statistics);
  if (version->num_rows == 0) return -std::numeric_limits<double>::infinity();
  const ResolvedQuery of_base = resolve(view->of_base(query), *logged.base, &statistics);
  const double bound =
      std::max(cpu::bound_of_root(*logged.base, of_base), cpu::bound_of_root(*logged.rows, of_rows));
  return bound < of_base.min_score ? -std::numeric_limits<double>::infinity() : bound;
}

SearchResult Index::Core::search_logged_monotone(const std::shared_ptr<const Snapshot>& version,
                                                 MonotoneFunctionRef function, std::size_t k,
                                                 const Filter& where, const SearchOptions& options) {
  const std::shared_ptr<const LoggedView> view = logged_view(version);
  SearchResult result;
  result.snapshot = for_searches(version, 1);
  const LoggedRows& logged = *result.snapshot->logged;
  const SearchResult base = search_monotone(logged.base, function, k, view->of_base(where), options);
  SearchResult rows = search_monotone(logged.rows, function, k, where, options);
  renumber(logged, rows.hits);
  result.hits = merged(base.hits, rows.hits, k);
  result.stats = base.stats;
  result.stats += rows.stats;
  result.stats.rows_in_index = version->num_rows;
  return result;
}

std::vector<std::int64_t> Index::Core::ids_where(const Filter& where) {
  const FloatingPointScope floating_point;
  const std::shared_ptr<const Snapshot> version = this->version();
  const auto passing = [](const Snapshot& tree, const Filter& filter) {
    return with_threads(0, [&] { return cpu::passing_ids(tree, compile_filter(filter, tree)); });
  };
  if (version->logged == nullptr) return passing(*version, where);
  const std::vector<std::int64_t> of_base =
      passing(*version->logged->base, logged_view(version)->of_base(where));
  const std::vector<std::int64_t> of_rows = passing(*version->logged->rows, where);
  std::vector<std::int64_t> ids;
  std::ranges::merge(of_base, of_rows, std::back_inserter(ids));
  return ids;
}

std::shared_ptr<const Snapshot> Index::Core::whole(const std::shared_ptr<const Snapshot>& version) const {
  return derived_->folded.get(version, [&] { return fold_log(*version); });
}

std::vector<std::uint64_t> Index::Core::find_logged_rows(const Snapshot& version,
                                                         std::span<const std::int64_t> ids, bool& by_id_map) {
  const LoggedRows& logged = *version.logged;
  std::vector<std::uint64_t> rows = find_rows(*logged.rows, ids, by_id_map);
  for (std::uint64_t& row : rows)
    if (row != kNowhere) row += logged.first_row_beside();
  const std::vector<std::uint64_t> in_base = find_rows(*logged.base, ids, by_id_map);
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i] == kNowhere && !std::binary_search(logged.erased.begin(), logged.erased.end(), ids[i]))
      rows[i] = in_base[i];
  return rows;
}

}  // namespace culmen
