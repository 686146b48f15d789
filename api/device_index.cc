// DeviceIndex: checks and packs queries, launches engines, and makes answers of what they leave.
#include "api/device_index.h"

#include <algorithm>
#include <chrono>
#include <limits>
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
#include "gpu/search/pack_query.h"
#include "gpu/search/workspace.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using gpu::Candidate;
using gpu::KthBound;
using gpu::MirrorView;
using gpu::to_hit;
using Clock = std::chrono::steady_clock;

std::vector<Hit> to_hits(std::span<const Candidate> candidates) {
  std::vector<Hit> hits(candidates.size());
  std::transform(candidates.begin(), candidates.end(), hits.begin(), to_hit);
  return hits;
}

void check_engine(Engine engine, std::size_t k) {
  if (engine == Engine::ta)
    throw InvalidArgument("the engine ta runs on the CPU only; a GPU has bounded, scan and gta");
  if (engine == Engine::gta && k > gpu::kMaxSortedHits)
    throw InvalidArgument("the engine gta takes k up to " + std::to_string(gpu::kMaxSortedHits) +
                          " on a GPU; bounded and scan take any");
}

constexpr const char* kKind = "DeviceIndex";

// Said before anything is copied, rather than by a launch.
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

  // One version for all.
  std::vector<SearchResult> search(std::span<const Query> queries, Engine engine) const {
    const FloatingPointScope floating_point;
    const cuda::DeviceScope scope(device_);
    return search(mirror_.latest(), queries, engine);
  }

  BatchAnswers search_batch(const QueryBatch& batch, Engine engine) const {
    const FloatingPointScope floating_point;
    const cuda::DeviceScope scope(device_);
    const MirrorView view = mirror_.latest();
    const std::vector<Query> queries = queries_of(batch, *view.snapshot);
    BatchAnswers answers = make_answers(batch, queries.size(), *view.snapshot);
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
  // A result that has no hits yet.
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
    if (view.mirror->has_rows()) {
      std::unique_ptr<gpu::Workspace> workspace = pool_.take();
      result.hits = run(view, resolved, result.stats.engine, *workspace, result.stats);
      pool_.give_back(std::move(workspace));
    }
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

  // gta has no plan: it walks through leaves and asks nothing of the nodes.
  gpu::GridPlan make_plan(const MirrorView& view, Engine engine) const {
    const std::uint32_t num_slots = view.mirror->ref().num_slots;
    if (engine == Engine::gta) return {};
    return engine == Engine::scan ? gpu::plan_scan(num_slots, limits_)
                                  : gpu::plan_bounded(num_slots, limits_);
  }

  void launch(const MirrorView& view, Engine engine, const gpu::GridPlan& plan,
              const gpu::SearchStateRef& state, const gpu::QueryArgument& query, cudaStream_t stream) const {
    const gpu::MirrorRef mirror = engine == Engine::bounded ? view.mirror->ref()
                                  : engine == Engine::gta
                                      ? view.mirror->ref_with_thresholds(*view.snapshot, stream)
                                      : view.mirror->ref_with_order(*view.snapshot, stream);
    visit_value_type(*view.snapshot, [&]<typename T>(T) {
      if (engine == Engine::scan) {
        gpu::launch_scan<T>(mirror, state, query, plan, stream);
      } else if (engine == Engine::gta) {
        gpu::launch_gta<T>(mirror, state, query, limits_, stream);
      } else {
        gpu::launch_bounded<T>(mirror, state, query, plan, stream);
      }
    });
  }

  // More candidates than rows there cannot be. A large k may be no more than a limit (min_score): then the
  // list grows when it must.
  std::size_t first_capacity(const MirrorView& view, const ResolvedQuery& query, Engine engine) const {
    const std::size_t heaps = engine == Engine::gta ? gpu::num_gta_blocks(limits_) * query.k : 0;
    return std::min<std::size_t>(view.snapshot->num_rows, std::max(gpu::kUsualCandidates, heaps));
  }

  std::vector<Hit> run(const MirrorView& view, const ResolvedQuery& query, Engine engine,
                       gpu::Workspace& workspace, SearchStats& stats) const {
    const gpu::GridPlan plan = make_plan(view, engine);
    const std::size_t outside = plan.num_bounds_outside(view.mirror->ref().num_slots);
    workspace.reserve(query.k, first_capacity(view, query, engine), outside);
    const gpu::QueryArgument argument = workspace.argument(query);
    const auto k =
        static_cast<std::uint32_t>(std::min<std::size_t>(query.k, std::numeric_limits<std::uint32_t>::max()));
    KthBound kth_bound = {query.min_score, kNoId};
    for (;;) {
      const gpu::SearchStateRef state = workspace.next(k, kth_bound);
      launch(view, engine, plan, state, argument, workspace.stream().get());
      const gpu::ResultHeader& result = workspace.wait();
      gpu::add_work(result, query.terms.size() + query.where.size(), query.bound.num_terms(), *view.snapshot,
                    stats);
      if (result.outcome == gpu::Outcome::sorted) return to_hits({workspace.hits(), result.num_hits});
      if (result.outcome == gpu::Outcome::unsorted) {
        if (result.num_hits == 0) return {};
        return to_hits(workspace.best_candidates(result.num_candidates, result.num_hits));
      }
      // What ranks behind the k-th of the rows that found room is out: next time there will be room for the
      // others, or the k-th score bound rises again. If it does not, as where many rows share score and id, the list
      // grows.
      const KthBound before = kth_bound;
      if (state.capacity >= 2 * query.k) {
        const Candidate kth = workspace.kth_candidate(state.capacity, query.k);
        kth_bound = {kth.score, kth.id};
      }
      if (kth_bound.score == before.score && kth_bound.id == before.id)
        workspace.reserve(query.k, result.num_candidates, outside);
    }
  }

  int device_;
  std::optional<cuda::DeviceScope> scope_;  // while the mirror is made
  cuda::Limits limits_;
  mutable gpu::Mirror mirror_;
  mutable gpu::WorkspacePool pool_;  // ends before it: workspaces wait for their streams
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

SearchResult DeviceIndex::search(const Query& query, const SearchOptions& options) const {
  check_num_threads(options.num_threads);
  return held_by(impl_, kKind).search(query, options.engine);
}

std::vector<SearchResult> DeviceIndex::search(std::span<const Query> queries,
                                              const SearchOptions& options) const {
  check_num_threads(options.num_threads);
  return held_by(impl_, kKind).search(queries, options.engine);
}

BatchAnswers DeviceIndex::search_batch(const QueryBatch& batch, const SearchOptions& options) const {
  check_num_threads(options.num_threads);
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
