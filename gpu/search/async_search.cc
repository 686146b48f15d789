#include "gpu/search/async_search.h"

#include <algorithm>
#include <string>
#include <vector>

#include "culmen/error.h"
#include "gpu/cuda/write_bytes.h"
#include "gpu/search/pack_predicate.h"
#include "gpu/search/pack_query.h"
#include "gpu/search/write_answers.h"
#include "index/snapshot_fields.h"
#include "query/bound_plan.h"
#include "query/resolve.h"

namespace culmen::gpu {
namespace {

static_assert(kMaxDeviceK == kMaxSortedHits);

// Queries of a part, at most; more at once are not faster.
constexpr std::size_t kMaxPartQueries = 1 << 20;

// Of queries to a table: their packed form and, if it is wide, terms that their plans are made of.
struct QueryRoom {
  std::size_t stride, term_bytes;
};
QueryRoom query_room(int num_attributes, const PlanOptions& options) {
  const bool is_wide = num_attributes > kMaxSharedAttributes;
  return {packed_stride(num_attributes, static_cast<int>(options.num_ranges), options.num_gap_words > 0),
          is_wide ? static_cast<std::size_t>(num_attributes) * sizeof(Term) : 0};
}

// Scratch memory: the predicates of the batch. Then, of a part, the counters; for each query k hits, its result, its
// QueryRoom; then sweep_bytes_each() for as many queries as there is room for.
constexpr std::size_t kSweepAlignment = 16;
constexpr std::size_t kCounterBytes = (sizeof(BatchCounters) + 7) / 8 * 8;  // aligns what follows to 8
constexpr std::size_t bytes_each(const QueryRoom& query, std::size_t k) {
  return query.stride + query.term_bytes + sizeof(ResultHeader) + k * sizeof(Candidate);
}
constexpr std::size_t scratch_bytes(std::size_t num_queries, const QueryRoom& query, std::size_t k) {
  return kCounterBytes + num_queries * bytes_each(query, k) + kSweepAlignment;
}
std::byte* aligned_for_sweep(std::byte* memory) {
  return memory +
         (kSweepAlignment - reinterpret_cast<std::uintptr_t>(memory) % kSweepAlignment) % kSweepAlignment;
}

// Queries of a batch in one part. shared_bytes: of the batch, beside its parts.
std::size_t queries_at_once(std::size_t num_queries, const QueryRoom& query, std::size_t k,
                            std::size_t shared_bytes, std::size_t max_scratch_bytes) {
  const std::size_t needed = shared_bytes + scratch_bytes(1, query, k);
  if (max_scratch_bytes < needed)
    throw InvalidArgument("ContextOptions::scratch_bytes is " + std::to_string(max_scratch_bytes) +
                          ", but one query of this k needs " + std::to_string(needed) +
                          ": give at least that");
  const std::size_t fitting =
      (max_scratch_bytes - shared_bytes - scratch_bytes(0, query, k)) / bytes_each(query, k);
  return std::min({num_queries, fitting, kMaxPartQueries});
}

}  // namespace

void AsyncSearch::check(const DeviceBatch& batch, const DeviceAnswers& answers) {
  if (batch.k == 0 || batch.k > kMaxDeviceK)
    throw InvalidArgument("k is " + std::to_string(batch.k) + "; search_async takes 1 to " +
                          std::to_string(kMaxDeviceK));
  if (batch.num_queries == 0) return;
  if (batch.weights == nullptr) throw InvalidArgument("DeviceBatch::weights is null");
  if (answers.ids == nullptr || answers.scores == nullptr || answers.counts == nullptr)
    throw InvalidArgument("DeviceAnswers has a null pointer; ids, scores and counts are all written");
}

void AsyncSearch::enqueue(const MirrorView& view, const DeviceBatch& batch, const DeviceAnswers& answers,
                          Context& context, double* shared_bounds) const {
  check(batch, answers);
  ResolvedQuery filter;
  resolve_filter(batch.where, *view.snapshot, filter);
  PlanOptions options = plan_options(*view.snapshot, batch, filter);
  if (batch.num_queries == 0) return;
  std::vector<std::byte> predicates = pack_predicate(filter.filter);
  const std::size_t ranked_at = predicates.size();
  if (options.num_gap_words > 0) {
    const std::vector<std::byte> ranked = pack_predicate(filter.filter, true);
    predicates.insert(predicates.end(), ranked.begin(), ranked.end());
  }
  const int num_attributes = view.snapshot->num_attributes();
  const QueryRoom room = query_room(num_attributes, options);
  const MirrorRef& mirror = view.mirror->ref();
  const std::size_t most = queries_at_once(std::min(batch.num_queries, most_with_room(mirror, batch.k)), room,
                                           batch.k, predicates.size(), context.max_scratch_bytes());
  const std::size_t at_once = part_size(batch.num_queries, most);
  const std::size_t part_bytes = predicates.size() + scratch_bytes(at_once, room, batch.k);
  const std::size_t most_swept =
      most_to_sweep(mirror, at_once, batch.k, context.max_scratch_bytes() - part_bytes);
  std::byte* scratch = context.scratch(part_bytes + most_swept * sweep_bytes_each(mirror, batch.k));
  const Context::Use use = context.use(view);
  if (!predicates.empty()) {
    cuda::write_bytes(predicates, scratch, context.stream());
    if (ranked_at > 0) options.predicate = reinterpret_cast<const PackedPredicate*>(scratch);
    if (options.num_gap_words > 0)
      options.ranked_predicate = reinterpret_cast<const PackedPredicate*>(scratch + ranked_at);
  }
  for (std::size_t first = 0; first < batch.num_queries; first += at_once) {
    const std::size_t position = first * batch.k;
    const Part part = {
        .weights = batch.weights + first * static_cast<std::size_t>(num_attributes),
        .answers = {answers.ids + position, answers.scores + position, answers.counts + first},
        .num_queries = static_cast<std::uint32_t>(std::min(at_once, batch.num_queries - first)),
        .query_stride = static_cast<std::uint32_t>(room.stride),
        .term_bytes = room.term_bytes,
        .k = static_cast<std::uint32_t>(batch.k),
        .most_swept = most_swept,
        .shared_bounds = shared_bounds == nullptr ? nullptr : shared_bounds + first};
    enqueue_part(view, part, options, scratch + predicates.size(), context.stream());
  }
}

PlanOptions AsyncSearch::plan_options(const Snapshot& snapshot, const DeviceBatch& batch,
                                      const ResolvedQuery& filter) {
  const PackedRanges ranges = packed_ranges(filter);
  PlanOptions options = {.min_score = resolve_min_score(batch.min_score),
                         .predicate = nullptr,
                         .ranked_predicate = nullptr,
                         .num_gap_words = 0,
                         .gaps = {},
                         .fills = batch.missing == Missing::fill,
                         .num_ranges = static_cast<std::uint32_t>(ranges.size()),
                         .ranges = {}};
  std::copy(ranges.begin(), ranges.end(), options.ranges);
  if (batch.missing != Missing::fill) {
    const std::vector<std::uint64_t> gaps = attributes_with_gaps(snapshot);
    std::copy(gaps.begin(), gaps.end(), options.gaps);
    options.num_gap_words = static_cast<std::int32_t>(gaps.size());
  }
  return options;
}

void AsyncSearch::enqueue_part(const MirrorView& view, const Part& part, const PlanOptions& options,
                               std::byte* scratch, cudaStream_t stream) const {
  auto* counters = reinterpret_cast<BatchCounters*>(scratch);
  auto* hits = reinterpret_cast<Candidate*>(scratch + kCounterBytes);
  auto* results = reinterpret_cast<ResultHeader*>(hits + std::size_t{part.num_queries} * part.k);
  auto* queries = reinterpret_cast<std::byte*>(results + part.num_queries);
  std::byte* terms = queries + std::size_t{part.num_queries} * part.query_stride;
  std::byte* sweep = aligned_for_sweep(terms + std::size_t{part.num_queries} * part.term_bytes);
  const MirrorRef& mirror = view.mirror->ref();
  const bool is_filtered = options.predicate != nullptr || options.ranked_predicate != nullptr;
  const BatchRef batch = {queries,
                          hits,
                          results,
                          counters,
                          part.num_queries,
                          part.query_stride,
                          part.k,
                          make_sweep(mirror, sweep, part.most_swept, part.k),
                          is_filtered ? QueryKind::filtered : QueryKind::plain,
                          part.shared_bounds};
  launch_plan_queries(
      {view.mirror->basis(), part.weights, part.term_bytes == 0 ? nullptr : reinterpret_cast<Term*>(terms),
       queries, part.num_queries, part.query_stride},
      options, stream);
  if (view.mirror->has_rows()) {
    cuda::check(cudaMemsetAsync(counters, 0, sizeof(BatchCounters), stream));
    visit_rows(view, [&]<typename T>(T) { launch_batch<T>(mirror, batch, limits_, stream); });
  } else {
    cuda::check(cudaMemsetAsync(results, 0, part.num_queries * sizeof(ResultHeader), stream));
  }
  launch_write_answers(batch, part.answers, stream);
}

}  // namespace culmen::gpu
