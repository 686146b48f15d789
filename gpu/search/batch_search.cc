#include "gpu/search/batch_search.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>

#include "base/floating_point_scope.h"
#include "gpu/search/pack_query.h"
#include "gpu/search/work_stats.h"
#include "query/resolve.h"

namespace culmen::gpu {
namespace {

// Queries and hits on the device at once, at most.
constexpr std::size_t kMaxQueries = 1 << 14;
constexpr std::size_t kMaxHits = 1 << 20;

// Room for any of the queries, packed.
std::size_t stride_of(std::span<const Query> queries, std::span<const std::size_t> positions,
                      const Snapshot& snapshot) {
  const int num_attributes = snapshot.num_attributes();
  bool has_gaps = false;
  for (std::int32_t i = 0; i < num_attributes; ++i)
    has_gaps = has_gaps || gaps_of_index(snapshot, i).some_missing != 0;
  std::size_t num_ranges = 0;
  for (const std::size_t q : positions)
    num_ranges = std::max(num_ranges, max_ranges_of(queries[q].where, has_gaps));
  return packed_stride(num_attributes,
                       static_cast<int>(std::min(num_ranges, static_cast<std::size_t>(num_attributes))));
}

}  // namespace

void BatchSearch::search(const MirrorView& view, std::span<const Query> queries,
                         std::span<const std::size_t> positions, std::size_t k,
                         std::vector<SearchResult>& results) const {
  const std::size_t at_once = std::clamp<std::size_t>(kMaxHits / k, 1, kMaxQueries);
  for (std::size_t first = 0; first < positions.size(); first += at_once)
    search_at_once(view, queries, positions.subspan(first, std::min(at_once, positions.size() - first)), k,
                   results);
}

void BatchSearch::search_at_once(const MirrorView& view, std::span<const Query> queries,
                                 std::span<const std::size_t> positions, std::size_t k,
                                 std::vector<SearchResult>& results) const {
  const auto start = std::chrono::steady_clock::now();
  const Snapshot& snapshot = *view.snapshot;
  std::unique_ptr<Workspace> workspace = pool_.take();
  const cudaStream_t stream = workspace->stream().get();
  const std::size_t count = positions.size();
  const std::size_t stride = stride_of(queries, positions, snapshot);
  const MirrorRef& mirror = view.mirror->ref();
  const std::size_t most_swept = most_to_sweep(mirror, count, k);
  Workspace::Batch& memory =
      workspace->reserve_batch(stride * count, count * k, count, most_swept * sweep_bytes_each(mirror, k));
  // Each is packed as soon as it is resolved: resolved queries are large, and memory for thousands would cost more
  // than the search.
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    const FloatingPointScope floating_point;
    pack_query(resolve(queries[positions[i]], snapshot), memory.packed.data() + i * stride);
  });
  cuda::check(cudaMemcpyAsync(memory.queries.data(), memory.packed.data(), stride * count,
                              cudaMemcpyHostToDevice, stream));
  const BatchRef batch = {memory.queries.data(),
                          memory.hits.data(),
                          memory.work.data(),
                          workspace->batch_counters(),
                          static_cast<std::uint32_t>(count),
                          static_cast<std::uint32_t>(stride),
                          static_cast<std::uint32_t>(k),
                          make_sweep(mirror, memory.sweep.data(), most_swept, k)};
  visit_value_type(snapshot, [&]<typename T>(T) { launch_batch<T>(mirror, batch, limits_, stream); });
  workspace->stream().synchronize();
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    SearchResult& result = results[positions[i]];
    const Candidate* first = memory.hits.data() + i * k;
    result.hits.resize(memory.work.data()[i].num_hits);
    std::transform(first, first + memory.work.data()[i].num_hits, result.hits.begin(), to_hit);
    const PackedHeader& query = QueryRef{memory.packed.data() + i * stride}.header();
    add_work(
        memory.work.data()[i],
        static_cast<std::size_t>(query.num_terms) + static_cast<std::size_t>(query.num_ranges),
        static_cast<std::size_t>(query.num_bound_terms) + static_cast<std::size_t>(query.num_capped_terms),
        snapshot, result.stats);
  });
  const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
  for (const std::size_t q : positions)
    results[q].stats.elapsed_us = elapsed.count() / static_cast<double>(count);
  pool_.give_back(std::move(workspace));
}

}  // namespace culmen::gpu
