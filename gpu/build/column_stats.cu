#include "gpu/build/chunk_values.cuh"
#include "gpu/build/column_stats.h"
#include "gpu/cuda/launch.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kRowsPerThread = 32;
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;
constexpr double kMaxExactInteger = 0x1p53;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kLowestId = std::numeric_limits<std::int64_t>::min();

// Unsigned integers in the order of the doubles, and back. -0 is below 0, which does no harm.
CULMEN_HOST_DEVICE std::uint64_t to_ordered(double value) {
  const auto bits = __builtin_bit_cast(std::uint64_t, value);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}

double from_ordered(std::uint64_t ordered) {
  return __builtin_bit_cast(double, (ordered & kSignBit) != 0 ? ordered & ~kSignBit : ~ordered);
}

template <typename Element>
__device__ bool is_acceptable(Element) {
  return true;
}
template <>
__device__ bool is_acceptable(float value) {
  return isfinite(value);
}
template <>
__device__ bool is_acceptable(double value) {
  return isfinite(value);
}
template <>
__device__ bool is_acceptable(std::int64_t value) {
  return value >= -static_cast<std::int64_t>(kMaxExactInteger) &&
         value <= static_cast<std::int64_t>(kMaxExactInteger);
}

__device__ void add(DeviceStats& stats, double given, bool is_good, std::uint64_t row, bool round) {
  if (isnan(given)) {
    stats.first_missing_row = min(stats.first_missing_row, row);
    return;
  }
  const auto rounded = static_cast<double>(static_cast<float>(given));
  if (!is_good || (round && !isfinite(rounded))) {
    stats.first_bad_row = min(stats.first_bad_row, row);
    return;
  }
  if (rounded != given) ++stats.not_float32;
  const double value = round ? rounded : given;
  stats.minimum = min(stats.minimum, to_ordered(value));
  stats.maximum = max(stats.maximum, to_ordered(value));
  stats.quantum = min(stats.quantum, quantum_exponent(value));
}

__device__ void join(DeviceStats& stats, const DeviceStats& other) {
  stats.minimum = min(stats.minimum, other.minimum);
  stats.maximum = max(stats.maximum, other.maximum);
  stats.first_bad_row = min(stats.first_bad_row, other.first_bad_row);
  stats.first_missing_row = min(stats.first_missing_row, other.first_missing_row);
  stats.not_float32 += other.not_float32;
  stats.quantum = min(stats.quantum, other.quantum);
}

// By a whole warp: joins the lanes' statistics in lane 0.
__device__ void join_warp(DeviceStats& stats) {
  constexpr unsigned kAll = 0xffffffff;
  for (int step = 16; step > 0; step /= 2) {
    const DeviceStats other = {__shfl_down_sync(kAll, stats.minimum, step),
                               __shfl_down_sync(kAll, stats.maximum, step),
                               __shfl_down_sync(kAll, stats.first_bad_row, step),
                               __shfl_down_sync(kAll, stats.first_missing_row, step),
                               __shfl_down_sync(kAll, stats.not_float32, step),
                               __shfl_down_sync(kAll, stats.quantum, step)};
    join(stats, other);
  }
}

__device__ unsigned long long* atomic(std::uint64_t& value) {
  return reinterpret_cast<unsigned long long*>(&value);
}

__device__ void merge_into(const DeviceStats& stats, DeviceStats& all) {
  atomicMin(atomic(all.minimum), stats.minimum);
  atomicMax(atomic(all.maximum), stats.maximum);
  atomicMin(&all.quantum, stats.quantum);
  if (stats.first_bad_row != ColumnStats::kNoRow) atomicMin(atomic(all.first_bad_row), stats.first_bad_row);
  if (stats.first_missing_row != ColumnStats::kNoRow)
    atomicMin(atomic(all.first_missing_row), stats.first_missing_row);
  if (stats.not_float32 != 0) atomicAdd(atomic(all.not_float32), stats.not_float32);
}

__device__ DeviceStats nothing_known() {
  return {
      to_ordered(kInfinity), to_ordered(-kInfinity), ColumnStats::kNoRow, ColumnStats::kNoRow, 0, kNoQuantum};
}

