// AsyncSearch: batches whose weights and answers are in device memory. The host only enqueues.
//
// For each part of a batch, on the context's stream: plans (plan_queries.h), the batch engine (engines.h), answers
// (write_answers.h).
#pragma once

#include "culmen/device.h"
#include "gpu/mirror/mirror_version.h"
#include "gpu/search/context.h"
#include "gpu/search/engines.h"
#include "gpu/search/plan_queries.h"
#include "query/resolved_query.h"

namespace culmen::gpu {

class AsyncSearch {
 public:
  explicit AsyncSearch(const cuda::Limits& limits) : limits_(limits) {}

  // DeviceIndex::search_async; the context is of the current device, and holds the view until the work is
  // done. shared_bounds: as in BatchRef, of all queries.
  void enqueue(const MirrorView& view, const DeviceBatch& batch, const DeviceAnswers& answers,
               Context& context, double* shared_bounds = nullptr) const;

  // Throws InvalidArgument for a k out of range and null pointers.
  static void check(const DeviceBatch& batch, const DeviceAnswers& answers);

 private:
  // A part of a batch: its queries, its weights and where its answers go.
  struct Part {
    const double* weights = nullptr;
    DeviceAnswers answers;
    std::uint32_t num_queries = 0;
    std::uint32_t query_stride = 0;
    std::size_t term_bytes = 0;  // of each query; 0: the table is not wide
    std::uint32_t k = 0;
    std::size_t most_swept = 0;
    double* shared_bounds = nullptr;
  };
  // Without predicates.
  static PlanOptions plan_options(const Snapshot& snapshot, const DeviceBatch& batch,
                                  const ResolvedQuery& filter);
  void enqueue_part(const MirrorView& view, const Part& part, const PlanOptions& options, std::byte* scratch,
                    cudaStream_t stream) const;

  cuda::Limits limits_;
};

}  // namespace culmen::gpu
