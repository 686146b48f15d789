#include "gpu/search/batch_search.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/elapsed.h"
#include "base/floating_point_scope.h"
#include "gpu/search/pack_functions.h"
#include "gpu/search/pack_predicate.h"
#include "gpu/search/pack_query.h"
#include "gpu/search/part_list.h"
#include "gpu/search/work_stats.h"
#include "index/snapshot_fields.h"
#include "query/resolve.h"

namespace culmen::gpu {
namespace {

// Queries and hits on the device at once, at most; of a wide table as many bytes of queries.
constexpr std::size_t kMaxQueries = 1 << 14;
constexpr std::size_t kMaxHits = 1 << 20;
constexpr std::size_t kMaxQueryBytes = 256 << 20;

// Bytes of the functions of one of the queries, about.
std::size_t function_bytes(const Query& query) {
  const std::size_t num_terms = query.terms.size() + (query.scale == Scale::rank ? query.weights.size() : 0);
  return num_terms * (2 * sizeof(PackedFunction) + sizeof(PackedJoint));
}

// Room for any of the queries, packed.
std::size_t stride_of(std::span<const Query> queries, std::span<const std::size_t> positions,
                      int num_attributes, bool may_skip) {
  std::size_t num_ranges = 0;
  for (const std::size_t q : positions)
    num_ranges = std::max(num_ranges, max_ranges_of(queries[q], may_skip));
  return packed_stride(num_attributes,
                       static_cast<int>(std::min(num_ranges, static_cast<std::size_t>(num_attributes))));
}

}  // namespace

void BatchSearch::search(const MirrorView& view, std::span<const Query> queries,
                         std::span<const std::size_t> positions, std::size_t k,
                         std::span<SearchResult> results, Watch* watch) const {
  std::size_t most_bytes = 0;
  for (const std::size_t q : positions) most_bytes = std::max(most_bytes, function_bytes(queries[q]));
  most_bytes += packed_stride(view.snapshot->num_attributes(), 0);
  const std::size_t fitting =
      std::min(std::max<std::size_t>(kMaxQueryBytes / most_bytes, 1), most_with_room(view.mirror->ref(), k));
  const std::size_t at_once =
      part_size(positions.size(), std::clamp<std::size_t>(kMaxHits / k, 1, std::min(kMaxQueries, fitting)));
  for (std::size_t first = 0; first < positions.size(); first += at_once) {
    look_after_a_while(watch);
    const std::size_t count = std::min(at_once, positions.size() - first);
    search_at_once(view, queries, positions.subspan(first, count), k, results);
    count_answered(watch, count);
  }
}

void BatchSearch::search_at_once(const MirrorView& view, std::span<const Query> queries,
                                 std::span<const std::size_t> positions, std::size_t k,
                                 std::span<SearchResult> results) const {
  const auto start = std::chrono::steady_clock::now();
  const Snapshot& snapshot = *view.snapshot;
  std::unique_ptr<Workspace> workspace = pool_.take();
  const cudaStream_t stream = workspace->stream().get();
  const std::size_t count = positions.size();
  const bool may_skip = !attributes_with_gaps(snapshot).empty();
  const std::size_t stride = stride_of(queries, positions, snapshot.num_attributes(), may_skip);
  const bool may_be_filtered =
      may_skip || std::ranges::any_of(positions, [&](std::size_t q) {
        return queries[q].where.kind() != Filter::Kind::everything || needs_functions(queries[q]);
      });
  const bool may_have_functions =
      std::ranges::any_of(positions, [&](std::size_t q) { return needs_functions(queries[q]); });
  std::span<const RankSteps> curves;
  if (std::ranges::any_of(positions, [&](std::size_t q) { return queries[q].scale == Scale::rank; }))
    curves = view.mirror->rank_curves(snapshot, stream);
  const MirrorRef& mirror = view.mirror->ref();
  const std::size_t most_swept = may_have_functions ? 0 : most_to_sweep(mirror, count, k);
  Workspace::Batch& memory =
      workspace->reserve_batch(stride * count, count * k, count, most_swept * sweep_bytes_each(mirror, k));
  // Each is packed as soon as it is resolved: resolved queries are large, and memory for thousands would cost more
  // than the search.
  PartList parts(may_be_filtered ? count : 0);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    const FloatingPointScope floating_point;
    const ResolvedQuery query = resolve(queries[positions[i]], snapshot);
    pack_query(query, memory.packed.data() + i * stride);
    if (may_be_filtered)
      parts.set(i, may_have_functions ? pack_functions(query, curves) : pack_predicate(query.filter));
  });
  const std::vector<std::byte> joined = parts.join();
  const std::byte* on_device = workspace->send_parts(joined);
  parts.for_each([&](std::size_t i, std::size_t offset) {
    set_parts(memory.packed.data() + i * stride, on_device + offset);
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
                          make_sweep(mirror, memory.sweep.data(), most_swept, k),
                          may_have_functions ? QueryKind::with_functions
                          : !joined.empty()  ? QueryKind::filtered
                                             : QueryKind::plain,
                          nullptr};
  visit_rows(snapshot, mirror, [&]<typename T>(T) { launch_batch<T>(mirror, batch, limits_, stream); });
  workspace->stream().synchronize_politely();
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    SearchResult& result = results[positions[i]];
    const Candidate* first = memory.hits.data() + i * k;
    result.hits.resize(memory.work.data()[i].num_hits);
    std::transform(first, first + memory.work.data()[i].num_hits, result.hits.begin(),
                   [&](const Candidate& candidate) { return to_hit(candidate, *view.mirror); });
    const PackedHeader& query = QueryRef{memory.packed.data() + i * stride}.header();
    add_work(
        memory.work.data()[i],
        static_cast<std::size_t>(query.num_terms) + static_cast<std::size_t>(query.num_ranges),
        static_cast<std::size_t>(query.num_bound_terms) + static_cast<std::size_t>(query.num_capped_terms),
        snapshot, result.stats);
  });
  const double elapsed = microseconds_since(start);
  for (const std::size_t q : positions) results[q].stats.elapsed_us = elapsed / static_cast<double>(count);
  pool_.give_back(std::move(workspace));
}

}  // namespace culmen::gpu
