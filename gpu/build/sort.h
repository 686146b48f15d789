// RowSort: sorts rows on a device by key and then by id. The sort by key is stable, so rows that are in the order of
// their ids need no other; others are sorted by id first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpu/cuda/buffer.h"
#include "index/order_key.h"

namespace culmen::gpu {

class RowSort {
 public:
  // For up to `num_rows` < 2^31 rows. Throws OutOfDeviceMemory or CudaError.
  RowSort(std::uint32_t num_rows, cudaStream_t stream);

  // Enqueues the sort of rows; keys[num_rows] are not changed. ids: null if they ascend with the rows.
  // Returns the rows in order, in device memory, until the next call. key_bits: those above are 0 in all keys.
  const std::uint32_t* by_key(const OrderKey* keys, const std::int64_t* ids, std::uint32_t num_rows,
                              int key_bits = 64);

  // Returns true if all ids differ; waits.
  bool are_unique(const std::int64_t* ids, std::uint32_t num_rows);

  // Device memory for each row, and beside the rows, approximately.
  static constexpr std::size_t kRowBytes = 2 * sizeof(std::uint64_t) + 2 * sizeof(std::uint32_t);
  static constexpr std::size_t kMoreBytes = 64 << 20;

 private:
  void start_by_id(const std::int64_t* ids, std::uint32_t num_rows);
  void sort(std::uint32_t num_rows, int key_bits);

  cudaStream_t stream_;
  // Each sort moves rows from one buffer of a pair to the other; current_ is where the last one ended.
  cuda::Buffer<std::uint64_t> keys_[2];
  cuda::Buffer<std::uint32_t> rows_[2];
  cuda::Buffer<std::byte> scratch_;
  cuda::Buffer<std::uint32_t> flag_;
  int current_keys_ = 0, current_rows_ = 0;
};

}  // namespace culmen::gpu
