// DeviceIndex: checks and packs queries, launches engines, and makes answers of what they leave.
#include "culmen/device.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "culmen/error.h"
#include "index/floating_point_scope.h"
#include "query/gpu/async_search.h"
#include "query/gpu/mirror.h"
#include "query/gpu/pack_query.h"
#include "query/gpu/workspace.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using gpu::Candidate;
using gpu::Floor;
using Clock = std::chrono::steady_clock;

// Queries and hits of a batch that are on the device at once.
constexpr std::size_t kBatchQueries = 1 << 14;
constexpr std::size_t kBatchHits = 1 << 20;

Hit to_hit(const Candidate& candidate) {
  return {candidate.id, candidate.score, candidate.row};
}

std::vector<Hit> best_hits(std::vector<Candidate> candidates, std::size_t k) {
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(k, candidates.size()));
  std::partial_sort(candidates.begin(), end, candidates.end(), gpu::ranks_before);
  std::vector<Hit> hits(static_cast<std::size_t>(end - candidates.begin()));
  std::transform(candidates.begin(), end, hits.begin(), to_hit);
  return hits;
}

// The k-th best of more than k candidates: at least k rows are, or rank before, it.
Floor kth_of(std::vector<Candidate> candidates, std::size_t k) {
  const auto kth = candidates.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(candidates.begin(), kth, candidates.end(), gpu::ranks_before);
  return {kth->score, kth->id};
}

void check_engine(Engine engine, std::size_t k) {
  if (engine == Engine::ta) throw InvalidArgument("the engine ta runs on the CPU only");
  if (engine == Engine::gta && k > gpu::kMaxSortedHits)
    throw InvalidArgument("the engine gta takes k up to " + std::to_string(gpu::kMaxSortedHits) +
                          " on a GPU");
}

gpu::Grid grid_of(int device) {
  int num_multiprocessors = 0;
  cuda::check(cudaDeviceGetAttribute(&num_multiprocessors, cudaDevAttrMultiProcessorCount, device));
  return {static_cast<unsigned>(num_multiprocessors)};
}

}  // namespace

class DeviceIndex::Impl {
 public:
  Impl(std::shared_ptr<const Snapshot> snapshot, const DeviceOptions& options)
      : snapshot_(std::move(snapshot)),
        device_(options.device),
        scope_(options.device),
        grid_(grid_of(options.device)),
        pool_(grid_) {
    if (snapshot_->num_tuples > 0) mirror_ = std::make_unique<gpu::Mirror>(*snapshot_, options);
    async_search_.emplace(*snapshot_, mirror_.get(), grid_);
    scope_.reset();
  }

  SearchResult search(const Query& query, Engine engine) const {
    const FloatingPointScope floating_point;
    const Clock::time_point start = Clock::now();
    SearchResult result = make_result(engine);
    const ResolvedQuery resolved = resolve(query, *snapshot_);
    check_engine(engine, resolved.k);
    if (mirror_ != nullptr) {
      const cuda::DeviceScope scope(device_);
      std::unique_ptr<gpu::Workspace> workspace = pool_.take();
      result.hits = run(resolved, result.stats.engine, *workspace, result.stats);
      pool_.give_back(std::move(workspace));
    }
    result.stats.elapsed_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    return result;
  }

  std::vector<SearchResult> search(std::span<const Query> queries, Engine engine) const {
    const FloatingPointScope floating_point;
    std::vector<SearchResult> results(queries.size());
    std::map<std::size_t, std::vector<std::size_t>> positions_by_k;
    std::vector<ResolvedQuery> resolved(queries.size());
    tbb::parallel_for(std::size_t{0}, queries.size(), [&](std::size_t q) {
      const FloatingPointScope task_floating_point;
      resolved[q] = resolve(queries[q], *snapshot_);
      check_engine(engine, resolved[q].k);
    });
    for (std::size_t q = 0; q < queries.size(); ++q) positions_by_k[resolved[q].k].push_back(q);
    for (const auto& [k, positions] : positions_by_k) {
      const bool by_warps = k <= gpu::kMaxSortedHits && mirror_ != nullptr &&
                            (engine == Engine::automatic || engine == Engine::bounded);
      const std::size_t at_once =
          std::clamp<std::size_t>(kBatchHits / std::max<std::size_t>(k, 1), 1, kBatchQueries);
      for (std::size_t first = 0; by_warps && first < positions.size(); first += at_once)
        run_batch(resolved, std::span(positions).subspan(first, std::min(at_once, positions.size() - first)),
                  k, results);
      for (std::size_t i = 0; !by_warps && i < positions.size(); ++i)
        results[positions[i]] = search(queries[positions[i]], engine);
    }
    return results;
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
    async_search_->enqueue(batch, answers, context);
  }

