// AsyncSearch: batches whose weights and answers are in device memory, without the host in between.
//
// Three kernels a part, one after the other on the context's stream: plans (plan_queries.h), the batch engine
// (engines.h), answers (write_answers.h).
#pragma once

#include "culmen/device.h"
#include "index/snapshot.h"
#include "query/cuda/buffer.h"
#include "query/gpu/context.h"
#include "query/gpu/engines.h"
#include "query/gpu/mirror.h"
#include "query/gpu/plan_queries.h"

namespace culmen::gpu {

class AsyncSearch {
 public:
  // On the current device. `snapshot` and `mirror`, which is null if the snapshot has no rows, outlive this.
  AsyncSearch(const Snapshot& snapshot, const Mirror* mirror, const Grid& grid);

  // DeviceIndex::search_async; the context is one of this device, which is current.
  void enqueue(const DeviceBatch& batch, const DeviceAnswers& answers, Context& context) const;

 private:
  // A part of a batch: its queries, its weights and where its answers go.
  struct Part {
    const double* weights = nullptr;
    DeviceAnswers answers;
    std::uint32_t num_queries = 0;
    std::uint32_t query_stride = 0;
    std::uint32_t k = 0;
  };
  PlanOptions plan_options(const DeviceBatch& batch) const;
  void enqueue_part(const Part& part, const PlanOptions& options, std::byte* scratch,
                    cudaStream_t stream) const;

  const Snapshot& snapshot_;
  const Mirror* mirror_;
  Grid grid_;
  cuda::Buffer<PlanBasis> basis_;
};

}  // namespace culmen::gpu
