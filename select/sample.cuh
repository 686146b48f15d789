// sample: takes a k-th score bound from a sample of the input, and then reads the input once, whatever its order.
#pragma once

#include <algorithm>
#include <cmath>

#include "select/extremes.cuh"
#include "select/selection.cuh"

namespace culmen::select {
namespace sample {

// More for large k, so that the k-th score bound is near the k-th best.
inline constexpr std::uint32_t kMinSamples = 1 << 16;
inline constexpr std::uint32_t kMaxSamples = 1 << 20;
inline constexpr std::uint32_t kSamplesPerRow = 8;
// Of fewer rows, all are candidates.
inline constexpr std::uint32_t kMinRows = 1 << 18;

struct SampleShape {
  std::uint32_t num_samples = 0;  // 0: no sample, every row is a candidate
  std::uint32_t wanted = 0;       // the k-th score bound is the sample's wanted-th best
  std::uint32_t capacity = 0;     // room for candidates
};

// The k-th score bound need not be exact: a quarter more candidates saves passes over the sample.
constexpr __host__ __device__ std::uint32_t most_of_sample(std::uint32_t wanted) {
  return wanted + wanted / 4 + 4;
}

// k rows are wanted. A sample that is a share f of all rows is expected to have f k of them, with a standard
// deviation of sqrt(f k) at most. Six deviations are added, and some for small k: a k-th score bound that is too high
// costs a second pass over the input, once in 10^9 calls for large f k, more rarely for small.
inline SampleShape shape_of(std::uint32_t num_rows, std::uint32_t k) {
  const std::uint32_t num_samples = std::min(
      num_rows / 4, std::clamp(k > kMaxSamples ? kMaxSamples : kSamplesPerRow * k, kMinSamples, kMaxSamples));
  const double share = static_cast<double>(num_samples) / num_rows;
  const double expected = share * k;
  const double wanted = std::ceil(expected + 6 * std::sqrt(expected) + 8);
  if (num_rows < kMinRows || wanted > num_samples / 4) return {.capacity = num_rows};
  const double candidates = (1.25 * wanted + 6 * std::sqrt(wanted) + 20) / share;
  return {.num_samples = num_samples,
          .wanted = static_cast<std::uint32_t>(wanted),
          .capacity = static_cast<std::uint32_t>(std::min(candidates, static_cast<double>(num_rows)))};
}

// One row of each of num_samples equal pieces of the input, at a hashed position, so that no regular order of the
// input matches the positions.
template <typename Source>
struct Sampled {
  using Rank = typename Source::Rank;
  static constexpr int kRun = 1;

  Source source;
  std::uint32_t num_samples;

  __device__ std::uint32_t size() const { return num_samples; }
  __device__ Rank rank(std::uint32_t i) const {
    const std::uint32_t piece = source.size() / num_samples;
    std::uint32_t hash = i * 0x9e3779b9u;
    hash = (hash ^ (hash >> 15)) * 0x85ebca6bu;
    hash ^= hash >> 13;
    return source.rank(i * piece + __umulhi(hash * 0xc2b2ae35u, piece));
  }
  __device__ void run(std::uint32_t i, Rank* ranks) const { run_by_rank(*this, i, ranks); }
};

// Appends the candidates and returns the range of their ranks. `of_blocks`: one for each block.
template <typename Source>
__device__ Interval<typename Source::Rank> append_candidates(const Source& source,
                                                             typename Source::Rank kth_bound,
                                                             const SampleShape& shape, Counters& counters,
                                                             typename Source::Rank* candidates,
                                                             Extremes<typename Source::Rank>* of_blocks) {
  typename Source::Rank highest = kth_bound;
  append_within_bound(source, kth_bound, counters.num_candidates, shape.capacity, candidates, highest);
  return interval_of(grid_extremes({kth_bound, highest}, of_blocks));
}

template <typename Source>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    sample_select(const Source source, std::uint32_t k, const SampleShape shape, Counters* counters,
                  Extremes<typename Source::Rank>* of_blocks, typename Source::Rank* candidates,
                  const Taken<typename Source::Rank> taken) {
  using Rank = typename Source::Rank;
  std::uint32_t(*bins)[kMaxBins] = counters->bins;
  Threshold<Rank> kth_bound = {Rank{1}, 0};
  if (shape.num_samples > 0)
    kth_bound = find_threshold<kMaxDigitBits>(Sampled<Source>{source, shape.num_samples}, shape.wanted,
                                              most_of_sample(shape.wanted), {}, bins);
  Interval<Rank> within = append_candidates(source, kth_bound.rank, shape, *counters, candidates, of_blocks);
  const Ranks<Rank> all = {candidates, &counters->num_candidates, shape.capacity};
  const std::uint32_t count = __ldcg(&counters->num_candidates);
  if (count > shape.capacity || (count < k && kth_bound.rank > Rank{1})) {  // the sample was misleading
    kth_bound = find_threshold<kMaxDigitBits>(source, k, shape.capacity, {}, bins);
    if (blockIdx.x == 0 && threadIdx.x == 0) counters->num_candidates = 0;
    sync_grid();
    within = append_candidates(source, kth_bound.rank, shape, *counters, candidates, of_blocks);
  }
  const Threshold<Rank> best = find_threshold<kMaxDigitBits>(all, k, most_to_sort(k), within, bins);
  take(source, all, best.rank, k, *counters, taken);
}

}  // namespace sample

template <typename Source>
void select_by_sample(const Source& source, const Selection<typename Source::Rank>& selection) {
  using Rank = typename Source::Rank;
  const sample::SampleShape shape = sample::shape_of(selection.num_rows, selection.k);
  const cuda::Shape grid = cooperative_shape(selection.workspace.most_blocks);
  auto* of_blocks = reinterpret_cast<Extremes<Rank>*>(selection.more_ranks(std::size_t{2} * grid.num_blocks));
  cuda::launch(sample::sample_select<Source>, grid, selection.stream, source, selection.k, shape,
               selection.counters, of_blocks, selection.ranks(shape.capacity), selection.taken);
}

}  // namespace culmen::select