  int device() const { return device_; }
  const gpu::Mirror* mirror() const { return mirror_.get(); }

 private:
  // Of an answer without hits.
  SearchResult make_result(Engine engine) const {
    SearchResult result;
    result.snapshot = snapshot_;
    result.stats.engine = engine == Engine::automatic ? Engine::bounded : engine;
    result.stats.device = device_;
    result.stats.tuples_in_index = snapshot_->num_tuples;
    return result;
  }

  void add_work(const gpu::ResultHeader& work, const ResolvedQuery& query, SearchStats& stats) const {
    stats.tuples_scored += work.tuples_scored;
    stats.blocks_visited += work.leaves_visited;
    stats.nodes_visited += work.nodes_visited;
    const std::uint64_t bounds = work.nodes_visited * kFanOut;
    stats.bounds_computed += bounds;
    stats.bytes_touched +=
        bounds * query.bound.terms.size() * sizeof(Half) +
        work.tuples_scored * (query.terms.size() + query.where.size()) * snapshot_->value_bytes();
  }

  void launch(Engine engine, const gpu::SearchStateRef& state, const gpu::QueryArgument& query,
              cudaStream_t stream) const {
    visit_value_type(*snapshot_, [&]<typename T>(T) {
      if (engine == Engine::scan) {
        gpu::launch_scan<T>(mirror_->ref(), state, query, grid_, stream);
      } else if (engine == Engine::gta) {
        gpu::launch_gta<T>(mirror_->ref(), state, query, grid_, stream);
      } else {
        gpu::launch_bounded<T>(mirror_->ref(), state, query, grid_, stream);
      }
    });
  }

  // More candidates than rows there cannot be. A large k may be no more than a limit (min_score): then the
  // list grows when it must.
  std::size_t first_capacity(const ResolvedQuery& query, Engine engine) const {
    const std::size_t heaps = engine == Engine::gta ? gpu::num_gta_blocks(grid_) * query.k : 0;
    return std::min<std::size_t>(snapshot_->num_tuples, std::max(gpu::kUsualCandidates, heaps));
  }

  std::vector<Hit> run(const ResolvedQuery& query, Engine engine, gpu::Workspace& workspace,
                       SearchStats& stats) const {
    workspace.reserve(query.k, first_capacity(query, engine));
    const gpu::QueryArgument argument = workspace.argument(query);
    const auto k =
        static_cast<std::uint32_t>(std::min<std::size_t>(query.k, std::numeric_limits<std::uint32_t>::max()));
    Floor floor = {query.min_score, kNoId};
    for (;;) {
      const gpu::SearchStateRef state = workspace.next(k, floor);
      launch(engine, state, argument, workspace.stream().get());
      const gpu::ResultHeader& result = workspace.wait();
      add_work(result, query, stats);
      if (result.outcome == gpu::Outcome::sorted) {
        std::vector<Hit> hits(result.num_hits);
        std::transform(workspace.hits(), workspace.hits() + result.num_hits, hits.begin(), to_hit);
        return hits;
      }
      if (result.outcome == gpu::Outcome::unsorted)
        return best_hits(workspace.download_candidates(result.num_candidates), query.k);
      if (state.capacity < 2 * query.k) {
        workspace.reserve(query.k, result.num_candidates);
        continue;
      }
      // What ranks behind the k-th of the rows that found room is out: next time there will be room for the
      // others.
      floor = kth_of(workspace.download_candidates(state.capacity), query.k);
    }
  }

