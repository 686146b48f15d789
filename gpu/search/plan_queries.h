// Plans on the device: from users' weights in device memory to packed queries, with the bits of resolve() and
// pack_query() on the host.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "culmen/schema.h"
#include "gpu/mirror/plan_basis.h"
#include "gpu/search/packed_query.h"

namespace culmen::gpu {

// What all queries of a batch have in common.
struct PlanOptions {
  double min_score;  // -infinity: none
  // In device memory, of the filter: what ranges leave open (null: nothing), and the same with a test of
  // PackedTest::Kind::has_ranked, for queries that rank an attribute of `gaps`.
  const PackedPredicate* predicate;
  const PackedPredicate* ranked_predicate;
  std::int32_t num_gap_words;                        // 0: no row misses an attribute, or queries fill
  std::uint64_t gaps[gap_words_of(kMaxAttributes)];  // attributes that some row misses, a bit each
  bool fills;
  std::uint32_t num_ranges;
  PackedRange ranges[kMaxPackedRanges];  // of different attributes
};

struct PlanRequest {
  const PlanBasis* basis;  // device memory, as the others
  const double* weights;   // [num_queries][num_attributes]
  Term* terms;             // [num_queries][num_attributes], scratch; null: not more than kMaxSharedAttributes
  std::byte* queries;      // [num_queries] of query_stride bytes
  std::uint32_t num_queries;
  std::uint32_t query_stride;  // at least packed_stride()
};

// Enqueues the plans of a batch. If weights are not finite, all 0, or so large that a score could overflow, the query
// is packed as refused. Bytes after a query that is shorter than the stride are not written. Throws CudaError.
void launch_plan_queries(const PlanRequest& request, const PlanOptions& options, cudaStream_t stream);

}  // namespace culmen::gpu
