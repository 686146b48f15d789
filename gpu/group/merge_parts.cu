#include <algorithm>
#include <cmath>

#include "gpu/cuda/launch.h"
#include "gpu/group/merge_parts.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kMaxBlocks = 1 << 16;

// What one part has found for one query, best first.
struct FoundHits {
  const std::int64_t* ids;
  const double* scores;
  std::uint32_t count;
};

__device__ FoundHits found_hits(const PartsRef& parts, std::uint32_t part, std::uint64_t q) {
  const std::uint64_t list = std::uint64_t{part} * parts.num_queries + q;
  const std::uint32_t count = parts.counts[list];
  return {parts.ids + list * parts.k, parts.scores + list * parts.k, count == kInvalidQuery ? 0 : count};
}

// How many of the hits rank before this one, or are it (an index that is damaged may have an id twice) if `or_equal`.
__device__ std::uint32_t num_before(const FoundHits& hits, double score, std::int64_t id, bool or_equal) {
  std::uint32_t low = 0, high = hits.count;
  while (low < high) {
    const std::uint32_t middle = (low + high) / 2;
    const double there = hits.scores[middle];
    const std::int64_t other = hits.ids[middle];
    const bool is_before = there > score || (there == score && (other < id || (or_equal && other == id)));
    (is_before ? low : high) = is_before ? middle + 1 : middle;
  }
  return low;
}

// Of a hit, among those of all parts; k or more if it is not one of the k best.
__device__ std::uint32_t rank_in_all(const PartsRef& parts, std::uint32_t part, std::uint64_t q,
                                     std::uint32_t rank, double score, std::int64_t id) {
  for (std::uint32_t other = 0; other < parts.num_parts && rank < parts.k; ++other)
    if (other != part) rank += num_before(found_hits(parts, other, q), score, id, other < part);
  return rank;
}

// A thread takes one rank of one part's answer to one query at a time (a grid-stride loop), and finds the place of that
// hit among all. Those of the first part also write what no hit gets.
__global__ void __launch_bounds__(kThreads)
    merge_parts(const __grid_constant__ PartsRef parts, const __grid_constant__ DeviceAnswers answers) {
  const std::uint64_t num_entries = std::uint64_t{parts.num_queries} * parts.num_parts * parts.k;
  const std::uint64_t stride = std::uint64_t{gridDim.x} * kThreads;
  for (std::uint64_t entry = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x; entry < num_entries;
       entry += stride) {
    const auto rank = static_cast<std::uint32_t>(entry % parts.k);
    const auto part = static_cast<std::uint32_t>(entry / parts.k % parts.num_parts);
    const std::uint64_t q = entry / parts.k / parts.num_parts;
    const FoundHits hits = found_hits(parts, part, q);
    if (rank < hits.count) {
      const double score = hits.scores[rank];
      const std::int64_t id = hits.ids[rank];
      const std::uint32_t place = rank_in_all(parts, part, q, rank, score, id);
      if (place < parts.k) {
        answers.ids[q * parts.k + place] = id;
        answers.scores[q * parts.k + place] = score;
      }
    }
    if (part != 0) continue;
    std::uint64_t num_hits = hits.count;
    for (std::uint32_t other = 1; other < parts.num_parts; ++other)
      num_hits += found_hits(parts, other, q).count;
    if (rank >= num_hits) {
      answers.ids[q * parts.k + rank] = -1;
      answers.scores[q * parts.k + rank] = -HUGE_VAL;
    }
    if (rank != 0) continue;
    const bool is_refused = parts.counts[q] == kInvalidQuery;
    answers.counts[q] =
        is_refused ? kInvalidQuery : static_cast<std::uint32_t>(min(num_hits, std::uint64_t{parts.k}));
  }
}

}  // namespace

void launch_merge_parts(const PartsRef& parts, const DeviceAnswers& answers, cudaStream_t stream) {
  const std::uint64_t num_entries = std::uint64_t{parts.num_queries} * parts.num_parts * parts.k;
  const cuda::Shape shape = {
      .num_blocks = static_cast<unsigned>(std::min(kMaxBlocks, (num_entries + kThreads - 1) / kThreads)),
      .num_threads = kThreads};
  cuda::launch(merge_parts, shape, stream, parts, answers);
}

}  // namespace culmen::gpu
