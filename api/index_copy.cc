#include "api/index_copy.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "api/batch_answers.h"
#include "api/group_pages.h"
#include "api/row_rank.h"
#include "base/elapsed.h"
#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "gpu/search/pack_functions.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using gpu::MirrorView;

void check_engine(Engine engine, std::size_t k, bool needs_functions) {
  if (engine == Engine::ta)
    throw InvalidArgument("the engine ta runs on the CPU only; a GPU has bounded, scan and gta");
  if (engine == Engine::gta && k > gpu::kMaxSortedHits)
    throw InvalidArgument("the engine gta takes k up to " + std::to_string(gpu::kMaxSortedHits) +
                          " on a GPU; bounded and scan take any");
  if (engine == Engine::gta && needs_functions)
    throw InvalidArgument(
        "the engine gta takes no score terms, no scale by rank, no `after` and no `per` on a GPU; bounded "
        "and scan do");
}

// Which queries share a batch. One with functions takes a slower kernel, and none of its queries a sweep; queries of groups
// are several searches each.
enum class Kernel : std::uint8_t { of_weights, with_functions, of_pages };

Kernel kernel_of(const Query& query) {
  if (query.per) return Kernel::of_pages;
  return gpu::needs_functions(query) ? Kernel::with_functions : Kernel::of_weights;
}

bool can_be_batch(const MirrorView& view, Engine engine, std::size_t k) {
  return view.mirror->has_rows() && k <= gpu::kMaxBatchK &&
         (engine == Engine::automatic || engine == Engine::bounded);
}

// Checked before anything is copied: otherwise the first launch would fail, with a worse text.
cuda::Limits require_limits(int device) {
  const cuda::Limits limits = cuda::limits_of(device);
  if (limits.block_shared_bytes < gpu::kMinSharedBytes)
    throw CudaError("GPU " + std::to_string(device) + " gives a thread block " +
                    std::to_string(limits.block_shared_bytes) + " bytes of shared memory; culmen needs " +
                    std::to_string(gpu::kMinSharedBytes) + ": search on the CPU or on a newer GPU");
  return limits;
}

}  // namespace

void check_device_search(const SearchOptions& options) {
  check_num_threads(options.num_threads);
  if (options.statistics != nullptr)
    throw InvalidArgument("a copy on a GPU goes by its own statistics: search parts of a table on the CPU");
}

IndexCopy::IndexCopy(std::shared_ptr<const Published> index, const DeviceOptions& options,
                     const gpu::LoadedTree* loaded, const gpu::ShardPart& part)
    : device_(options.device),
      scope_(options.device),
      limits_(require_limits(options.device)),
      mirror_(std::move(index), options, loaded, part),
      pool_(limits_),
      single_search_(limits_, pool_, options.resident),
      count_search_(limits_, pool_),
      batch_search_(limits_, pool_),
      async_search_(limits_),
      flat_search_(options.device, async_search_) {
  scope_.reset();
}

MirrorView IndexCopy::latest() const {
  const cuda::DeviceScope scope(device_);
  return mirror_.latest();
}

std::optional<MirrorView> IndexCopy::view_of(const std::shared_ptr<const Snapshot>& snapshot) const {
  return mirror_.view_of(snapshot);
}

MirrorView IndexCopy::follow(const std::shared_ptr<const Snapshot>& snapshot, RefreshStats& stats,
                             ChangesOfVersion& found) const {
  const cuda::DeviceScope scope(device_);
  return mirror_.follow(snapshot, stats, found);
}

RefreshStats IndexCopy::refresh() const {
  const cuda::DeviceScope scope(device_);
  return mirror_.refresh();
}

IndexCopy::Started::Started(const IndexCopy& copy, const MirrorView& view, const Query& query,
                            const SearchCall& call, Clock::time_point start)
    : view_(view),
      start_(start),
      query_(resolve(query, *view.snapshot)),
      result_(copy.make_result(view, call.engine)) {
  check_engine(call.engine, query_.k, gpu::needs_functions(query_));
  if (query_.groups) query_.groups->full = *call.full_groups;
  look_after_a_while(call.watch);
  if (view.mirror->has_rows()) running_.emplace(copy.single_search_, view_, query_, result_.stats.engine);
}

SearchResult IndexCopy::search(const MirrorView& view, const Query& query, const SearchCall& call,
                               Clock::time_point start) const {
  const FloatingPointScope floating_point;
  if (query.per && call.full_groups == nullptr) {
    SearchResult result =
        search_by_pages(query, *view.snapshot, [&](const Query& page, const std::vector<GroupKey>& full) {
          return search(view, page, {call.engine, call.watch, &full}, Clock::now());
        });
    result.stats.elapsed_us = microseconds_since(start);
    return result;
  }
  const cuda::DeviceScope scope(device_);
  Started started(*this, view, query, call, start);
  return finish(started);
}

