// DeviceIndex: checks and packs queries, launches engines, and makes answers of what they leave.
#include "culmen/device.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "culmen/error.h"
#include "index/floating_point_scope.h"
#include "query/gpu/mirror.h"
#include "query/gpu/pack_query.h"
#include "query/gpu/workspace.h"
#include "query/resolve.h"

namespace culmen {
namespace {

using gpu::Candidate;
using gpu::Floor;
using Clock = std::chrono::steady_clock;

// The candidate list of a search that is not for an uncommon number of rows; more candidates cost a second
// pass.
constexpr std::size_t kMinCandidates = 1 << 16;
// Queries of a batch that are on the device at once.
constexpr std::size_t kBatchQueries = 1 << 14;

bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.score > b.score || (a.score == b.score && a.id < b.id);
}

Hit to_hit(const Candidate& candidate) {
  return {candidate.id, candidate.score, candidate.row};
}

std::vector<Hit> best_hits(std::vector<Candidate> candidates, std::size_t k) {
  const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(k, candidates.size()));
  std::partial_sort(candidates.begin(), end, candidates.end(), ranks_before);
  std::vector<Hit> hits(static_cast<std::size_t>(end - candidates.begin()));
  std::transform(candidates.begin(), end, hits.begin(), to_hit);
  return hits;
}

// The k-th best of more than k candidates: at least k rows are, or rank before, it.
Floor kth_of(std::vector<Candidate> candidates, std::size_t k) {
  const auto kth = candidates.begin() + static_cast<std::ptrdiff_t>(k - 1);
  std::nth_element(candidates.begin(), kth, candidates.end(), ranks_before);
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
    std::vector<ResolvedQuery> resolved;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      resolved.push_back(resolve(queries[q], *snapshot_));
      check_engine(engine, resolved.back().k);
      positions_by_k[resolved.back().k].push_back(q);
    }
    for (const auto& [k, positions] : positions_by_k) {
      const bool by_warps = k <= gpu::kMaxSortedHits && mirror_ != nullptr &&
                            (engine == Engine::automatic || engine == Engine::bounded);
      for (std::size_t first = 0; by_warps && first < positions.size(); first += kBatchQueries)
        run_batch(resolved,
                  std::span(positions).subspan(first, std::min(kBatchQueries, positions.size() - first)), k,
                  results);
      for (std::size_t i = 0; !by_warps && i < positions.size(); ++i)
        results[positions[i]] = search(queries[positions[i]], engine);
    }
    return results;
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

  void launch(Engine engine, const gpu::SearchStateRef& state, const gpu::PackedQuery& query,
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

  std::vector<Hit> run(const ResolvedQuery& query, Engine engine, gpu::Workspace& workspace,
                       SearchStats& stats) const {
    std::size_t num_candidates = std::max(kMinCandidates, 4 * query.k);
    if (engine == Engine::gta)
      num_candidates = std::max(num_candidates, gpu::num_gta_blocks(grid_) * query.k);
    workspace.reserve(query.k, num_candidates);
    gpu::PackedQuery
        packed;  // NOLINT(cppcoreguidelines-pro-type-member-init): pack_query writes what is read
    gpu::pack_query(query, packed.bytes);
    Floor floor = {query.min_score, kNoId};
    for (;;) {
      const gpu::SearchStateRef state = workspace.next(static_cast<std::uint32_t>(query.k), floor);
      launch(engine, state, packed, workspace.stream().get());
      const gpu::ResultHeader& result = workspace.wait();
      add_work(result, query, stats);
      if (result.outcome == gpu::Outcome::sorted) {
        std::vector<Hit> hits(result.num_hits);
        std::transform(workspace.hits(), workspace.hits() + result.num_hits, hits.begin(), to_hit);
        return hits;
      }
      if (result.outcome == gpu::Outcome::unsorted)
        return best_hits(workspace.download_candidates(result.num_candidates), query.k);
      // The list holds more than k rows: what ranks behind the k-th of them is out, and there is room again.
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
    const cuda::Buffer<std::byte> packed(stride * positions.size(), cuda::Memory::pinned);
    for (std::size_t i = 0; i < positions.size(); ++i)
      gpu::pack_query(resolved[positions[i]], packed.data() + i * stride);
    const cuda::Buffer<std::byte> queries(packed.size());
    const cuda::Buffer<Candidate> hits(positions.size() * k, cuda::Memory::pinned);
    const cuda::Buffer<gpu::ResultHeader> work(positions.size(), cuda::Memory::pinned);
    cuda::check(
        cudaMemcpyAsync(queries.data(), packed.data(), packed.size(), cudaMemcpyHostToDevice, stream));
    const gpu::BatchRef batch = {queries.data(),
                                 hits.data(),
                                 work.data(),
                                 workspace->counters(),
                                 static_cast<std::uint32_t>(positions.size()),
                                 static_cast<std::uint32_t>(stride),
                                 static_cast<std::uint32_t>(k)};
    visit_value_type(*snapshot_,
                     [&]<typename T>(T) { gpu::launch_batch<T>(mirror_->ref(), batch, grid_, stream); });
    workspace->clear_counters();
    workspace->stream().synchronize();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      SearchResult result = make_result(Engine::bounded);
      const Candidate* first = hits.data() + i * k;
      result.hits.resize(work.data()[i].num_hits);
      std::transform(first, first + work.data()[i].num_hits, result.hits.begin(), to_hit);
      add_work(work.data()[i], resolved[positions[i]], result.stats);
      results[positions[i]] = std::move(result);
    }
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
  std::unique_ptr<gpu::Mirror> mirror_;  // none: no rows
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