  void run_batch(const std::vector<ResolvedQuery>& resolved, std::span<const std::size_t> positions,
                 std::size_t k, std::vector<SearchResult>& results) const {
    const Clock::time_point start = Clock::now();
    const cuda::DeviceScope scope(device_);
    std::unique_ptr<gpu::Workspace> workspace = pool_.take();
    const cudaStream_t stream = workspace->stream().get();
    std::size_t stride = 0;
    for (const std::size_t q : positions) stride = std::max(stride, gpu::packed_bytes_of(resolved[q]));
    gpu::Workspace::Batch& memory =
        workspace->reserve_batch(stride * positions.size(), positions.size() * k, positions.size());
    tbb::parallel_for(std::size_t{0}, positions.size(), [&](std::size_t i) {
      gpu::pack_query(resolved[positions[i]], memory.packed.data() + i * stride);
    });
    cuda::check(cudaMemcpyAsync(memory.queries.data(), memory.packed.data(), stride * positions.size(),
                                cudaMemcpyHostToDevice, stream));
    const gpu::BatchRef batch = {memory.queries.data(),
                                 memory.hits.data(),
                                 memory.work.data(),
                                 workspace->counters(),
                                 static_cast<std::uint32_t>(positions.size()),
                                 static_cast<std::uint32_t>(stride),
                                 static_cast<std::uint32_t>(k)};
    visit_value_type(*snapshot_,
                     [&]<typename T>(T) { gpu::launch_batch<T>(mirror_->ref(), batch, grid_, stream); });
    workspace->clear_counters();
    workspace->stream().synchronize();
    tbb::parallel_for(std::size_t{0}, positions.size(), [&](std::size_t i) {
      SearchResult result = make_result(Engine::bounded);
      const Candidate* first = memory.hits.data() + i * k;
      result.hits.resize(memory.work.data()[i].num_hits);
      std::transform(first, first + memory.work.data()[i].num_hits, result.hits.begin(), to_hit);
      add_work(memory.work.data()[i], resolved[positions[i]], result.stats);
      results[positions[i]] = std::move(result);
    });
    const double elapsed_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    for (const std::size_t q : positions)
      results[q].stats.elapsed_us = elapsed_us / static_cast<double>(positions.size());
    pool_.give_back(std::move(workspace));
  }

  std::shared_ptr<const Snapshot> snapshot_;
  int device_;
  std::optional<cuda::DeviceScope> scope_;  // while the mirror is made
  gpu::Grid grid_;
  mutable gpu::WorkspacePool pool_;
  std::unique_ptr<gpu::Mirror> mirror_;           // none: no rows
  std::optional<gpu::AsyncSearch> async_search_;  // made behind the mirror
};

int num_devices() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

DeviceIndex DeviceIndex::make(std::shared_ptr<const Snapshot> snapshot, const DeviceOptions& options) {
  if (options.device < 0 || options.device >= num_devices())
    throw CudaError("there is no GPU " + std::to_string(options.device) + ": " +
                    std::to_string(num_devices()) + " can be used");
  return DeviceIndex(std::make_shared<const Impl>(std::move(snapshot), options));
}

SearchResult DeviceIndex::search(const Query& query, Engine engine) const {
  return impl_->search(query, engine);
}

std::vector<SearchResult> DeviceIndex::search(std::span<const Query> queries, Engine engine) const {
  return impl_->search(queries, engine);
}

DeviceContext DeviceIndex::make_context(const ContextOptions& options) const {
  return DeviceContext(impl_->make_context(options));
}

void DeviceIndex::search_async(const DeviceBatch& batch, const DeviceAnswers& answers,
                               DeviceContext& context) const {
  impl_->search_async(batch, answers, *context.context_);
}

int DeviceIndex::device() const {
  return impl_->device();
}

DeviceMemory DeviceIndex::memory() const {
  return impl_->mirror() == nullptr ? DeviceMemory::device : impl_->mirror()->memory();
}

std::size_t DeviceIndex::device_bytes() const {
  return impl_->mirror() == nullptr ? 0 : impl_->mirror()->device_bytes();
}

}  // namespace culmen