std::unique_ptr<IndexCopy::Started> IndexCopy::begin(const MirrorView& view, const Query& query,
                                                     const SearchCall& call, Clock::time_point start) const {
  const FloatingPointScope floating_point;
  const cuda::DeviceScope scope(device_);
  return std::unique_ptr<Started>(new Started(*this, view, query, call, start));
}

SearchResult IndexCopy::finish(Started& started) const {
  const cuda::DeviceScope scope(device_);
  SearchResult& result = started.result_;
  if (started.running_) result.hits = started.running_->finish(result.stats);
  result.stats.elapsed_us = microseconds_since(started.start_);
  return std::move(result);
}

void IndexCopy::search(const MirrorView& view, std::span<const Query> queries, const SearchCall& call,
                       std::span<SearchResult> results) const {
  const FloatingPointScope floating_point;
  const cuda::DeviceScope scope(device_);
  search_current(view, queries, call, results);
}

void IndexCopy::search_batch(const MirrorView& view, const QueryBatch& batch, const SearchCall& call,
                             std::size_t first, const gpu::FlatSearch::Answers& answers,
                             double* shared_bounds) const {
  const FloatingPointScope floating_point;
  const cuda::DeviceScope scope(device_);
  const std::size_t width = view.snapshot->attributes.size();
  const std::size_t k = std::min<std::size_t>(batch.k, view.snapshot->num_rows);
  if (batch.scale == Scale::none && batch.terms.empty() && can_be_batch(view, call.engine, k)) {
    const std::optional<std::size_t> refused =
        flat_search_.search(view, batch, k, first, answers, shared_bounds, call.watch);
    if (!refused) return;
    QueryBatch one = batch;
    one.weights = batch.weights.subspan(*refused * width, width);
    static_cast<void>(resolve(queries_of(one, width).front(), *view.snapshot));  // throws, and says why
  }
  const std::vector<Query> queries = queries_of(batch, width);
  std::vector<SearchResult> results(queries.size());
  search_current(view, queries, call, results);
  if (queries.empty()) return;
  const AnswerArrays arrays = answers();
  for (std::size_t q = 0; q < results.size(); ++q) set_answer(results[q].hits, first + q, arrays);
}

std::uint64_t IndexCopy::count_before(const MirrorView& view, const Query& query, const Cursor& place,
                                      Watch* watch) const {
  const FloatingPointScope floating_point;
  const cuda::DeviceScope scope(device_);
  look_after_a_while(watch);
  return count_search_.count(view, resolve(without_page(query), *view.snapshot),
                             gpu::bound_before(place.score, place.id));
}

std::optional<RowRank> IndexCopy::rank_of(const MirrorView& view, const Query& query, const Filter& is_row,
                                          Watch* watch) const {
  const Query only = only_row(query, is_row);
  std::optional<std::vector<Hit>> hits = hits_without_search(*view.snapshot, only);
  if (!hits) hits = search(view, only, {.watch = watch}, Clock::now()).hits;
  return rank_of_hit(*hits, view.snapshot->version, [&](double score, std::int64_t id) {
    return count_before(view, query, {score, id}, watch);
  });
}

std::unique_ptr<gpu::Context> IndexCopy::make_context(const ContextOptions& options) const {
  const cuda::DeviceScope scope(device_);
  return std::make_unique<gpu::Context>(device_, options);
}

void IndexCopy::search_async(const DeviceBatch& batch, const DeviceAnswers& answers,
                             gpu::Context& context) const {
  const FloatingPointScope floating_point;
  if (context.device() != device_)
    throw InvalidArgument("a context of GPU " + std::to_string(context.device()) +
                          ", but the index is on GPU " + std::to_string(device_));
  const cuda::DeviceScope scope(device_);
  async_search_.enqueue(mirror_.latest(), batch, answers, context);
}

// Without hits.
SearchResult IndexCopy::make_result(const MirrorView& view, Engine engine) const {
  SearchResult result;
  result.snapshot = view.snapshot;
  result.stats.engine = engine == Engine::automatic ? Engine::bounded : engine;
  result.stats.device = device_;
  result.stats.rows_in_index = view.snapshot->num_rows;
  return result;
}

void IndexCopy::search_current(const MirrorView& view, std::span<const Query> queries, const SearchCall& call,
                               std::span<SearchResult> results) const {
  std::ranges::fill(results, make_result(view, call.engine));
  std::map<std::pair<std::size_t, Kernel>, std::vector<std::size_t>> positions_by_k;
  for (std::size_t q = 0; q < queries.size(); ++q)
    positions_by_k[{resolve_k(queries[q], *view.snapshot), kernel_of(queries[q])}].push_back(q);
  for (const auto& [key, positions] : positions_by_k) {
    const auto& [k, kernel] = key;
    check_engine(call.engine, k, kernel != Kernel::of_weights);
    if (can_be_batch(view, call.engine, k) && kernel != Kernel::of_pages) {
      batch_search_.search(view, queries, positions, k, results, call.watch);
    } else {
      for (const std::size_t q : positions) {
        results[q] = search(view, queries[q], call, Clock::now());
        count_answered(call.watch, 1);
      }
    }
  }
}

}  // namespace culmen
