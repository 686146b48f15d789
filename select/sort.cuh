// sort: writes and sorts all ranks.
#pragma once

#include "select/radix_sort.cuh"
#include "select/selection.cuh"

namespace culmen::select {

template <typename Source>
const typename Source::Rank* select_by_sort(const Source& source,
                                            const Selection<typename Source::Rank>& selection) {
  const std::size_t size = selection.num_rows;
  auto* ranks = selection.ranks(size);
  cuda::launch(write_ranks<Source>, {.num_blocks = num_blocks_of_grid(), .num_threads = kThreads},
               selection.stream, source, size, ranks);
  // Row numbers are in order already: the sort is stable.
  const int first_bit = source.has_ids() ? 0 : static_cast<int>(4 * sizeof *ranks);
  return radix_sort(ranks, selection.more_ranks(size), size, first_bit, selection.workspace,
                    selection.stream);
}

}  // namespace culmen::select
