#include <algorithm>
#include <cmath>

#include "gpu/cuda/launch.h"
#include "gpu/search/write_answers.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMaxBlocks = 1 << 16;

// A thread writes one rank of one query's answer at a time (a grid-stride loop).
__global__ void __launch_bounds__(kThreads) write_answers(const BatchRef batch, const DeviceAnswers answers) {
  const std::uint64_t num_slots = std::uint64_t{batch.num_queries} * batch.k;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t entry = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; entry < num_slots;
       entry += stride) {
    const std::uint64_t q = entry / batch.k;
    const auto rank = static_cast<std::uint32_t>(entry % batch.k);
    const std::uint32_t num_hits = batch.results[q].num_hits;
    const bool is_hit = rank < num_hits;
    answers.ids[entry] = is_hit ? batch.hits[entry].id : -1;
    answers.scores[entry] = is_hit ? batch.hits[entry].score : -HUGE_VAL;
    if (rank != 0) continue;
    const QueryRef query = {batch.queries + q * batch.query_stride};
    answers.counts[q] = query.header().is_refused != 0 ? kInvalidQuery : num_hits;
  }
}

}  // namespace

void launch_write_answers(const BatchRef& batch, const DeviceAnswers& answers, cudaStream_t stream) {
  const std::uint64_t num_slots = std::uint64_t{batch.num_queries} * batch.k;
  const cuda::Shape shape = {
      .num_blocks = static_cast<unsigned>(std::min(kMaxBlocks, (num_slots + kThreads - 1) / kThreads)),
      .num_threads = kThreads};
  cuda::launch(write_answers, shape, stream, batch, answers);
}

}  // namespace culmen::gpu
