#include "gpu/build/leaves.h"

#include "gpu/cuda/launch.h"
#include "index/build/leaf_cut.h"
#include "index/leaf_codes.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 128;
constexpr unsigned kWarpSize = 32;
constexpr unsigned kWarps = kThreads / kWarpSize;
constexpr unsigned kAllLanes = 0xffffffff;

struct Least {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};
struct Greatest {
  template <typename T>
  __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

// The partition of a leaf: the last one of the span that begins at or before it. A partition without leaves begins
// where the next one does, and is not the last.
__device__ std::uint32_t partition_with(std::uint32_t leaf, const PartitionsRef& partitions) {
  std::uint32_t first = partitions.span.first, end = partitions.span.end;
  while (end - first > 1) {
    const std::uint32_t middle = first + (end - first) / 2;
    if (partitions.ranges[middle].first_leaf <= leaf) {
      first = middle;
    } else {
      end = middle;
    }
  }
  return first;
}

// A thread for each leaf.
__global__ void __launch_bounds__(kThreads)
    cut(const LeafTarget leaves, const PartitionsRef partitions, std::uint32_t* starts) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= leaves.num_leaves) return;
  const std::uint32_t leaf = leaves.first_leaf + i;
  const std::uint32_t p = partition_with(leaf, partitions);
  const PartitionRange range = partitions.ranges[p];
  const std::uint64_t first_row = partitions.first_rows[p];
  const std::uint64_t num_rows = partitions.first_rows[p + 1] - first_row;
  const std::uint32_t nth = leaf - range.first_leaf;
  const std::uint64_t start = first_row_of_leaf(num_rows, nth, range.num_leaves);
  const std::uint64_t end = first_row_of_leaf(num_rows, nth + 1, range.num_leaves);
  LeafHeader header;
  header.num_rows = static_cast<std::uint32_t>(end - start);
  header.partition = p;
  leaves.header(leaf) = header;
  starts[i] = static_cast<std::uint32_t>(first_row - partitions.first_row + start);
}

// By a warp: the best of num_values >= 1 values. All lanes get it.
template <typename T, typename Better>
__device__ T best_of(const T* values, std::uint32_t num_values, Better better) {
  const std::uint32_t lane = threadIdx.x % kWarpSize;
  T best = values[lane < num_values ? lane : 0];
  for (std::uint32_t i = lane + kWarpSize; i < num_values; i += kWarpSize) best = better(best, values[i]);
  for (unsigned step = kWarpSize / 2; step > 0; step /= 2)
    best = better(best, __shfl_xor_sync(kAllLanes, best, step));
  return best;
}

// By the thread block. Zeros after the last row.
template <typename T>
__device__ void copy_rows(const LeafTarget& leaves, std::uint32_t leaf, std::uint32_t num_rows,
                          const RowsRef& rows, const std::uint32_t* order) {
  T* values = leaves.values<T>(leaf);
  std::int64_t* ids = leaves.ids(leaf);
  const std::uint32_t d = leaves.num_attributes;
  for (std::uint32_t index = threadIdx.x; index < leaves.leaf_rows; index += kThreads) {
    const bool is_there = index < num_rows;
    const std::uint32_t row = is_there ? order[index] : 0;
    const T* from = reinterpret_cast<const T*>(rows.values) + static_cast<std::size_t>(row) * d;
    ids[index] = is_there ? rows.ids[row] : 0;
    for (std::uint32_t a = 0; a < d; ++a) values[a * leaves.leaf_rows + index] = is_there ? from[a] : T{0};
  }
}

// By the thread block, a warp for each attribute.
template <typename T>
__device__ void write_zone_map(const LeafTarget& leaves, std::uint32_t leaf, std::uint32_t num_rows) {
  const bool is_first_lane = threadIdx.x % kWarpSize == 0;
  const std::uint32_t d = leaves.num_attributes;
  for (std::uint32_t a = threadIdx.x / kWarpSize; a < d; a += kWarps) {
    const T* column = leaves.values<T>(leaf) + a * leaves.leaf_rows;
    const T largest = best_of(column, num_rows, Greatest{}), smallest = best_of(column, num_rows, Least{});
    if (!is_first_lane) continue;
    leaves.zone_vector<T>(leaf, Extreme::maximum)[a] = largest;
    leaves.zone_vector<T>(leaf, Extreme::minimum)[a] = smallest;
  }
}

