// Operating in shared memory: an operator is a kernel (sort runs, halve, sort what is bitonic), which reads
// and writes memory once, and takes its steps in shared memory.
#include "bench/ladder/select/tile.cuh"
#include "bench/select/bitonic_step.cuh"

namespace culmen::select::ladder {
namespace {

using Plan = MergedOperators;

// Sorts pieces of first_length, twice that, ... length. Writes `size` ranks, 0 past the last row.
template <typename Source>
__global__ void __launch_bounds__(kTileThreads)
    sort_in_tiles(const Source source, std::uint64_t num_rows, std::uint64_t size, unsigned first_length,
                  unsigned length, Rank64* out) {
  const Tile<Plan> tile{shared_room<Rank64>()};
  const std::uint64_t start = std::uint64_t{blockIdx.x} * kTile;
  load_rows(tile, source, start, num_rows);
  for (unsigned sorted = first_length; sorted <= length; sorted *= 2) sort_pieces_of(tile, kTile, sorted);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < kTile; i += kTileThreads)
    if (start + i < size) out[start + i] = tile[i];
}

template <typename Source>
void launch_sort(const Source& source, std::uint64_t num_rows, std::uint64_t size, unsigned first_length,
                 unsigned length, Rank64* out, cudaStream_t stream) {
  cuda::launch(sort_in_tiles<Source>,
               {.num_blocks = static_cast<unsigned>((size - 1) / kTile + 1),
                .num_threads = kTileThreads,
                .shared_bytes = Tile<Plan>::kBytes},
               stream, source, num_rows, size, first_length, length, out);
}

}  // namespace

const Rank64* in_shared_memory(const Question& question) {
  const Selection<Rank64> selection = selection_of(question);
  const unsigned length = length_of(question);
  std::uint64_t size = std::max<std::uint64_t>(length, std::bit_ceil(std::uint64_t{selection.num_rows}));
  Rank64* from = selection.ranks(size);
  Rank64* to = selection.more_ranks(size);
  launch_sort(question.keys, selection.num_rows, size, 2, length, from, selection.stream);
  const cuda::Shape shape = {.num_blocks = 2 * num_blocks_of_grid(), .num_threads = kThreads};
  while (size > length) {
    size /= 2;
    cuda::launch(halve_runs<Rank64>, shape, selection.stream, from, size, std::uint64_t{length}, to);
    launch_sort(HostRanks<Rank64>{to}, size, size, length, length, to, selection.stream);
    std::swap(from, to);
  }
  return from;
}

}  // namespace culmen::select::ladder
