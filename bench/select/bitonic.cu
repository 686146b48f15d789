// bitonic: bitonic top-k (Shanbhag, Pirk, Madden 2018), for 64-bit and 128-bit ranks. Each thread sorts the ranks that it
// reads by a network in registers, and threads exchange ranks to sort runs of k. A new run and the best run so far form a
// bitonic sequence; the larger ranks of its pairs are the k best of both, and bitonic again. The comparisons do not
// depend on the data, so the time does not either.
//
// The paper keeps runs in shared memory and reduces each tile to one run, which it writes. Here a thread block keeps its
// best run in registers from its first row to its last. bench/ladder/select has the steps in between, and a variant that
// skips rows that cannot be among the k best.
#include <bit>

#include "bench/select/bitonic_step.cuh"
#include "bench/select/runs.cuh"

namespace culmen::select {

template <typename Source>
const typename Source::Rank* select_by_bitonic(const Source& source,
                                               const Selection<typename Source::Rank>& selection) {
  const std::uint64_t length = std::bit_ceil(std::uint64_t{selection.k});
  if (length > kTileRanks<typename Source::Rank>) return best_run_in_memory(source, selection, length);
  return best_run<BestOfAll>(source, selection, static_cast<std::uint32_t>(length));
}

CULMEN_INSTANTIATE_METHOD(CULMEN_RANKS, select_by_bitonic);

}  // namespace culmen::select
