// A thread plans one query: a few hundred operations, with nothing to share. The chain's own code is in query/chain.h.
#include "gpu/cuda/launch.h"
#include "gpu/search/plan_queries.h"
#include "gpu/search/query_writer.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 32;  // few, so that a batch of thousands is on all multiprocessors

// The query's weights, oriented, without those that are 0. Returns how many, 0 if one is not finite.
__device__ int take_weights(const double* weights, const PlanBasis& basis, Term* terms) {
  int num_terms = 0;
  const Preference* preferences = basis.preferences();
  for (int i = 0; i < basis.layout.num_attributes(); ++i) {
    const double weight = preferences[i] == Preference::low ? -weights[i] : weights[i];
    if (!isfinite(weight)) return 0;
    if (weight != 0) terms[num_terms++] = {i, weight};
  }
  return num_terms;
}

__device__ void write_capped(const ScoreChain& chain, BoundBasis basis, const PlanOptions& options,
                             QueryWriter& writer) {
  if (options.num_ranges == 0 || !has_room_for_caps(chain.num_terms)) return;
  RangePredicate caps[kMaxPackedRanges];
  for (std::uint32_t r = 0; r < options.num_ranges; ++r)
    caps[r] = {options.ranges[r].attribute, options.ranges[r].minimum, options.ranges[r].maximum};
  basis.caps = caps;
  basis.num_caps = static_cast<int>(options.num_ranges);
  if (!is_capped(chain, basis)) return;
  const BoundStart start = bound_start(chain, basis);
  writer.begin_capped(start.base);
  append_bound_terms(chain, start, basis, writer);
}

// Returns false, and writes nothing, if no row misses an attribute that the query ranks.
__device__ bool write_ranked_gaps(const ScoreChain& chain, const PlanOptions& options, QueryWriter& writer) {
  const AttributeBits gaps = {options.gaps, options.num_gap_words};
  bool some = false;
  for (int t = 0; t < chain.num_terms; ++t)
    some |= gaps.has(static_cast<std::uint32_t>(chain.terms[t].attribute));
  int t = 0;
  for (int word = 0; some && word < options.num_gap_words; ++word) {
    std::uint64_t ranked = 0;
    for (; t < chain.num_terms && chain.terms[t].attribute / 64 == word; ++t)
      ranked |= options.gaps[word] & std::uint64_t{1} << chain.terms[t].attribute % 64;
    writer.push_back(ranked);
  }
  return some;
}

__device__ void write_query(const ScoreChain& chain, const BoundBasis& basis, const PlanOptions& options,
                            QueryWriter& writer) {
  for (int t = 0; t < chain.num_terms; ++t) writer.push_back(chain.terms[t]);
  const BoundStart start = bound_start(chain, basis);
  append_bound_terms(chain, start, basis, writer);
  write_capped(chain, basis, options, writer);
  for (std::uint32_t r = 0; r < options.num_ranges; ++r) writer.push_back(options.ranges[r]);
  writer.set_parts(write_ranked_gaps(chain, options, writer) ? options.ranked_predicate : options.predicate);
  writer.finish(chain.offset, options.min_score, start);
}

__global__ void __launch_bounds__(kThreads)
    plan_queries(const PlanRequest request, const __grid_constant__ PlanOptions options) {
  const std::uint32_t q = blockIdx.x * kThreads + threadIdx.x;
  if (q >= request.num_queries) return;
  const PlanBasis& basis = *request.basis;
  const std::size_t first = std::size_t{q} * basis.layout.num_attributes();
  const double* weights = request.weights + first;
  Term few[kMaxSharedAttributes];
  Term* terms = request.terms == nullptr ? few : request.terms + first;
  const ScoreChain chain = {terms, take_weights(weights, basis, terms), 0.0};
  QueryWriter writer(request.queries + std::size_t{q} * request.query_stride);
  if (chain.num_terms == 0 || !isfinite(largest_score(chain, basis.stats_of(options.fills)))) {
    writer.refuse();
  } else {
    write_query(chain, basis.bounds(options.fills), options, writer);
  }
}

}  // namespace

void launch_plan_queries(const PlanRequest& request, const PlanOptions& options, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = (request.num_queries + kThreads - 1) / kThreads,
                             .num_threads = kThreads};
  cuda::launch(plan_queries, shape, stream, request, options);
}

}  // namespace culmen::gpu
