// heaps: every thread keeps the k best of its share of the rows in a heap, the worst on top. The heaps of a warp are
// interleaved: entry j of all of them is contiguous.
#include <algorithm>

#include "bench/select/methods.cuh"

namespace culmen::select {
namespace {

constexpr std::uint64_t kMaxHeapRanks = std::uint64_t{1} << 28;

// Replaces the worst rank by `rank`, which is better, and returns the new worst.
template <typename Rank>
__device__ Rank replace_worst(Rank* heap, std::uint64_t stride, std::uint32_t k, Rank rank) {
  std::uint32_t hole = 0;
  for (std::uint64_t child = 1; child < k; child = 2 * std::uint64_t{hole} + 1) {
    Rank least = heap[child * stride];
    if (child + 1 < k && heap[(child + 1) * stride] < least) least = heap[++child * stride];
    if (rank <= least) break;
    heap[hole * stride] = least;
    hole = static_cast<std::uint32_t>(child);
  }
  heap[hole * stride] = rank;
  return heap[0];
}

template <typename Source>
__global__ void __launch_bounds__(kThreads, kBlocksPerMultiprocessor)
    heap_select(const Source source, std::uint32_t k, std::uint32_t num_heaps, Counters* counters,
                typename Source::Rank* heaps, const Taken<typename Source::Rank> taken) {
  using Rank = typename Source::Rank;
  const std::uint32_t thread = blockIdx.x * kThreads + threadIdx.x;
  if (thread < num_heaps) {
    Rank worst = 0;
    for (std::uint64_t i = thread; i < source.size(); i += num_heaps) {
      const Rank rank = source.rank(static_cast<std::uint32_t>(i));
      if (rank > worst) worst = replace_worst(heaps + thread, num_heaps, k, rank);
    }
  }
  if (thread == 0) counters->num_candidates = num_heaps * k;
  sync_grid();
  std::uint32_t(*bins)[kMaxBins] = counters->bins;
  const Ranks<Rank> all = {heaps, &counters->num_candidates, num_heaps * k};
  const auto best = find_threshold<kMaxDigitBits>(all, k, most_to_sort(k), {}, bins);
  take(source, all, best.rank, k, *counters, taken);
}

}  // namespace

template <typename Source>
void select_by_heaps(const Source& source, const Selection<typename Source::Rank>& selection) {
  const cuda::Shape shape = cooperative_shape(selection.workspace.most_blocks);
  const std::uint64_t num_threads = std::uint64_t{shape.num_blocks} * kThreads;
  // The larger k, the fewer heaps; each but a single one gets at least k rows.
  const auto num_heaps = static_cast<std::uint32_t>(std::max<std::uint64_t>(
      1,
      std::min({num_threads, kMaxHeapRanks / selection.k, std::uint64_t{selection.num_rows / selection.k}})));
  const std::size_t size = std::size_t{num_heaps} * selection.k;
  auto* heaps = selection.ranks(size);
  cuda::check(cudaMemsetAsync(heaps, 0, size * sizeof *heaps, selection.stream));
  cuda::launch(heap_select<Source>, shape, selection.stream, source, selection.k, num_heaps,
               selection.counters, heaps, selection.taken);
}

CULMEN_INSTANTIATE_METHOD(CULMEN_NO_RANKS, select_by_heaps);

}  // namespace culmen::select
