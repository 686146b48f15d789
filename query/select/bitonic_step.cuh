// Steps of a bitonic network over ranks in memory.
#pragma once

#include "query/select/methods.cuh"

namespace culmen::select {

// `size` is a multiple of 2 * stride.
template <typename Rank>
__global__ void __launch_bounds__(kThreads)
    bitonic_step(Rank* ranks, std::uint64_t size, std::uint64_t length, std::uint64_t stride) {
  const std::uint64_t num_threads = gridDim.x * std::uint64_t{kThreads};
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < size / 2; i += num_threads)
    order_pair(ranks, i, length, stride);
}

// The steps that sort bitonic pieces of `length`.
template <typename Rank>
void sort_bitonic_pieces(Rank* ranks, std::uint64_t size, std::uint64_t length, cudaStream_t stream) {
  const cuda::Shape shape = {.num_blocks = 2 * num_blocks_of_grid(), .num_threads = kThreads};
  for (std::uint64_t stride = length / 2; stride > 0; stride /= 2)
    cuda::launch(bitonic_step<Rank>, shape, stream, ranks, size, length, stride);
}

// Sorts pieces of `length`, in turn larger first and smaller first.
template <typename Rank>
void sort_pieces(Rank* ranks, std::uint64_t size, std::uint64_t length, cudaStream_t stream) {
  for (std::uint64_t sorted = 2; sorted <= length; sorted *= 2)
    sort_bitonic_pieces(ranks, size, sorted, stream);
}

}  // namespace culmen::select
