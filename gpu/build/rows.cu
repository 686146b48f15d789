#include "gpu/build/rows.h"

#include <thrust/iterator/counting_iterator.h>

#include <cub/device/device_select.cuh>

#include "gpu/build/chunk_values.cuh"
#include "gpu/cuda/launch.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;

struct HasKeyIn {
  const OrderKey* keys;
  PartitionSpan partitions;

  __device__ bool operator()(std::uint32_t row) const {
    const std::uint32_t partition = partition_of(keys[row]);
    return partition >= partitions.first && partition < partitions.end;
  }
};

cudaError_t run_select(void* scratch, std::size_t& num_bytes, std::uint32_t num_rows, const HasKeyIn& has_key,
                       std::uint32_t* selected, std::uint32_t* num_selected, cudaStream_t stream) {
  return cub::DeviceSelect::If(scratch, num_bytes, thrust::counting_iterator<std::uint32_t>(0), selected,
                               num_selected, static_cast<std::int64_t>(num_rows), has_key, stream);
}

std::size_t scratch_bytes(std::uint32_t num_rows) {
  std::size_t num_bytes = 0;
  cuda::check(run_select(nullptr, num_bytes, num_rows, {}, nullptr, nullptr, nullptr));
  return num_bytes;
}

// A thread for each row.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    collect(const __grid_constant__ TableChunk chunk, const OrderKey* keys, const std::uint32_t* selected,
            std::uint32_t count, const RowsRef rows, std::uint64_t first) {
  const std::uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::uint32_t row = selected == nullptr ? i : selected[i];
  const std::uint64_t to = first + i;
  if (keys != nullptr) rows.keys[to] = keys[row];
  rows.ids[to] = id_of(chunk, row);
  if (rows.numbers != nullptr) rows.numbers[to] = chunk.first_row + row;
  T* values = reinterpret_cast<T*>(rows.values) + to * static_cast<std::uint64_t>(chunk.num_columns);
  for (int a = 0; a < chunk.num_columns; ++a) values[a] = stored_value<T>(chunk.columns[a], row);
}

}  // namespace

RowSelection::RowSelection(std::uint32_t most_rows, cudaStream_t stream)
    : stream_(stream), rows_(most_rows), count_(1), scratch_(scratch_bytes(most_rows)) {}

std::uint32_t RowSelection::select(const OrderKey* keys, std::uint32_t num_rows, PartitionSpan partitions) {
  std::size_t bytes = scratch_.size();
  cuda::check(
      run_select(scratch_.data(), bytes, num_rows, {keys, partitions}, rows_.data(), count_.data(), stream_));
  std::uint32_t count = 0;
  cuda::check(cudaMemcpyAsync(&count, count_.data(), sizeof count, cudaMemcpyDeviceToHost, stream_));
  cuda::check(cudaStreamSynchronize(stream_));
  return count;
}

template <typename T>
void launch_collect(const TableChunk& chunk, const OrderKey* keys, const std::uint32_t* selected,
                    std::uint32_t count, const RowsRef& rows, std::uint64_t first, cudaStream_t stream) {
  if (count == 0) return;
  const unsigned num_blocks = (count + kThreads - 1) / kThreads;
  cuda::launch(collect<T>, {.num_blocks = num_blocks, .num_threads = kThreads}, stream, chunk, keys, selected,
               count, rows, first);
}

void copy_rows(const PlacedRows& from, std::uint64_t count, const PlacedRows& to, std::uint64_t first,
               const LeafShape& shape, cudaStream_t stream) {
  if (count == 0) return;
  const auto copy = [&](const auto* source, auto* target, std::size_t each) {
    if (target == nullptr) return;
    cuda::check(cudaMemcpyPeerAsync(target + first * each, to.device, source, from.device,
                                    count * each * sizeof *target, stream));
  };
  copy(from.rows.keys, to.rows.keys, 1);
  copy(from.rows.values, to.rows.values, shape.zone_vector_bytes());
  copy(from.rows.ids, to.rows.ids, 1);
  copy(from.rows.numbers, to.rows.numbers, 1);
}

template void launch_collect<float>(const TableChunk&, const OrderKey*, const std::uint32_t*, std::uint32_t,
                                    const RowsRef&, std::uint64_t, cudaStream_t);
template void launch_collect<double>(const TableChunk&, const OrderKey*, const std::uint32_t*, std::uint32_t,
                                     const RowsRef&, std::uint64_t, cudaStream_t);

}  // namespace culmen::gpu
