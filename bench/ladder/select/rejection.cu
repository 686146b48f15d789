// Rejection: what is not above the smallest of a full run cannot be among the k best and is not sorted; the
// rest fills a buffer, and a full tile of it is sorted as before (the paper's buffer filler for a filter,
// section 5, with the best run so far as the filter). Not bitonic top-k as the paper has it: its time depends
// on the order of the input, and where that ascends every row is sorted after all, and was buffered for
// nothing.
#include "bench/ladder/select/question.cuh"
#include "bench/select/runs.cuh"

namespace culmen::select::ladder {
namespace {

// The shared memory of a thread block: what threads exchange, then up to two tiles that wait.
__device__ Rank64* waiting_room() {
  return shared_room<Rank64>() + kTileRanks<Rank64>;
}

struct Filter {
  Rank64 kth_bound;      // only what is above it is wanted; 0: no run is full yet
  unsigned num_waiting;  // less than a tile between two tiles of input
};

// All threads wait for each other here; returns whether a tile is full.
__device__ bool append_above(const Rank64 (&items)[kOwned<Rank64>], Filter& filter) {
  unsigned num_above = 0;
  const Rank64 kth_bound = filter.kth_bound;
#pragma unroll
  for (const Rank64 item : items) num_above += item > kth_bound ? 1 : 0;
  if (__syncthreads_or(num_above > 0 ? 1 : 0) == 0) return false;
  unsigned place = num_above > 0 ? atomicAdd(&filter.num_waiting, num_above) : 0;
#pragma unroll
  for (const Rank64 item : items)
    if (item > kth_bound) waiting_room()[place++] = item;
  __syncthreads();  // all have appended
  return filter.num_waiting >= kTileRanks<Rank64>;
}

// Sorts the last tile that waits, or all if there is less.
template <int kRun>
__device__ void take_waiting(BestRuns<Rank64, kRun>& best, Filter& filter) {
  const unsigned count = filter.num_waiting, size = min(count, kTileRanks<Rank64>);
  Rank64 items[kOwned<Rank64>];
#pragma unroll
  for (unsigned i = 0; i < kOwned<Rank64>; ++i) {
    const unsigned place = i * kRunThreads + threadIdx.x;
    items[i] = place < size ? waiting_room()[count - size + place] : 0;
  }
  __syncthreads();  // all have read the count and the places
  best.take(items);
  if (threadIdx.x == 0) filter.num_waiting = count - size;
  if (best.smallest() > 0)
    atomicMax(reinterpret_cast<unsigned long long*>(&filter.kth_bound), best.smallest());
  __syncthreads();  // the filter is as it should be
}

template <int kRun, typename Source>
__global__ void __launch_bounds__(kRunThreads, 2)
    keep_best_of_few(const Source source, std::uint32_t size, unsigned num_threads, Rank64* out) {
  __shared__ Filter filter;
  if (threadIdx.x == 0) filter = {0, 0};
  __syncthreads();
  BestRuns<Rank64, kRun> best(num_threads);
  for (std::uint64_t first = std::uint64_t{blockIdx.x} * kTileRanks<Rank64>; first < size;
       first += std::uint64_t{gridDim.x} * kTileRanks<Rank64>) {
    Rank64 items[kOwned<Rank64>];
    load_tile(source, first, size, items);
    if (append_above(items, filter)) take_waiting(best, filter);
  }
  take_waiting(best, filter);
  best.finish(out + std::size_t{blockIdx.x} * num_threads * kRun);
}

struct BestOfFew : BestOfAll {
  static constexpr std::size_t kSharedBytes = kExchangeBytes + 2 * kTileRanks<Rank64> * sizeof(Rank64);

  template <int kRun, typename Source>
  static constexpr auto* kernel = &keep_best_of_few<kRun, Source>;

  template <int kRun, typename Rank>
  static unsigned num_blocks(std::uint32_t size) {
    return std::min(2 * num_blocks_of_grid(), (size - 1) / (8 * kTileRanks<Rank>)+1);
  }
};

}  // namespace

const Rank64* rejection(const Question& question) {
  return best_run<BestOfFew>(question.keys, selection_of(question), length_of(question));
}

}  // namespace culmen::select::ladder
