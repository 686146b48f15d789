// DeviceIndex: checks arguments, and passes queries to the searches in gpu/search.
#include "api/device_index.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "api/batch_answers.h"
#include "api/handle.h"
#include "base/floating_point_scope.h"
#include "base/with_threads.h"
#include "culmen/error.h"
#include "gpu/mirror/mirror.h"
#include "gpu/search/async_search.h"
#include "gpu/search/batch_search.h"
#include "gpu/search/single_search.h"
#include "gpu/search/workspace.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using gpu::MirrorView;
using Clock = std::chrono::steady_clock;

void check_engine(Engine engine, std::size_t k) {
  if (engine == Engine::ta)
    throw InvalidArgument("the engine ta runs on the CPU only; a GPU has bounded, scan and gta");
  if (engine == Engine::gta && k > gpu::kMaxSortedHits)
    throw InvalidArgument("the engine gta takes k up to " + std::to_string(gpu::kMaxSortedHits) +
                          " on a GPU; bounded and scan take any");
}

constexpr const char* kKind = "DeviceIndex";

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

class DeviceIndex::Impl {
 public:
  Impl(std::shared_ptr<const Published> index, const DeviceOptions& options, const gpu::LoadedTree* loaded)
      : device_(options.device),
        scope_(options.device),
        limits_(require_limits(options.device)),
        mirror_(std::move(index), options, loaded),
        pool_(limits_),
        single_search_(limits_, pool_),
        batch_search_(limits_, pool_),
        async_search_(limits_) {
    scope_.reset();
  }

  SearchResult search(const Query& query, Engine engine) const {
    const FloatingPointScope floating_point;
    const Clock::time_point start = Clock::now();
    const cuda::DeviceScope scope(device_);
    return search(mirror_.latest(), query, engine, start);
  }

  // All queries search the same version.
  std::vector<SearchResult> search(std::span<const Query> queries, Engine engine) const {
    const FloatingPointScope floating_point;
    const cuda::DeviceScope scope(device_);
    return search(mirror_.latest(), queries, engine);
  }

  BatchAnswers search_batch(const QueryBatch& batch, Engine engine) const {
    const FloatingPointScope floating_point;
    const cuda::DeviceScope scope(device_);
    const MirrorView view = mirror_.latest();
    const std::vector<Query> queries = queries_of(batch, view.snapshot->attributes.size());
    BatchAnswers answers =
        make_answers(batch, queries.size(), view.snapshot->num_rows, view.snapshot->version);
    const std::vector<SearchResult> results = search(view, queries, engine);
    for (std::size_t q = 0; q < results.size(); ++q) set_answer(results[q].hits, q, answers);
    return answers;
  }

  std::unique_ptr<gpu::Context> make_context(const ContextOptions& options) const {
    const cuda::DeviceScope scope(device_);
    return std::make_unique<gpu::Context>(device_, options);
  }

  void search_async(const DeviceBatch& batch, const DeviceAnswers& answers, gpu::Context& context) const {
    const FloatingPointScope floating_point;
    if (context.device() != device_)
      throw InvalidArgument("a context of GPU " + std::to_string(context.device()) +
                            ", but the index is on GPU " + std::to_string(device_));
    const cuda::DeviceScope scope(device_);
    async_search_.enqueue(mirror_.latest(), batch, answers, context);
  }

  RefreshStats refresh() const {
    const cuda::DeviceScope scope(device_);
    return mirror_.refresh();
  }

  int device() const { return device_; }
  const gpu::Mirror& mirror() const { return mirror_; }

 private:
  // Without hits.
  SearchResult make_result(const MirrorView& view, Engine engine) const {
    SearchResult result;
    result.snapshot = view.snapshot;
    result.stats.engine = engine == Engine::automatic ? Engine::bounded : engine;
    result.stats.device = device_;
    result.stats.rows_in_index = view.snapshot->num_rows;
    return result;
  }

  SearchResult search(const MirrorView& view, const Query& query, Engine engine,
                      Clock::time_point start) const {
    SearchResult result = make_result(view, engine);
    const ResolvedQuery resolved = resolve(query, *view.snapshot);
    check_engine(engine, resolved.k);
    if (view.mirror->has_rows()) single_search_.search(view, resolved, result.stats.engine, result);
    result.stats.elapsed_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    return result;
  }

