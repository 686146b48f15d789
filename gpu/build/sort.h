// Sorting rows on a device: by key and then by id. The sort by keys keeps the order of equal ones, so rows
// that stand in the order of their ids need no other; the rest are sorted by ids before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/cuda/buffer.h"
#include "index/order_key.h"

namespace culmen::gpu {

class RowSort {
 public:
  // Memory for up to `num_rows` < 2^31 rows. Throws OutOfDeviceMemory or CudaError.
  RowSort(std::uint32_t num_rows, cudaStream_t stream);

  // Enqueues the sort of rows; keys[num_rows] stay as they are. ids: null if they ascend with the rows.
  // Returns the rows in order, in device memory, until the next call.
  const std::uint32_t* by_key(const OrderKey* keys, const std::int64_t* ids, std::uint32_t num_rows);

  // Whether all ids differ; waits.
  bool are_unique(const std::int64_t* ids, std::uint32_t num_rows);

  // Device memory for a row, and beside the rows, about.
  static constexpr std::size_t kRowBytes = 2 * sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t);
  static constexpr std::size_t kMoreBytes = 64 << 20;

 private:
  void start_by_id(const std::int64_t* ids, std::uint32_t num_rows);
  void sort(std::uint32_t num_rows);

  cudaStream_t stream_;
  // Sorting moves from one buffer of each pair to the other and back; current_ says where the last one ended.
  cuda::Buffer<std::uint64_t> keys_[2];
  cuda::Buffer<std::uint32_t> rows_[2];
  cuda::Buffer<std::byte> scratch_;
  cuda::Buffer<std::uint32_t> flag_;
  int current_keys_ = 0, current_rows_ = 0;
};

}  // namespace culmen::gpu
