// Index: batches whose questions share what they read, in one pass over all rows or one walk through the tree.
#include <algorithm>
#include <chrono>
#include <utility>

#include "api/index_core.h"
#include "base/elapsed.h"
#include "cpu/byte_pass.h"
#include "cpu/shared_walk.h"
#include "index/write/log_beside.h"
#include "planner/shared_pass.h"
#include "query/few_ids.h"
#include "query/resolve.h"

namespace culmen {
namespace {

// resolve(q), unless it throws: searched alone, the query throws the same.
cpu::QuestionOf where_resolved(const cpu::QuestionOf& resolve) {
  return [&resolve](std::size_t q) -> std::optional<ResolvedQuery> {
    try {
      return resolve(q);
    } catch (const Error&) {
      return std::nullopt;
    }
  };
}

}  // namespace

std::vector<std::uint8_t> Index::Core::search_together(
    const std::shared_ptr<const Snapshot>& snapshot, std::size_t num_queries,
    const std::function<Query(std::size_t)>& query_of, const SearchOptions& options, Watch* watch,
    const std::function<void(std::size_t, SearchResult)>& take) {
  if (options.engine != Engine::automatic) return {};
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
  std::vector<std::uint8_t> answered;
  const auto give = [&](std::size_t q, SearchResult result) {
    result.stats.elapsed_us = microseconds_since(start);
    answered[q] = 1;
    take(q, std::move(result));
  };
  const bool is_tree = snapshot->logged == nullptr;
  const Snapshot& tree = base_tree_of(*snapshot);
  if (prefers_walk(tree, num_queries, code_table_of(tree).get())) {
    answered.resize(num_queries);
    walk_together(snapshot, num_queries, query_of, options, watch, give);
  } else if (is_tree && may_pass(*snapshot, num_queries)) {
    answered.resize(num_queries);
    pass_together(snapshot, num_queries, query_of, options, watch, give);
  }
  return answered;
}

void Index::Core::pass_together(const std::shared_ptr<const Snapshot>& snapshot, std::size_t num_queries,
                                const std::function<Query(std::size_t)>& query_of,
                                const SearchOptions& options, Watch* watch,
                                const std::function<void(std::size_t, SearchResult)>& take) {
  const cpu::QuestionOf question = [&](std::size_t q) -> std::optional<ResolvedQuery> {
    ResolvedQuery query = resolve(query_of(q), *snapshot, options.statistics);
    query.watch = watch;
    if (query.after || query.groups) return std::nullopt;  // which the pass does not know
    if (!query.functions.empty()) return std::nullopt;     // the pass multiplies weights alone
    return query;
  };
  const cpu::QuestionOf resolved = where_resolved(question);
  const std::vector<double> weights = usual_weights(*snapshot, num_queries, resolved);
  const std::shared_ptr<const cpu::ByteTable> codes = derived_->codes.find(snapshot);
  if (!prefers_pass(*snapshot, num_queries, resolved, codes != nullptr && codes->suit(weights))) return;
  cpu::pass_in_bytes(*snapshot, *codes_of(snapshot, weights), num_queries, resolved,
                     [&](std::size_t q, std::vector<Hit> hits, const SearchStats& stats) {
                       SearchResult result;
                       result.hits = std::move(hits);
                       result.stats = stats;
                       result.stats.rows_in_index = snapshot->num_rows;
                       result.snapshot = snapshot;
                       take(q, std::move(result));
                     });
}

void Index::Core::walk_together(const std::shared_ptr<const Snapshot>& version, std::size_t num_queries,
                                const std::function<Query(std::size_t)>& query_of,
                                const SearchOptions& options, Watch* watch,
                                const std::function<void(std::size_t, SearchResult)>& take) {
  const LoggedRows* const logged = version->logged.get();
  const std::shared_ptr<const LoggedView> view = logged == nullptr ? nullptr : logged_view(version);
  const std::shared_ptr<const Snapshot> base = logged == nullptr ? version : logged->base;
  const auto statistics = [&](const Query& query) {
    return view == nullptr ? options.statistics
                           : &view->statistics(options.statistics, query.scale, *version);
  };
  const cpu::QuestionOf question = [&](std::size_t q) -> std::optional<ResolvedQuery> {
    const Query query = query_of(q);
    ResolvedQuery of_base = resolve(view == nullptr ? query : view->of_base(query), *base, statistics(query));
    of_base.watch = watch;
    if (of_base.groups || of_base.filter.is_nothing() || few_ids_of(of_base)) return std::nullopt;
    return of_base;
  };
  const auto give = [&](std::size_t q, std::vector<Hit> hits, const SearchStats& stats) {
    SearchResult result;
    result.hits = std::move(hits);
    result.stats = stats;
    result.snapshot = base;
    if (logged != nullptr) {
      const Query query = query_of(q);
      ResolvedQuery of_rows = resolve(query, *logged->rows, statistics(query));
      of_rows.watch = watch;
      result = with_rows_beside(result, of_rows, for_searches(version, 1),
                                query.k.value_or(version->num_rows), options);
    }
    result.stats.rows_in_index = version->num_rows;
    take(q, std::move(result));
  };
  cpu::walk_together(*base, num_queries, where_resolved(question), give);
}

}  // namespace culmen
