// bitonic: bitonic top-k (Shanbhag, Pirk, Madden 2018), for 64-bit and 128-bit ranks. Each thread sorts what
// it reads by a network in registers; runs of k over several threads are sorted by exchanges between them; of
// a new run and the best so far, a bitonic sequence, the larger of each pair of places are the k best, and
// bitonic again. Which ranks are compared does not depend on any of them: as fast whatever the input.
//
// The paper keeps runs in shared memory and halves a tile to one run before it writes that. Here a block has
// its best run in registers from its first row to its last; bench/ladder/select has the steps between, and
// what comes of passing over rows that cannot be among the k best.
#include <algorithm>
#include <bit>
#include <utility>

#include "query/select/bitonic_step.cuh"
#include "query/select/runs.cuh"

namespace culmen::select {
namespace {

// Fewer registers: more blocks at once, as short runs are limited by memory and not by what they compare.
constexpr unsigned blocks_per_multiprocessor(int run, int owned) {
  return run < owned ? 4 : 2;
}

template <int kRun, typename Source>
__global__ void __launch_bounds__(kRunThreads, blocks_per_multiprocessor(kRun, kOwned<typename Source::Rank>))
    keep_best_runs(const Source source, std::uint32_t size, unsigned num_threads,
                   typename Source::Rank* out) {
  using Rank = typename Source::Rank;
  BestRuns<Rank, kRun> best(num_threads);
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * kTileRanks<Rank>; first < size;
       first += std::uint64_t{gridDim.x} * kTileRanks<Rank>) {
    Rank items[kOwned<Rank>];
    load_tile(source, first, size, items);
    best.take(items);
  }
  best.finish(out + std::size_t{blockIdx.x} * num_threads * kRun);
}

// Writes a run for each thread block and returns how many ranks that are.
template <int kRun, typename Source>
std::uint32_t launch(const Source& source, std::uint32_t size, unsigned num_threads,
                     typename Source::Rank* out, cudaStream_t stream) {
  using Rank = typename Source::Rank;
  constexpr std::uint32_t kTilesAtLeast = 8;  // of a block, whose run is a tile at most: 1/8 is left
  const unsigned num_blocks = std::min(blocks_per_multiprocessor(kRun, kOwned<Rank>) * num_blocks_of_grid(),
                                       (size - 1) / (kTilesAtLeast * kTileRanks<Rank>)+1);
  cuda::launch(keep_best_runs<kRun, Source>,
               {.num_blocks = num_blocks, .num_threads = kRunThreads, .shared_bytes = kExchangeBytes}, stream,
               source, size, num_threads, out);
  return num_blocks * num_threads * kRun;
}

template <int kRun, typename Source>
const typename Source::Rank* best_run(const Source& source, const Selection<typename Source::Rank>& selection,
                                      unsigned num_threads) {
  using Rank = typename Source::Rank;
  const std::size_t most = std::size_t{4} * num_blocks_of_grid() * num_threads * kRun;
  Rank* from = selection.more_ranks(most);
  Rank* to = selection.ranks(most);
  std::uint32_t size = launch<kRun>(source, selection.num_rows, num_threads, to, selection.stream);
  while (size > num_threads * kRun) {
    std::swap(from, to);
    size = launch<kRun>(HostRanks<Rank>{from}, size, num_threads, to, selection.stream);
  }
  return to;
}

}  // namespace

template <typename Source>
const typename Source::Rank* select_by_bitonic(const Source& source,
                                               const Selection<typename Source::Rank>& selection) {
  using Rank = typename Source::Rank;
  const std::uint64_t length = std::bit_ceil(std::uint64_t{selection.k});
  if (length > kTileRanks<Rank>) return best_run_in_memory(source, selection, std::uint64_t{length});
  if (length == 1) return best_run<1>(source, selection, 1);
  if (length <= 4) return best_run<4>(source, selection, 1);
  const auto num_threads = static_cast<unsigned>(length / kOwned<Rank>);
  return best_run<kOwned<Rank>>(source, selection, std::max(num_threads, 1u));
}

CULMEN_INSTANTIATE_METHOD(CULMEN_RANKS, select_by_bitonic);

}  // namespace culmen::select
