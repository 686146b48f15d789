// What a method works on, a Selection, and how its kernel ends: take() writes the rows that reach the threshold.
#pragma once

#include "select/grid.cuh"
#include "select/workspace.h"

namespace culmen::select {

// Where the k best are written.
template <typename Rank>
struct Taken {
  Rank* ranks;  // [max(k, kBlockSorted)]; zero if k is beyond kBlockSorted
  SelectedRow* rows;
};

// Returns true if take() writes the rows. Otherwise it writes ranks, in any order, with 0 after the last.
constexpr bool writes_rows(std::uint32_t k) {
  return k <= kBlockSorted;
}

template <typename R>
struct Selection {
  std::uint32_t k;
  std::uint32_t num_rows;
  Counters* counters;  // zero
  Taken<R> taken;
  Workspace& workspace;
  cudaStream_t stream;

  // Memory for `size` ranks, uninitialised.
  R* ranks(std::size_t size) const { return room(workspace.ranks, size); }
  R* more_ranks(std::size_t size) const { return room(workspace.more_ranks, size); }

 private:
  static R* room(cuda::Buffer<std::byte>& buffer, std::size_t size) {
    cuda::grow(buffer, size * sizeof(R), cuda::Memory::device);
    return reinterpret_cast<R*>(buffer.data());
  }
};

// The most ranks for the last sort if k are wanted: a few more than k save a pass.
__device__ inline std::uint32_t most_to_sort(std::uint32_t k) {
  return k > kBlockSorted ? k : min(kBlockSorted, k + max(k / 2, 64u));
}

template <typename Source>
__device__ void write_row(const Source& source, typename Source::Rank rank, SelectedRow& row) {
  if (rank == 0) {
    row = {0, 0, kNoRow};
  } else {
    source.write(rank, row);
  }
}

// The end of a kernel: takes the ranks that reach the threshold, at most most_to_sort(k) of them. If ids repeat there
// may be more: then rows are missing from the answer, but no write is out of bounds.
template <typename Source, typename From>
__device__ void take(const Source& source, const From& from, typename Source::Rank threshold, std::uint32_t k,
                     Counters& counters, const Taken<typename Source::Rank>& taken) {
  typename Source::Rank highest = 0;
  append_within_bound(from, threshold, counters.num_selected, max(k, kBlockSorted), taken.ranks, highest);
  if (k > kBlockSorted) return;
  sync_grid();
  if (blockIdx.x > 0) return;
  std::uint32_t size = 0;
  const auto* sorted = sort_in_block(taken.ranks, min(counters.num_selected, kBlockSorted), size);
  for (std::uint32_t i = threadIdx.x; i < k; i += blockDim.x)
    write_row(source, i < size ? sorted[i] : 0, taken.rows[i]);
}

// Writes the rank of every row, in order, and 0 up to `size`.
template <typename Source>
__global__ void __launch_bounds__(kThreads)
    write_ranks(const Source source, std::uint64_t size, typename Source::Rank* ranks) {
  const std::uint64_t num_threads = gridDim.x * std::uint64_t{kThreads};
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < size; i += num_threads)
    ranks[i] = i < source.size() ? source.rank(static_cast<std::uint32_t>(i)) : 0;
}

}  // namespace culmen::select
