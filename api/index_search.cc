// Index: its searches, explain and place. Checks arguments, resolves queries, and calls the engines and the planner.
#include <algorithm>
#include <chrono>
#include <limits>

#include "api/batch_answers.h"
#include "api/handle.h"
#include "api/index_core.h"
#include "api/row_rank.h"
#include "base/elapsed.h"
#include "base/floating_point_scope.h"
#include "base/text_id.h"
#include "cpu/bounded.h"
#include "cpu/count_rows.h"
#include "cpu/gta.h"
#include "cpu/listed_rows.h"
#include "cpu/monotone.h"
#include "cpu/scan.h"
#include "cpu/search_by_codes.h"
#include "index/find_rows.h"
#include "planner/automatic.h"
#include "planner/explain.h"
#include "planner/planner.h"
#include "planner/speed_factor.h"
#include "query/bound_plan.h"
#include "query/few_ids.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using Clock = std::chrono::steady_clock;

// Returns the costs of the GPU that had the most free memory when they were first asked for; nullopt if there is no GPU.
std::optional<DeviceCosts> device_costs() {
  if (num_devices() == 0) return std::nullopt;
  static const DeviceCosts costs = [] {
    DeviceCosts measured;
    try {
      measured.device = gpu::roomiest_device();
      measured.speed = gpu::measure_device_speed(measured.device);
    } catch (const Error&) {  // for instance its memory is full: keep the built-in costs
    }
    return measured;
  }();
  return costs;
}

}  // namespace

SearchResult Index::Core::search(std::shared_ptr<const Snapshot> snapshot, const Query& query,
                                 const SearchOptions& options, Watch* watch) {
  if (snapshot->logged != nullptr) return search_logged(snapshot, query, options, watch);
  const FloatingPointScope floating_point;
  const Clock::time_point start = Clock::now();
  SearchResult result;
  result.snapshot = std::move(snapshot);
  const Snapshot& s = *result.snapshot;
  ResolvedQuery resolved = resolve(query, s, options.statistics);
  resolved.watch = watch;
  result.stats.engine = options.engine == Engine::automatic ? Engine::bounded : options.engine;
  result.stats.rows_in_index = s.num_rows;
  if (s.num_rows > 0 && !resolved.filter.is_nothing()) result.hits = run_engine(resolved, result, options);
  result.stats.elapsed_us = microseconds_since(start);
  return result;
}

std::vector<Hit> Index::Core::run_engine(const ResolvedQuery& query, SearchResult& result,
                                         const SearchOptions& options) {
  const Snapshot& s = *result.snapshot;
  SearchStats& stats = result.stats;
  if (query.groups) {
    stats.engine = Engine::bounded;
    return cpu::search_per_group(s, query, cpu::count_earlier_pages(s, query, stats), stats);
  }
  switch (options.engine) {
    case Engine::scan:
      return with_threads(options.num_threads, [&] { return cpu::search_scan(s, query, stats); });
    case Engine::gta:
      return with_threads(options.num_threads, [&] { return cpu::search_gta(s, query, stats); });
    case Engine::ta:
      return cpu::search_ta(s, *lists_of(result.snapshot), query, stats);
    case Engine::bounded:
      return cpu::search_bounded(s, query, stats);
    case Engine::automatic:
      break;
  }
  if (const FewIds ids = few_ids_of(query)) return look_up(query, *ids, result, options);
  if (const auto codes = code_table_of(s); codes != nullptr && cpu::CodeTable::suits(query)) {
    stats.engine = Engine::bounded;
    return with_threads(options.num_threads, [&] { return cpu::search_by_codes(s, query, *codes, stats); });
  }
  return search_automatic(s, query, options.num_threads, stats);
}

std::vector<Hit> Index::Core::look_up(const ResolvedQuery& query, std::span<const std::int64_t> ids,
                                      SearchResult& result, const SearchOptions& options) {
  const Snapshot& s = *result.snapshot;
  SearchStats& stats = result.stats;
  stats.engine = Engine::automatic;
  stats.ids_looked_up = ids.size();
  std::vector<std::uint64_t> rows =
      with_threads(options.num_threads, [&] { return find_rows(s, ids, stats.by_id_map); });
  if (!stats.by_id_map) stats.bytes_touched += s.num_rows * sizeof(std::int64_t);
  std::erase(rows, kNowhere);
  return cpu::search_listed_rows(s, query, rows, stats);
}

std::vector<std::uint64_t> Index::Core::find_rows(const Snapshot& snapshot, std::span<const std::int64_t> ids,
                                                  bool& by_id_map) {
  if (snapshot.logged != nullptr) return find_logged_rows(snapshot, ids, by_id_map);
  constexpr std::size_t kMostByMap = 4096;  // of more, a pass over all ids costs less for each
  std::optional<std::vector<std::uint64_t>> rows;
  if (ids.size() <= kMostByMap) {
    rows = rows_in_order_of_ids(snapshot, ids);
    if (!rows && live_ != nullptr) rows = live_->find_rows(snapshot, ids);
  }
  by_id_map = rows.has_value();
  return rows ? *std::move(rows) : culmen::find_rows(snapshot, ids);
}

