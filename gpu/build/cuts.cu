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
    read_sample(const __grid_constant__ TableChunk chunk, const SampleRange rows, std::uint64_t sample_rows,
                std::uint64_t table_rows, std::uint32_t base, std::byte* to) {
  const std::uint32_t i = rows.first + this_thread();
  if (i >= rows.end) return;
  const auto row = static_cast<std::uint32_t>(row_of_sample(i, sample_rows, table_rows) - chunk.first_row);
  T* values = reinterpret_cast<T*>(to) +
              static_cast<std::size_t>(i - base) * static_cast<std::size_t>(chunk.num_columns);
  for (int a = 0; a < chunk.num_columns; ++a) values[a] = stored_value<T>(chunk.columns[a], row);
}

template <typename T>
__device__ Quotient coordinate_of(const SampleRef& sample, std::uint32_t row, const ScaleRef& scale,
                                  const LevelRef& at) {
  const auto part = static_cast<std::uint32_t>(sample.partition[row]);
  const bool has_own = at.level.coordinate == kOwnCoordinate;
  const Coordinate own = has_own ? at.own_coordinates[at.level.cuts_of(part)] : Coordinate{0};
  const T* values = values_of<T>(sample, row);
  ScaledRow scaled;
  return quotient_at(
      at.level, own, scale, [&](int i) { return values[i]; },
      [&]() -> const ScaledRow& {
        read_row<T>(sample, row, scale, scaled);
        return scaled;
      });
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    write_ratios(const SampleRef sample, const ScaleRef scale, const LevelRef level) {
  const std::uint32_t row = this_thread();
  if (row >= sample.num_rows) return;
  const Quotient coordinate = coordinate_of<T>(sample, row, scale, level);
  sample.ratio[row] = __builtin_bit_cast(std::int64_t, cut_ratio(coordinate.upper, coordinate.lower));
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

// The values of an attribute in a few rows of a part, sorted, by the thread block.
struct SortedValues {
  static constexpr unsigned kMost = 256;
  double given[kMost], sorted[kMost];

  // Thread i < count gives value i. All threads have the sorted values on return.
  __device__ void sort(double value, unsigned count) {
    const unsigned i = threadIdx.x;
    __syncthreads();  // nobody reads the last ones any more
    if (i < count) given[i] = value;
    __syncthreads();
    if (i < count) {
      unsigned rank = 0;
      for (unsigned other = 0; other < count; ++other)
        rank += given[other] < value || (given[other] == value && other < i) ? 1 : 0;
      sorted[rank] = value;
    }
    __syncthreads();
  }
};

// By the thread block: choose_coordinate of index/build/partition_cuts.cc.
template <typename T>
__device__ Coordinate choose_coordinate(const SampleRef& sample, const ScaleRef& scale,
                                        const std::uint32_t* rows, std::uint32_t num_rows,
                                        std::uint32_t angle, SortedValues& values) {
  constexpr double kMinSpread = 1.0 / 16;  // of the range
  const std::uint32_t step = (num_rows + SortedValues::kMost - 1) / SortedValues::kMost;
  const std::uint32_t count = (num_rows + step - 1) / step;
  const bool has_value = threadIdx.x < count;
  const T* row = values_of<T>(sample, rows[has_value ? threadIdx.x * step : 0]);
  double widest = -1, range = 0;
  int attribute = 0, num_alike = 0;
  for (int i = 0; i < sample.num_attributes; ++i) {
    values.sort(scaled_to_one(static_cast<double>(row[i]), scale.minimum[i], scale.inverse[i]), count);
    const auto quantile = [&](std::uint32_t tenths) { return values.sorted[count * tenths / 10]; };
    const double smallest = values.sorted[0], largest = values.sorted[count - 1];
    const double width = quantile(9) - quantile(1);
    if (quantile(5) == smallest || quantile(5) == largest) ++num_alike;
    if (width <= widest) continue;
    widest = width;
    range = largest - smallest;
    attribute = i;
  }
  const bool spreads = widest > kMinSpread * range && 2 * num_alike < sample.num_attributes;
  return static_cast<Coordinate>(spreads || angle == 0 ? static_cast<std::uint32_t>(attribute)
                                                       : kFirstAngle + angle);
}

// A thread block for each part.
template <typename T>
__global__ void __launch_bounds__(SortedValues::kMost)
    write_own_coordinates(const SampleRef sample, const ScaleRef scale, const std::uint32_t* order,
                          const LevelRef level) {
  __shared__ SortedValues values;
  const std::uint32_t part = blockIdx.x;
  const std::uint32_t first = first_of_part(sample, order, part);
  const std::uint32_t num_rows = first_of_part(sample, order, part + 1) - first;
  if (num_rows == 0) return;  // it keeps 0
  const auto d = static_cast<std::size_t>(sample.num_attributes);
  const std::uint32_t angle = d > 1 ? coordinate_of_level(level.number, d) : 0;
  const Coordinate own = choose_coordinate<T>(sample, scale, order + first, num_rows, angle, values);
  for (std::uint32_t cut = threadIdx.x; cut + 1 < level.level.parts; cut += SortedValues::kMost)
    level.own_coordinates[level.level.cuts_of(part) + cut] = own;
}

// A thread for each part.
__global__ void __launch_bounds__(kThreads)
    write_cuts(const SampleRef sample, const std::uint32_t* order, const LevelRef level) {
  const std::uint32_t part = this_thread();
  if (part >= level.num_parts) return;
  const std::uint32_t first = first_of_part(sample, order, part);
  const std::uint64_t num_rows = first_of_part(sample, order, part + 1) - first;
  const std::uint32_t parts = level.level.parts;
  for (std::uint32_t i = 0; i + 1 < parts; ++i) {
    double cut = 1.0;  // of a part without rows in the sample
    if (num_rows > 0) {
      const std::uint64_t rank = rank_of_cut(level.number, i + 1, parts, num_rows);
      cut = __builtin_bit_cast(double, sample.ratio[order[first + (rank < num_rows ? rank : num_rows - 1)]]);
    }
    level.cuts[level.level.cuts_of(part) + i] = cut;
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    refine(const SampleRef sample, const ScaleRef scale, const LevelRef level) {
  const std::uint32_t row = this_thread();
  if (row >= sample.num_rows) return;
  const Quotient coordinate = coordinate_of<T>(sample, row, scale, level);
  sample.partition[row] = refined(static_cast<std::uint32_t>(sample.partition[row]), level.level, level.cuts,
                                  coordinate.upper, coordinate.lower);
}

}  // namespace

template <typename T>
void launch_read_sample(const TableChunk& chunk, SampleRange rows, std::uint64_t sample_rows,
                        std::uint64_t table_rows, std::uint32_t base, std::byte* values,
                        cudaStream_t stream) {
  if (rows.first == rows.end) return;
  cuda::launch(read_sample<T>, a_thread_each(rows.end - rows.first), stream, chunk, rows, sample_rows,
               table_rows, base, values);
}

template <typename T>
void launch_own_coordinates(const SampleRef& sample, const ScaleRef& scale, const std::uint32_t* order,
                            const LevelRef& level, cudaStream_t stream) {
  cuda::launch(write_own_coordinates<T>, {.num_blocks = level.num_parts, .num_threads = SortedValues::kMost},
               stream, sample, scale, order, level);
}

template <typename T>
void launch_ratios(const SampleRef& sample, const ScaleRef& scale, const LevelRef& level,
                   cudaStream_t stream) {
  cuda::launch(write_ratios<T>, a_thread_each(sample.num_rows), stream, sample, scale, level);
}

void launch_cuts(const SampleRef& sample, const std::uint32_t* order, const LevelRef& level,
                 cudaStream_t stream) {
  cuda::launch(write_cuts, a_thread_each(level.num_parts), stream, sample, order, level);
}

template <typename T>
void launch_refine(const SampleRef& sample, const ScaleRef& scale, const LevelRef& level,
                   cudaStream_t stream) {
  cuda::launch(refine<T>, a_thread_each(sample.num_rows), stream, sample, scale, level);
}

template void launch_read_sample<float>(const TableChunk&, SampleRange, std::uint64_t, std::uint64_t,
                                        std::uint32_t, std::byte*, cudaStream_t);
template void launch_own_coordinates<float>(const SampleRef&, const ScaleRef&, const std::uint32_t*,
                                            const LevelRef&, cudaStream_t);
template void launch_ratios<float>(const SampleRef&, const ScaleRef&, const LevelRef&, cudaStream_t);
template void launch_refine<float>(const SampleRef&, const ScaleRef&, const LevelRef&, cudaStream_t);
template void launch_read_sample<double>(const TableChunk&, SampleRange, std::uint64_t, std::uint64_t,
                                         std::uint32_t, std::byte*, cudaStream_t);
template void launch_own_coordinates<double>(const SampleRef&, const ScaleRef&, const std::uint32_t*,
                                             const LevelRef&, cudaStream_t);
template void launch_ratios<double>(const SampleRef&, const ScaleRef&, const LevelRef&, cudaStream_t);
template void launch_refine<double>(const SampleRef&, const ScaleRef&, const LevelRef&, cudaStream_t);

}  // namespace culmen::gpu
