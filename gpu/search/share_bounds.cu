#include <cmath>

#include "gpu/cuda/launch.h"
#include "gpu/search/share_bounds.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 128;

// k rows of another part reach its bound: a row below it is not among the k best of all parts. One at it may be.
__global__ void __launch_bounds__(kThreads) share_bounds(const BatchRef batch) {
  const std::uint32_t entry = blockIdx.x * kThreads + threadIdx.x;
  if (entry >= min(batch.counters->num_handed_over, batch.sweep.most)) return;
  SweepQuery& query = batch.sweep.queries[entry];
  volatile double* shared = batch.shared_bounds + query.query;
  const double theirs = *shared;
  if (theirs > query.kth_bound) {
    query.kth_bound = theirs;
  } else if (theirs < query.kth_bound) {
    *shared = query.kth_bound;
  }
}

__global__ void __launch_bounds__(kThreads) clear_bounds(double* bounds, std::uint32_t num_queries) {
  const std::uint32_t q = blockIdx.x * kThreads + threadIdx.x;
  if (q < num_queries) bounds[q] = -HUGE_VAL;
}

}  // namespace

void launch_share_bounds(const BatchRef& batch, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = (batch.sweep.most + kThreads - 1) / kThreads,
                             .num_threads = kThreads};
  cuda::launch(share_bounds, shape, stream, batch);
}

void launch_clear_bounds(double* bounds, std::uint32_t num_queries, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = (num_queries + kThreads - 1) / kThreads, .num_threads = kThreads};
  cuda::launch(clear_bounds, shape, stream, bounds, num_queries);
}

}  // namespace culmen::gpu
