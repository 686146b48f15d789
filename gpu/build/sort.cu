#include "gpu/build/sort.h"

#include <cub/device/device_radix_sort.cuh>

#include "gpu/cuda/launch.h"

namespace culmen::gpu {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::uint64_t kSignBit = std::uint64_t{1} << 63;

cuda::Shape a_thread_each(std::uint32_t num_rows) {
  return {.num_blocks = (num_rows + kThreads - 1) / kThreads, .num_threads = kThreads};
}

__device__ std::uint32_t this_row() {
  return blockIdx.x * kThreads + threadIdx.x;
}

__global__ void __launch_bounds__(kThreads) number(std::uint32_t* rows, std::uint32_t num_rows) {
  if (this_row() < num_rows) rows[this_row()] = this_row();
}

// Ids as unsigned integers in the same order.
__global__ void __launch_bounds__(kThreads)
    write_id_keys(const std::int64_t* ids, std::uint64_t* keys, std::uint32_t num_rows) {
  if (this_row() < num_rows) keys[this_row()] = static_cast<std::uint64_t>(ids[this_row()]) ^ kSignBit;
}

__global__ void __launch_bounds__(kThreads)
    gather_keys(const OrderKey* keys, const std::uint32_t* rows, std::uint64_t* to, std::uint32_t num_rows) {
  if (this_row() < num_rows) to[this_row()] = keys[rows[this_row()]];
}

__global__ void __launch_bounds__(kThreads)
    find_equal_neighbours(const std::uint64_t* keys, std::uint32_t num_rows, std::uint32_t* is_found) {
  const std::uint32_t i = this_row() + 1;
  if (i < num_rows && keys[i] == keys[i - 1]) *is_found = 1;  // all threads write the same value
}

std::size_t scratch_bytes(std::uint32_t num_rows) {
  std::size_t bytes = 0;
  cub::DoubleBuffer<std::uint64_t> keys;
  cub::DoubleBuffer<std::uint32_t> rows;
  cuda::check(cub::DeviceRadixSort::SortPairs(nullptr, bytes, keys, rows, num_rows));
  return bytes;
}

}  // namespace

RowSort::RowSort(std::uint32_t num_rows, cudaStream_t stream)
    : stream_(stream),
      keys_{cuda::Buffer<std::uint64_t>(num_rows), cuda::Buffer<std::uint64_t>(num_rows)},
      rows_{cuda::Buffer<std::uint32_t>(num_rows), cuda::Buffer<std::uint32_t>(num_rows)},
      scratch_(scratch_bytes(num_rows)),
      flag_(1) {}

// The smallest sufficient scratch memory: cub needs more if it must not write to its input.
void RowSort::sort(std::uint32_t num_rows, int key_bits) {
  cub::DoubleBuffer<std::uint64_t> keys(keys_[current_keys_].data(), keys_[1 - current_keys_].data());
  cub::DoubleBuffer<std::uint32_t> rows(rows_[current_rows_].data(), rows_[1 - current_rows_].data());
  std::size_t bytes = scratch_.size();
  cuda::check(
      cub::DeviceRadixSort::SortPairs(scratch_.data(), bytes, keys, rows, num_rows, 0, key_bits, stream_));
  if (keys.selector != 0) current_keys_ = 1 - current_keys_;
  if (rows.selector != 0) current_rows_ = 1 - current_rows_;
}

void RowSort::start_by_id(const std::int64_t* ids, std::uint32_t num_rows) {
  cuda::launch(write_id_keys, a_thread_each(num_rows), stream_, ids, keys_[current_keys_].data(), num_rows);
  sort(num_rows, 64);
}

const std::uint32_t* RowSort::by_key(const OrderKey* keys, const std::int64_t* ids, std::uint32_t num_rows,
                                     int key_bits) {
  cuda::launch(number, a_thread_each(num_rows), stream_, rows_[current_rows_].data(), num_rows);
  if (ids != nullptr) start_by_id(ids, num_rows);
  cuda::launch(gather_keys, a_thread_each(num_rows), stream_, keys, rows_[current_rows_].data(),
               keys_[current_keys_].data(), num_rows);
  sort(num_rows, key_bits);
  return rows_[current_rows_].data();
}

bool RowSort::are_unique(const std::int64_t* ids, std::uint32_t num_rows) {
  cuda::launch(number, a_thread_each(num_rows), stream_, rows_[current_rows_].data(), num_rows);
  start_by_id(ids, num_rows);
  cuda::check(cudaMemsetAsync(flag_.data(), 0, flag_.size_bytes(), stream_));
  cuda::launch(find_equal_neighbours, a_thread_each(num_rows), stream_, keys_[current_keys_].data(), num_rows,
               flag_.data());
  std::uint32_t is_found = 0;
  cuda::check(cudaMemcpyAsync(&is_found, flag_.data(), sizeof is_found, cudaMemcpyDeviceToHost, stream_));
  cuda::check(cudaStreamSynchronize(stream_));
  return is_found == 0;
}

}  // namespace culmen::gpu
