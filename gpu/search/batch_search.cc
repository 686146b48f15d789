#include "gpu/search/batch_search.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/floating_point_scope.h"
#include "gpu/search/pack_predicate.h"
#include "gpu/search/pack_query.h"
#include "gpu/search/work_stats.h"
#include "query/resolve.h"

namespace culmen::gpu {
namespace {

// Queries and hits on the device at once, at most.
constexpr std::size_t kMaxQueries = 1 << 14;
constexpr std::size_t kMaxHits = 1 << 20;

// Whether the version misses values of attributes.
bool has_gaps(const Snapshot& snapshot) {
  for (std::int32_t i = 0; i < snapshot.num_attributes(); ++i)
    if (gaps_of_index(snapshot, i).some_missing != 0) return true;
  return false;
}

// Room for any of the queries, packed.
std::size_t stride_of(std::span<const Query> queries, std::span<const std::size_t> positions,
                      int num_attributes, bool has_gaps) {
  std::size_t num_ranges = 0;
  for (const std::size_t q : positions)
    num_ranges = std::max(num_ranges, max_ranges_of(queries[q].where, has_gaps));
  return packed_stride(num_attributes,
                       static_cast<int>(std::min(num_ranges, static_cast<std::size_t>(num_attributes))));
}

// The predicates of a batch's queries one after the other, equal ones once.
class PredicateList {
 public:
  // For queries that may have one; none: no query has.
  explicit PredicateList(std::size_t num_queries) : predicates_(num_queries) {}

  // By any thread, for different queries.
  void set(std::size_t i, std::vector<std::byte> predicate) { predicates_[i] = std::move(predicate); }

  std::vector<std::byte> join() {
    std::vector<std::byte> joined;
    std::unordered_map<std::string_view, std::size_t> known;
    offsets_.assign(predicates_.size(), kNone);
    for (std::size_t i = 0; i < predicates_.size(); ++i) {
      if (predicates_[i].empty()) continue;
      const std::string_view bytes(reinterpret_cast<const char*>(predicates_[i].data()),
                                   predicates_[i].size());
      const auto [place, is_new] = known.emplace(bytes, joined.size());
      if (is_new) joined.insert(joined.end(), predicates_[i].begin(), predicates_[i].end());
      offsets_[i] = place->second;
    }
    return joined;
  }

  // After join(): calls use(query, offset) for each query that has one.
  template <typename Use>
  void for_each(Use&& use) const {
    for (std::size_t i = 0; i < offsets_.size(); ++i)
      if (offsets_[i] != kNone) use(i, offsets_[i]);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  std::vector<std::vector<std::byte>> predicates_;
  std::vector<std::size_t> offsets_;
};

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
  const bool skips = has_gaps(snapshot);
  const std::size_t stride = stride_of(queries, positions, snapshot.num_attributes(), skips);
  const bool may_be_filtered = skips || std::ranges::any_of(positions, [&](std::size_t q) {
                                 return queries[q].where.kind() != Filter::Kind::everything;
                               });
  const MirrorRef& mirror = view.mirror->ref();
  const std::size_t most_swept = most_to_sweep(mirror, count, k);
  Workspace::Batch& memory =
      workspace->reserve_batch(stride * count, count * k, count, most_swept * sweep_bytes_each(mirror, k));
  // Each is packed as soon as it is resolved: resolved queries are large, and memory for thousands would cost more
  // than the search.
  PredicateList predicates(may_be_filtered ? count : 0);
  tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) {
    const FloatingPointScope floating_point;
    const ResolvedQuery query = resolve(queries[positions[i]], snapshot);
    pack_query(query, memory.packed.data() + i * stride);
    if (may_be_filtered) predicates.set(i, pack_predicate(query.filter));
  });
  const std::vector<std::byte> joined = predicates.join();
  const std::byte* on_device = workspace->send_predicates(joined);
  predicates.for_each([&](std::size_t i, std::size_t offset) {
    set_predicate(memory.packed.data() + i * stride,
                  reinterpret_cast<const PackedPredicate*>(on_device + offset));
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
                          !joined.empty()};
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
