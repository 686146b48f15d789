// The frame of every method: memory in the workspace, and the conversion of ranks to rows.
#pragma once

#include <algorithm>

#include "select/radix_sort.cuh"
#include "select/selection.cuh"

namespace culmen::select {

// From this share of all rows on a sort of everything is faster than `sample`: its passes do not grow with k.
template <typename Rank>
bool sort_is_fastest(const Selection<Rank>& selection) {
  constexpr std::uint32_t kSortedShare = 4;
  return selection.k > kBlockSorted && selection.k > selection.num_rows / kSortedShare;
}

// After a method that ends with take(): the ranks, best first, if they are not yet written as rows; else null.
template <typename Rank>
const Rank* sorted_if_many(const Selection<Rank>& selection) {
  if (writes_rows(selection.k)) return nullptr;
  Rank* ranks = selection.taken.ranks;
  return radix_sort(ranks, ranks + selection.k, selection.k, 0, selection.workspace, selection.stream);
}

template <typename Source>
__global__ void __launch_bounds__(kThreads)
    write_rows(const Source source, const typename Source::Rank* ranks, std::uint32_t num_ranks,
               std::uint32_t k, SelectedRow* rows) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i < k) write_row(source, i < num_ranks ? ranks[i] : 0, rows[i]);
}

// `method`: from a Selection to the ranks, best first, that are not yet written as rows, or null. k and num_rows are
// at least 1.
template <typename Source, typename Method>
const SelectedRow* select_from(const Source& source, std::uint32_t num_rows, std::uint32_t k,
                               Workspace& workspace, cudaStream_t stream, const Method& method) {
  using Rank = typename Source::Rank;
  cuda::grow(workspace.counters, sizeof(Counters), cuda::Memory::device);
  cuda::grow(workspace.taken, std::size_t{2} * std::max(k, kBlockSorted) * sizeof(Rank),
             cuda::Memory::device);
  cuda::grow(workspace.rows, k, cuda::Memory::device);
  auto* counters = reinterpret_cast<Counters*>(workspace.counters.data());
  const Taken<Rank> taken = {reinterpret_cast<Rank*>(workspace.taken.data()), workspace.rows.data()};
  cuda::check(cudaMemsetAsync(counters, 0, sizeof(Counters), stream));
  if (!writes_rows(k)) cuda::check(cudaMemsetAsync(taken.ranks, 0, k * sizeof(Rank), stream));
  const Rank* best = method(Selection<Rank>{k, num_rows, counters, taken, workspace, stream});
  if (best != nullptr)
    cuda::launch(write_rows<Source>, {.num_blocks = (k - 1) / kThreads + 1, .num_threads = kThreads}, stream,
                 source, best, std::min(k, num_rows), k, workspace.rows.data());
  return workspace.rows.data();
}

}  // namespace culmen::select