// Threads read neighbouring rows, kRowsPerThread of them each.
template <typename Element>
__global__ void __launch_bounds__(kThreads)
    column_stats(const ChunkColumn column, std::uint64_t first_row, std::uint32_t num_rows, bool round,
                 DeviceStats* all) {
  DeviceStats stats = nothing_known();
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kThreads * kRowsPerThread + threadIdx.x;
  for (unsigned i = 0; i < kRowsPerThread; ++i) {
    const std::uint64_t row = first + i * kThreads;
    if (row >= num_rows) break;
    const auto value = element<Element>(column, static_cast<std::uint32_t>(row));
    add(stats, static_cast<double>(value), is_acceptable(value), first_row + row, round);
  }
  join_warp(stats);
  if (threadIdx.x % 32 == 0) merge_into(stats, *all);
}

__global__ void __launch_bounds__(kThreads) id_stats(const std::int64_t* ids, std::uint32_t num_rows,
                                                     bool has_previous, std::int64_t previous, IdStats* all) {
  constexpr unsigned kAll = 0xffffffff;
  long long largest = kLowestId;
  bool is_unsorted = false;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kThreads * kRowsPerThread + threadIdx.x;
  for (unsigned i = 0; i < kRowsPerThread; ++i) {
    const std::uint64_t row = first + i * kThreads;
    if (row >= num_rows) break;
    const std::int64_t id = ids[row];
    if (row > 0 || has_previous) is_unsorted |= id <= (row > 0 ? ids[row - 1] : previous);
    largest = max(largest, static_cast<long long>(id));
  }
  for (int step = 16; step > 0; step /= 2) largest = max(largest, __shfl_down_sync(kAll, largest, step));
  is_unsorted = __any_sync(kAll, is_unsorted) != 0;
  if (threadIdx.x % 32 != 0) return;
  atomicMax(reinterpret_cast<long long*>(&all->largest), largest);
  if (is_unsorted) atomicExch(&all->is_unsorted, 1u);
}

unsigned num_blocks_for(std::uint32_t num_rows) {
  return (num_rows + kThreads * kRowsPerThread - 1) / (kThreads * kRowsPerThread);
}

template <typename Element>
void launch_column(const TableChunk& chunk, const ChunkColumn& column, bool round, DeviceStats* stats,
                   cudaStream_t stream) {
  cuda::launch(column_stats<Element>, {.num_blocks = num_blocks_for(chunk.num_rows), .num_threads = kThreads},
               stream, column, chunk.first_row, chunk.num_rows, round, stats);
}

}  // namespace

DeviceStats no_stats() {
  const ColumnStats stats;
  return {.minimum = to_ordered(stats.minimum),
          .maximum = to_ordered(stats.maximum),
          .first_bad_row = stats.first_bad_row,
          .first_missing_row = stats.first_missing_row,
          .not_float32 = stats.not_float32,
          .quantum = stats.quantum};
}

ColumnStats to_column_stats(const DeviceStats& stats) {
  return {.minimum = from_ordered(stats.minimum),
          .maximum = from_ordered(stats.maximum),
          .quantum = stats.quantum,
          .first_bad_row = stats.first_bad_row,
          .first_missing_row = stats.first_missing_row,
          .not_float32 = stats.not_float32};
}

void launch_column_stats(const TableChunk& chunk, bool round, DeviceStats* stats, cudaStream_t stream) {
  for (int i = 0; i < chunk.num_columns; ++i) {
    const ChunkColumn& column = chunk.columns[i];
    switch (column.type) {
      case ElementType::float32:
        launch_column<float>(chunk, column, round, stats + i, stream);
        break;
      case ElementType::float64:
        launch_column<double>(chunk, column, round, stats + i, stream);
        break;
      case ElementType::int32:
        launch_column<std::int32_t>(chunk, column, round, stats + i, stream);
        break;
      case ElementType::int64:
        launch_column<std::int64_t>(chunk, column, round, stats + i, stream);
        break;
    }
  }
}

void launch_id_stats(const TableChunk& chunk, std::optional<std::int64_t> previous, IdStats* stats,
                     cudaStream_t stream) {
  cuda::launch(id_stats, {.num_blocks = num_blocks_for(chunk.num_rows), .num_threads = kThreads}, stream,
               chunk.ids, chunk.num_rows, previous.has_value(), previous.value_or(0), stats);
}

}  // namespace culmen::gpu
