// network: a bitonic sort of all rows, one pass over memory per step.
#include <bit>

#include "bench/select/bitonic_step.cuh"

namespace culmen::select {

template <typename Source>
const typename Source::Rank* select_by_network(const Source& source,
                                               const Selection<typename Source::Rank>& selection) {
  const std::uint64_t size = std::bit_ceil(std::uint64_t{selection.num_rows});
  auto* ranks = selection.ranks(size);
  cuda::launch(write_ranks<Source>, {.num_blocks = num_blocks_of_grid(), .num_threads = kThreads},
               selection.stream, source, size, ranks);
  sort_pieces(ranks, size, size, selection.stream);
  return ranks;
}

CULMEN_INSTANTIATE_METHOD(CULMEN_RANKS, select_by_network);

}  // namespace culmen::select
