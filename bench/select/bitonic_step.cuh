// Steps of a bitonic network over ranks in memory.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include "bench/select/methods.cuh"

namespace culmen::select {

// `size` is a multiple of 2 * stride.
template <typename Rank>
__global__ void __launch_bounds__(kThreads)
    bitonic_step(Rank* ranks, std::uint64_t size, std::uint64_t length, std::uint64_t stride) {
  const std::uint64_t num_threads = gridDim.x * std::uint64_t{kThreads};
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < size / 2; i += num_threads)
    order_pair(ranks, i, length, stride);
}

// Sorts bitonic pieces of `length`.
template <typename Rank>
void sort_bitonic_pieces(Rank* ranks, std::uint64_t size, std::uint64_t length, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = 2 * num_blocks_of_grid(), .num_threads = kThreads};
  for (std::uint64_t stride = length / 2; stride > 0; stride /= 2)
    cuda::launch(bitonic_step<Rank>, shape, stream, ranks, size, length, stride);
}

// Sorts pieces of `length`, alternately larger first and smaller first.
template <typename Rank>
void sort_pieces(Rank* ranks, std::uint64_t size, std::uint64_t length, cudaStream_t stream) {
  for (std::uint64_t sorted = 2; sorted <= length; sorted *= 2)
    sort_bitonic_pieces(ranks, size, sorted, stream);
}

// Returns the i-th item of a half as long sequence: of each pair of neighbouring runs, the larger items at each offset.
template <typename Rank>
__device__ Rank larger_of_runs(const Rank* items, std::uint64_t i, std::uint64_t length) {
  const std::uint64_t first = 2 * i - (i & (length - 1));
  return items[first] < items[first + length] ? items[first + length] : items[first];
}

template <typename Rank>
__global__ void __launch_bounds__(kThreads)
    halve_runs(const Rank* ranks, std::uint64_t half, std::uint64_t length, Rank* out) {
  const std::uint64_t num_threads = gridDim.x * std::uint64_t{kThreads};
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < half; i += num_threads)
    out[i] = larger_of_runs(ranks, i, length);
}

// Returns the best run of `length`, a power of two. Every step of the network is a pass over memory.
template <typename Source>
const typename Source::Rank* best_run_in_memory(const Source& source,
                                                const Selection<typename Source::Rank>& selection,
                                                std::uint64_t length) {
  using Rank = typename Source::Rank;
  std::uint64_t size = std::max(length, std::bit_ceil(std::uint64_t{selection.num_rows}));
  Rank* from = selection.ranks(size);
  Rank* to = selection.more_ranks(size / 2);
  const cuda::Shape shape = {.num_blocks = 2 * num_blocks_of_grid(), .num_threads = kThreads};
  cuda::launch(write_ranks<Source>, shape, selection.stream, source, size, from);
  sort_pieces(from, size, length, selection.stream);
  for (; size > length; std::swap(from, to)) {
    size /= 2;
    cuda::launch(halve_runs<Rank>, shape, selection.stream, from, size, length, to);
    sort_bitonic_pieces(to, size, length, selection.stream);
  }
  return from;
}

}  // namespace culmen::select
