// bitonic: bitonic top-k (Shanbhag, Pirk, Madden 2018), for 64-bit and 128-bit ranks. Each thread sorts what
// it reads by a network in registers; runs of k over several threads are sorted by exchanges between them; of
// a new run and the best so far, a bitonic sequence, the larger of each pair of places are the k best, and
// bitonic again. Which ranks are compared does not depend on any of them: as fast whatever the input.
//
// The paper keeps runs in shared memory and halves a tile to one run before it writes that. Here a block has
// its best run in registers from its first row to its last; bench/ladder/select has the steps between, and
// what comes of passing over rows that cannot be among the k best.
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