// A thread block for each leaf.
template <typename T>
__global__ void __launch_bounds__(kThreads) fill(const LeafTarget leaves, const RowsRef rows,
                                                 const std::uint32_t* order, const std::uint32_t* starts) {
  const std::uint32_t leaf = leaves.first_leaf + blockIdx.x;
  const std::uint32_t num_rows = leaves.header(leaf).num_rows;
  copy_rows<T>(leaves, leaf, num_rows, rows, order + starts[blockIdx.x]);
  __syncthreads();  // other threads wrote what is read from here on
  write_zone_map<T>(leaves, leaf, num_rows);
  if (threadIdx.x >= kWarpSize) return;
  const std::int64_t min_id = best_of(leaves.ids(leaf), num_rows, Least{});
  if (threadIdx.x == 0) leaves.header(leaf).min_id = min_id;
}

// A thread block for each leaf, a thread for each word.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    write_codes(const LeafTarget leaves, std::uint32_t num_words, std::uint16_t* codes) {
  const std::uint32_t leaf = leaves.first_leaf + blockIdx.x;
  const std::uint32_t num_rows = leaves.header(leaf).num_rows, d = leaves.num_attributes;
  std::uint16_t* words = codes + static_cast<std::size_t>(blockIdx.x) * d * num_words;
  for (std::uint32_t i = threadIdx.x; i < d * num_words; i += kThreads) {
    const std::uint32_t a = i / num_words, w = i % num_words;
    const auto minimum = static_cast<double>(leaves.zone_vector<T>(leaf, Extreme::minimum)[a]);
    const double step =
        code_step(minimum, static_cast<double>(leaves.zone_vector<T>(leaf, Extreme::maximum)[a]));
    const T* column = leaves.values<T>(leaf) + static_cast<std::size_t>(a) * leaves.leaf_rows;
    std::uint32_t word = 0;
    for (std::uint32_t row = w, shift = 0; row < num_rows && isfinite(step); row += num_words, shift += 4)
      word |= static_cast<std::uint32_t>(code_of(static_cast<double>(column[row]), minimum, 1 / step))
              << shift;
    words[i] = static_cast<std::uint16_t>(word);
  }
}

}  // namespace

void launch_cut(const LeafTarget& leaves, const PartitionsRef& partitions, std::uint32_t* starts,
                cudaStream_t stream) {
  if (leaves.num_leaves == 0) return;
  cuda::launch(cut, {.num_blocks = (leaves.num_leaves + kThreads - 1) / kThreads, .num_threads = kThreads},
               stream, leaves, partitions, starts);
}

template <typename T>
void launch_fill(const LeafTarget& leaves, const RowsRef& rows, const std::uint32_t* order,
                 const std::uint32_t* starts, cudaStream_t stream) {
  if (leaves.num_leaves == 0) return;
  cuda::launch(fill<T>, {.num_blocks = leaves.num_leaves, .num_threads = kThreads}, stream, leaves, rows,
               order, starts);
}

template <typename T>
void launch_codes(const LeafTarget& leaves, std::uint32_t num_words, std::uint16_t* codes,
                  cudaStream_t stream) {
  if (leaves.num_leaves == 0) return;
  cuda::launch(write_codes<T>, {.num_blocks = leaves.num_leaves, .num_threads = kThreads}, stream, leaves,
               num_words, codes);
}

template void launch_codes<float>(const LeafTarget&, std::uint32_t, std::uint16_t*, cudaStream_t);
template void launch_codes<double>(const LeafTarget&, std::uint32_t, std::uint16_t*, cudaStream_t);
template void launch_fill<float>(const LeafTarget&, const RowsRef&, const std::uint32_t*,
                                 const std::uint32_t*, cudaStream_t);
template void launch_fill<double>(const LeafTarget&, const RowsRef&, const std::uint32_t*,
                                  const std::uint32_t*, cudaStream_t);

}  // namespace culmen::gpu