std::vector<TextPlace> Index::Core::find_texts(const std::shared_ptr<const Snapshot>& version,
                                               std::span<const std::string_view> texts) {
  require_text_ids(*version);
  require_memory(texts);
  std::ranges::for_each(texts, check_text_id);
  if (texts.empty()) return {};
  if (live_ != nullptr)
    if (std::optional<std::vector<TextPlace>> places = live_->find_texts(*version, texts))
      return *std::move(places);
  std::vector<TextPlace> places;
  for (const std::string_view text : texts) places.push_back(version->text_rows().find(text));
  return places;
}

SearchResult Index::search(const Query& query, const SearchOptions& options) const {
  check_num_threads(options.num_threads);
  Core& core = held_by(core_, kIndexHandle);
  Watch watch(options, 1);
  return core.search(core.version(), query, options, watch.if_any());
}

std::vector<SearchResult> Index::search(std::span<const Query> queries, const SearchOptions& options) const {
  require_memory(queries);
  std::vector<SearchResult> results(queries.size());
  Core& core = held_by(core_, kIndexHandle);
  core.search_each(
      core.version(), queries.size(), [&](std::size_t q) -> const Query& { return queries[q]; }, options,
      [&](std::size_t q, SearchResult result) { results[q] = std::move(result); });
  return results;
}

BatchAnswers Index::search_batch(const QueryBatch& batch, const SearchOptions& options) const {
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> snapshot = core.version();
  BatchAnswers answers = make_answers(batch, *snapshot);
  core.search_batch(snapshot, batch, arrays_of(answers), options);
  return answers;
}

std::uint64_t Index::search_batch(const QueryBatch& batch, const AnswerArrays& answers,
                                  const SearchOptions& options) const {
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> snapshot = core.version();
  check_arrays(batch, snapshot->attributes.size(), answers);
  core.search_batch(snapshot, batch, answers, options);
  return snapshot->version;
}

void Index::Core::search_batch(const std::shared_ptr<const Snapshot>& snapshot, const QueryBatch& batch,
                               const AnswerArrays& answers, const SearchOptions& options) {
  search_each(
      snapshot, answers.counts.size(),
      [&](std::size_t q) { return query_of(batch, snapshot->attributes.size(), q); }, options,
      [&](std::size_t q, const SearchResult& result) { set_answer(result.hits, q, answers); });
}

SearchResult Index::search_monotone(MonotoneFunctionRef function, std::size_t k, const Filter& where,
                                    const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  const Clock::time_point start = Clock::now();
  check_num_threads(options.num_threads);
  if (k == 0) throw InvalidArgument("k is 0; ask for at least one row");
  if (!(function.relative_error() >= 0 && function.relative_error() < 1))
    throw InvalidArgument("the function's relative_error must be at least 0 and below 1");
  if (options.engine == Engine::ta || options.engine == Engine::gta)
    throw InvalidArgument("monotone functions are answered by the engines bounded and scan");
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> version = core.version();
  SearchResult result = version->logged == nullptr
                            ? Core::search_monotone(version, function, k, where, options)
                            : core.search_logged_monotone(version, function, k, where, options);
  result.stats.elapsed_us = microseconds_since(start);
  return result;
}

SearchResult Index::Core::search_monotone(std::shared_ptr<const Snapshot> snapshot,
                                          MonotoneFunctionRef function, std::size_t k, const Filter& where,
                                          const SearchOptions& options) {
  SearchResult result;
  result.snapshot = std::move(snapshot);
  const Snapshot& s = *result.snapshot;
  Watch watch(options, 1);
  ResolvedQuery query;
  query.watch = watch.if_any();
  query.k = std::min(k, static_cast<std::size_t>(s.num_rows));
  std::vector<std::int32_t> required;  // no function has a value where one of its attributes is missing
  for (std::int32_t i = 0; i < s.num_attributes(); ++i)
    if (function.direction(i) != Direction::unused && gaps_of_index(s, i).some_missing != 0)
      required.push_back(i);
  resolve_filter(where, s, query, required);
  result.stats.engine = options.engine == Engine::scan ? Engine::scan : Engine::bounded;
  result.stats.rows_in_index = s.num_rows;
  if (s.num_rows > 0 && !query.filter.is_nothing()) {
    result.hits = options.engine == Engine::scan
                      ? with_threads(options.num_threads,
                                     [&] { return cpu::scan_monotone(s, function, query, result.stats); })
                      : cpu::search_monotone(s, function, query, result.stats);
  }
  return result;
}

double Index::score_bound(const Query& query, const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> snapshot = core.version();
  if (snapshot->logged != nullptr) return core.logged_bound(snapshot, query, options);
  const ResolvedQuery resolved = resolve(query, *snapshot, options.statistics);
  const double bound = cpu::bound_of_root(*snapshot, resolved);
  return bound < resolved.min_score ? -std::numeric_limits<double>::infinity() : bound;
}

