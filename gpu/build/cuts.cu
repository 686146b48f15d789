#include "gpu/build/cuts.h"

#include "gpu/build/chunk_values.cuh"
#include "gpu/build/scaled_row.cuh"
#include "gpu/cuda/launch.h"
#include "index/build/sample.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 128;

cuda::Shape a_thread_each(std::uint32_t count) {
  return {.num_blocks = (count + kThreads - 1) / kThreads, .num_threads = kThreads};
}

__device__ std::uint32_t this_thread() {
  return blockIdx.x * kThreads + threadIdx.x;
}

template <typename T>
__device__ T* values_of(const SampleRef& sample, std::uint32_t row) {
  return reinterpret_cast<T*>(sample.values) +
         static_cast<std::size_t>(row) * static_cast<std::size_t>(sample.num_attributes);
}

template <typename T>
__device__ void read_row(const SampleRef& sample, std::uint32_t row, const ScaleRef& scale,
                         ScaledRow& scaled) {
  const T* values = values_of<T>(sample, row);
  read_row(
      sample.num_attributes, scale, [&](int i) { return values[i]; }, scaled);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    read_sample(const __grid_constant__ TableChunk chunk, std::uint64_t num_rows, std::uint32_t first,
                std::uint32_t end, const SampleRef sample) {
  const std::uint32_t i = first + this_thread();
  if (i >= end) return;
  const auto row = static_cast<std::uint32_t>(row_of_sample(i, sample.num_rows, num_rows) - chunk.first_row);
  T* values = values_of<T>(sample, i);
  for (int a = 0; a < chunk.num_columns; ++a) values[a] = stored_value<T>(chunk.columns[a], row);
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    write_ratios(const SampleRef sample, const ScaleRef scale, const PartitionLevel level) {
  const std::uint32_t row = this_thread();
  if (row >= sample.num_rows) return;
  ScaledRow scaled;
  read_row<T>(sample, row, scale, scaled);
  const double ratio = cut_ratio(scaled.upper(level.coordinate), scaled.lower(level.coordinate));
  sample.ratio[row] = __builtin_bit_cast(std::int64_t, ratio);
}

// Where the rows of parts below `part` end.
__device__ std::uint32_t first_of_part(const SampleRef& sample, const std::uint32_t* order,
                                       std::uint32_t part) {
  std::uint32_t first = 0, end = sample.num_rows;
  while (first < end) {
    const std::uint32_t middle = first + (end - first) / 2;
    if (sample.partition[order[middle]] < part) {
      first = middle + 1;
    } else {
      end = middle;
    }
  }
  return first;
}

// A thread for each part.
__global__ void __launch_bounds__(kThreads)
    write_cuts(const SampleRef sample, const std::uint32_t* order, const PartitionLevel level,
               std::uint32_t number, std::uint32_t num_parts, double* cuts) {
  const std::uint32_t part = this_thread();
  if (part >= num_parts) return;
  const std::uint32_t first = first_of_part(sample, order, part);
  const std::uint64_t num_rows = first_of_part(sample, order, part + 1) - first;
  const std::uint32_t num_cuts = level.parts - 1;
  for (std::uint32_t i = 0; i < num_cuts; ++i) {
    double cut = 1.0;  // of a part without rows in the sample
    if (num_rows > 0) {
      const std::uint64_t rank = rank_of_cut(number, i + 1, level.parts, num_rows);
      cut = __builtin_bit_cast(double, sample.ratio[order[first + (rank < num_rows ? rank : num_rows - 1)]]);
    }
    cuts[static_cast<std::size_t>(part) * num_cuts + i] = cut;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    refine(const SampleRef sample, const ScaleRef scale, const PartitionLevel level, const double* cuts) {
  const std::uint32_t row = this_thread();
  if (row >= sample.num_rows) return;
  ScaledRow scaled;
  read_row<T>(sample, row, scale, scaled);
  sample.partition[row] = refined(static_cast<std::uint32_t>(sample.partition[row]), level, cuts,
                                  scaled.upper(level.coordinate), scaled.lower(level.coordinate));
}

}  // namespace

template <typename T>
void launch_read_sample(const TableChunk& chunk, std::uint64_t num_rows, std::uint32_t first,
                        std::uint32_t end, const SampleRef& sample, cudaStream_t stream) {
  if (first == end) return;
  cuda::launch(read_sample<T>, a_thread_each(end - first), stream, chunk, num_rows, first, end, sample);
}

template <typename T>
void launch_ratios(const SampleRef& sample, const ScaleRef& scale, const PartitionLevel& level,
                   cudaStream_t stream) {
  cuda::launch(write_ratios<T>, a_thread_each(sample.num_rows), stream, sample, scale, level);
}

void launch_cuts(const SampleRef& sample, const std::uint32_t* order, const PartitionLevel& level,
                 std::uint32_t number, std::uint32_t num_parts, double* cuts, cudaStream_t stream) {
  cuda::launch(write_cuts, a_thread_each(num_parts), stream, sample, order, level, number, num_parts, cuts);
}

template <typename T>
void launch_refine(const SampleRef& sample, const ScaleRef& scale, const PartitionLevel& level,
                   const double* cuts, cudaStream_t stream) {
  cuda::launch(refine<T>, a_thread_each(sample.num_rows), stream, sample, scale, level, cuts);
}

template void launch_read_sample<float>(const TableChunk&, std::uint64_t, std::uint32_t, std::uint32_t,
                                        const SampleRef&, cudaStream_t);
template void launch_read_sample<double>(const TableChunk&, std::uint64_t, std::uint32_t, std::uint32_t,
                                         const SampleRef&, cudaStream_t);
template void launch_ratios<float>(const SampleRef&, const ScaleRef&, const PartitionLevel&, cudaStream_t);
template void launch_ratios<double>(const SampleRef&, const ScaleRef&, const PartitionLevel&, cudaStream_t);
template void launch_refine<float>(const SampleRef&, const ScaleRef&, const PartitionLevel&, const double*,
                                   cudaStream_t);
template void launch_refine<double>(const SampleRef&, const ScaleRef&, const PartitionLevel&, const double*,
                                    cudaStream_t);

}  // namespace culmen::gpu