  std::vector<SearchResult> search(const MirrorView& view, std::span<const Query> queries,
                                   Engine engine) const {
    std::vector<SearchResult> results(queries.size(), make_result(view, engine));
    std::map<std::size_t, std::vector<std::size_t>> positions_by_k;
    for (std::size_t q = 0; q < queries.size(); ++q)
      positions_by_k[resolve_k(queries[q], *view.snapshot)].push_back(q);
    for (const auto& [k, positions] : positions_by_k) {
      check_engine(engine, k);
      if (can_be_batch(view, engine, k)) {
        batch_search_.search(view, queries, positions, k, results);
      } else {
        for (const std::size_t q : positions) results[q] = search(view, queries[q], engine, Clock::now());
      }
    }
    return results;
  }

  static bool can_be_batch(const MirrorView& view, Engine engine, std::size_t k) {
    return view.mirror->has_rows() && k <= gpu::kMaxBatchK &&
           (engine == Engine::automatic || engine == Engine::bounded);
  }

  int device_;
  std::optional<cuda::DeviceScope> scope_;  // during construction only
  cuda::Limits limits_;
  mutable gpu::Mirror mirror_;
  mutable gpu::WorkspacePool pool_;  // destroyed before the mirror: a workspace waits for its stream
  gpu::SingleSearch single_search_;
  gpu::BatchSearch batch_search_;
  gpu::AsyncSearch async_search_;
};

int num_devices() noexcept {
  return cuda::num_devices();
}

DeviceIndex make_device_index(std::shared_ptr<const Published> index, const DeviceOptions& options,
                              const std::shared_ptr<const gpu::LoadedTree>& loaded) {
  cuda::require_device(options.device);
  return DeviceIndex(std::make_shared<const DeviceIndex::Impl>(std::move(index), options, loaded.get()));
}

namespace {

void check_options(const SearchOptions& options) {
  check_num_threads(options.num_threads);
  if (options.statistics != nullptr)
    throw InvalidArgument("a copy on a GPU goes by its own statistics: search parts of a table on the CPU");
}

}  // namespace

SearchResult DeviceIndex::search(const Query& query, const SearchOptions& options) const {
  check_options(options);
  return held_by(impl_, kKind).search(query, options.engine);
}

std::vector<SearchResult> DeviceIndex::search(std::span<const Query> queries,
                                              const SearchOptions& options) const {
  check_options(options);
  return held_by(impl_, kKind).search(queries, options.engine);
}

BatchAnswers DeviceIndex::search_batch(const QueryBatch& batch, const SearchOptions& options) const {
  check_options(options);
  return held_by(impl_, kKind).search_batch(batch, options.engine);
}

DeviceContext DeviceIndex::make_context(const ContextOptions& options) const {
  return DeviceContext(held_by(impl_, kKind).make_context(options));
}

void DeviceIndex::search_async(const DeviceBatch& batch, const DeviceAnswers& answers,
                               DeviceContext& context) const {
  held_by(impl_, kKind).search_async(batch, answers, held_by(context.context_, "DeviceContext"));
}

RefreshStats DeviceIndex::refresh() const {
  return held_by(impl_, kKind).refresh();
}

int DeviceIndex::device() const {
  return held_by(impl_, kKind).device();
}

DeviceMemory DeviceIndex::memory() const {
  return held_by(impl_, kKind).mirror().memory();
}

std::size_t DeviceIndex::device_bytes() const {
  return held_by(impl_, kKind).mirror().device_bytes();
}

DeviceContext::DeviceContext(std::unique_ptr<gpu::Context> context) : context_(std::move(context)) {}
DeviceContext::DeviceContext(DeviceContext&& other) noexcept = default;
DeviceContext& DeviceContext::operator=(DeviceContext&& other) noexcept = default;
DeviceContext::~DeviceContext() = default;

void DeviceContext::synchronize() const {
  held_by(context_, "DeviceContext").synchronize();
}

CUstream_st* DeviceContext::stream() const {
  return held_by(context_, "DeviceContext").stream();
}

}  // namespace culmen
