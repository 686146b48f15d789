// bitonic: bitonic top-k (Shanbhag, Pirk, Madden 2018). Runs of k ranks are sorted, in turn larger first and
// smaller first; of two neighbours together, a bitonic sequence, the larger of each pair of places are the k
// best, and bitonic again: half as many ranks, to be sorted in fewer steps than before.
//
// For k up to half a tile all of that happens in shared memory, and of each tile one run is written: 1/4 of
// what was read or less. For larger k every step is a pass over memory.
#include <algorithm>
#include <bit>
#include <utility>

#include "query/select/bitonic_step.cuh"

namespace culmen::select {
namespace {

constexpr std::uint32_t kTileBytes = 32 << 10;
template <typename Rank>
constexpr std::uint32_t kTile = kTileBytes / sizeof(Rank);

// The larger of each two neighbouring runs' places.
template <typename Rank>
__device__ Rank larger_of_runs(const Rank* items, std::uint64_t place, std::uint64_t length) {
  const std::uint64_t first = 2 * place - (place & (length - 1));
  return items[first] < items[first + length] ? items[first + length] : items[first];
}

// Writes the `length` best of each tile, best first.
template <typename Source>
__global__ void __launch_bounds__(kThreads)
    reduce_tiles(const Source source, std::uint32_t size, std::uint32_t length, typename Source::Rank* out) {
  using Rank = typename Source::Rank;
  constexpr std::uint32_t kItems = kTile<Rank> / 2 / kThreads;  // of a thread, after the first halving
  Rank* items = shared_room<Rank>();
  const std::uint64_t start = std::uint64_t{blockIdx.x} * kTile<Rank>;
  for (std::uint32_t i = threadIdx.x; i < kTile<Rank>; i += kThreads)
    items[i] = start + i < size ? source.rank(static_cast<std::uint32_t>(start + i)) : Rank{0};
  for (std::uint32_t sorted = 2; sorted <= length; sorted *= 2)
    sort_bitonic_pieces_in_block(items, kTile<Rank>, sorted, kThreads);
  for (std::uint32_t left = kTile<Rank> / 2; left >= length; left /= 2) {
    Rank larger[kItems];
    __syncthreads();
#pragma unroll
    for (std::uint32_t j = 0; j < kItems; ++j)
      if (threadIdx.x + j * kThreads < left)
        larger[j] = larger_of_runs(items, threadIdx.x + j * kThreads, length);
    __syncthreads();
#pragma unroll
    for (std::uint32_t j = 0; j < kItems; ++j)
      if (threadIdx.x + j * kThreads < left) items[threadIdx.x + j * kThreads] = larger[j];
    sort_bitonic_pieces_in_block(items, left, length, kThreads);
  }
  __syncthreads();
  for (std::uint32_t i = threadIdx.x; i < length; i += kThreads)
    out[std::uint64_t{blockIdx.x} * length + i] = items[i];
}

// Ranks in memory whose number the host knows.
template <typename R>
struct HostRanks {
  using Rank = R;
  const Rank* ranks;
  __device__ Rank rank(std::uint32_t i) const { return ranks[i]; }
};

// Returns how many ranks are in `out` then.
template <typename Source>
std::uint32_t launch_reduction(const Source& source, std::uint32_t size, std::uint32_t length,
                               typename Source::Rank* out, cudaStream_t stream) {
  constexpr std::uint32_t kTileRanks = kTile<typename Source::Rank>;
  const std::uint32_t num_tiles = (size - 1) / kTileRanks + 1;
  cuda::launch(reduce_tiles<Source>,
               {.num_blocks = num_tiles, .num_threads = kThreads, .shared_bytes = kTileBytes}, stream, source,
               size, length, out);
  return num_tiles * length;
}

template <typename Source>
const typename Source::Rank* reduce_in_tiles(const Source& source,
                                             const Selection<typename Source::Rank>& selection,
                                             std::uint32_t length) {
  using Rank = typename Source::Rank;
  const std::size_t most = (std::size_t{selection.num_rows} / kTile<Rank> + 1) * length;
  Rank* from = selection.more_ranks(most);
  Rank* to = selection.ranks(most);
  std::uint32_t size = launch_reduction(source, selection.num_rows, length, to, selection.stream);
  while (size > length) {
    std::swap(from, to);
    size = launch_reduction(HostRanks<Rank>{from}, size, length, to, selection.stream);
  }
  return to;
}

template <typename Rank>
__global__ void __launch_bounds__(kThreads)
    halve_runs(const Rank* ranks, std::uint64_t half, std::uint64_t length, Rank* out) {
  const std::uint64_t num_threads = gridDim.x * std::uint64_t{kThreads};
  for (std::uint64_t i = blockIdx.x * std::uint64_t{kThreads} + threadIdx.x; i < half; i += num_threads)
    out[i] = larger_of_runs(ranks, i, length);
}

template <typename Source>
const typename Source::Rank* reduce_in_memory(const Source& source,
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

}  // namespace

template <typename Source>
const typename Source::Rank* select_by_bitonic(const Source& source,
                                               const Selection<typename Source::Rank>& selection) {
  const std::uint32_t length = std::bit_ceil(std::max(selection.k, 2u));
  return length <= kTile<typename Source::Rank> / 2 ? reduce_in_tiles(source, selection, length)
                                                    : reduce_in_memory(source, selection, length);
}

CULMEN_INSTANTIATE_METHOD(CULMEN_RANKS, select_by_bitonic);

}  // namespace culmen::select