std::uint64_t Index::count_before(const Query& query, const Cursor& place,
                                  const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  Core& core = held_by(core_, kIndexHandle);
  check_place(place.score);
  Watch watch(options, 1);
  return core.count_before(core.version(), without_page(query), place, options, watch.if_any());
}

namespace {

// With the id from which on rows of the score rank after the place.
Cursor place_in(const Snapshot& tree, const Cursor& place) {
  if (!place.text) return place;
  require_text_ids(tree);
  const TextPlace found = tree.text_rows().find(*place.text);
  return {place.score, found.is_there ? found.id : found.id + 1};
}

}  // namespace

std::uint64_t Index::Core::count_before(const std::shared_ptr<const Snapshot>& version, const Query& query,
                                        const Cursor& place, const SearchOptions& options, Watch* watch) {
  const auto count_in = [&](const Snapshot& tree, const Query& of_tree, const TableStatistics* statistics) {
    ResolvedQuery resolved = resolve(of_tree, tree, statistics);
    resolved.watch = watch;
    if (resolved.filter.is_nothing()) return std::uint64_t{0};
    return with_threads(options.num_threads,
                        [&] { return cpu::count_before(tree, resolved, place_in(tree, place)); });
  };
  if (version->logged == nullptr) return count_in(*version, query, options.statistics);
  const std::shared_ptr<const LoggedView> view = logged_view(version);
  const TableStatistics& statistics = view->statistics(options.statistics, query.scale, *version);
  const std::uint64_t of_rows = count_in(*version->logged->rows, query, &statistics);
  if (version->num_rows == 0) return 0;
  return of_rows + count_in(*version->logged->base, view->of_base(query), &statistics);
}

std::uint64_t Index::count_above(const Query& query, double score, const SearchOptions& options) const {
  return count_before(query, place_above(score), options);
}

namespace {

template <typename Id>
std::optional<RowRank> rank_in(const Index& version, const Query& query, Id id,
                               const SearchOptions& options) {
  SearchOptions look_up = options;
  look_up.engine = Engine::automatic;
  return rank_of_hit(version.search(only_row(query, is_id(id, *version_of(version))), look_up).hits,
                     version.version(), [&](double score, std::int64_t of_row) {
                       return version.count_before(query, {score, of_row}, options);
                     });
}

}  // namespace

std::optional<RowRank> Index::rank_of(const Query& query, std::int64_t id,
                                      const SearchOptions& options) const {
  return rank_in(snapshot(), query, id, options);
}

std::optional<RowRank> Index::rank_of(const Query& query, std::string_view text,
                                      const SearchOptions& options) const {
  return rank_in(snapshot(), query, text, options);
}

Filter Index::filter(std::string_view where) const {
  const FloatingPointScope floating_point;
  return parse_filter(where, *held_by(core_, kIndexHandle).version());
}

std::vector<ScoreTerm> Index::terms(std::string_view text) const {
  const FloatingPointScope floating_point;
  return parse_terms(text, *held_by(core_, kIndexHandle).version());
}

Explanation Index::explain(const Query& query, const SearchOptions& options) const {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> version = core.version();
  Watch watch(options, 1);
  if (version->logged == nullptr) return core.explain(*version, query, options, watch.if_any());
  // Of the tree in the files, which has most of the rows.
  const std::shared_ptr<const LoggedView> view = core.logged_view(version);
  SearchOptions of_base = options;
  if (of_base.statistics == nullptr) of_base.statistics = &view->statistics(query.scale, *version);
  return core.explain(*version->logged->base, view->of_base(query), of_base, watch.if_any());
}

Explanation Index::Core::explain(const Snapshot& tree, const Query& query, const SearchOptions& options,
                                 Watch* watch) {
  ResolvedQuery resolved = resolve(query, tree, options.statistics);
  resolved.watch = watch;
  Plan plan = make_plan(tree, resolved, options, CostsNs(), speed_factor(), device_costs());
  plan.has_id_map = has_id_map(tree);
  return explain_plan(tree, resolved, plan);
}

Placement Index::place(std::span<const Query> queries, const PlacementOptions& options) const {
  const FloatingPointScope floating_point;
  check_num_threads(options.num_threads);
  require_memory(queries);
  Core& core = held_by(core_, kIndexHandle);
  const std::shared_ptr<const Snapshot> version = core.version();
  // As explain, of the tree in the files. A copy on a GPU has no log.
  const bool has_log = version->logged != nullptr;
  const Snapshot& tree = has_log ? *version->logged->base : *version;
  const std::shared_ptr<const LoggedView> view = has_log ? core.logged_view(version) : nullptr;
  std::vector<ResolvedQuery> resolved;
  for (const Query& query : queries)
    resolved.push_back(resolve(query, tree, has_log ? &view->statistics(query.scale, *version) : nullptr));
  return place_queries(tree, resolved, options, CostsNs(), speed_factor(), device_costs());
}

}  // namespace culmen
