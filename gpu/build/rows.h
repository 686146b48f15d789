// The rows that a device sorts at once: those of some partitions, collected from the table's chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "gpu/build/leaf_shares.h"
#include "gpu/build/table_chunks.h"
#include "gpu/cuda/buffer.h"
#include "index/order_key.h"
#include "index/slot_arena.h"

namespace culmen::gpu {

// Pointers to device memory. Values are row-major, because rows are gathered one by one.
struct RowsRef {
  OrderKey* keys;          // [num_rows]
  std::byte* values;       // [num_rows][num_attributes] as stored
  std::int64_t* ids;       // [num_rows]
  std::uint64_t* numbers;  // [num_rows] in the table; null: not needed
};
static_assert(std::is_trivially_copyable_v<RowsRef>);

// The memory. Throws OutOfDeviceMemory or CudaError.
class Rows {
 public:
  Rows(const LeafShape& shape, std::uint64_t num_rows)
      : size_(num_rows),
        keys_(num_rows),
        values_(num_rows * shape.zone_vector_bytes()),
        ids_(num_rows),
        numbers_(shape.has_labels ? num_rows : 0) {}

  std::uint64_t size() const { return size_; }
  RowsRef ref() const { return {keys_.data(), values_.data(), ids_.data(), numbers_.data()}; }

 private:
  std::uint64_t size_;
  cuda::Buffer<OrderKey> keys_;
  cuda::Buffer<std::byte> values_;  // a row has the size of a zone vector
  cuda::Buffer<std::int64_t> ids_;
  cuda::Buffer<std::uint64_t> numbers_;
};

// Selects the rows of a chunk that belong to some partitions.
class RowSelection {
 public:
  // Chunks may have up to `most_rows` rows. Throws OutOfDeviceMemory or CudaError.
  RowSelection(std::uint32_t most_rows, cudaStream_t stream);

  // keys: of the chunk's rows. Waits. Returns how many there are.
  std::uint32_t select(const OrderKey* keys, std::uint32_t num_rows, PartitionSpan partitions);
  // In ascending order, in device memory.
  const std::uint32_t* rows() const { return rows_.data(); }

 private:
  cudaStream_t stream_;
  cuda::Buffer<std::uint32_t> rows_, count_;
  cuda::Buffer<std::byte> scratch_;
};

// Enqueues the copy of rows of a chunk to rows [first, first + count): those of `selected`, or the first `count` of
// the chunk if that is null. keys: of the chunk's rows; null: already copied.
template <typename T>
void launch_collect(const TableChunk& chunk, const OrderKey* keys, const std::uint32_t* selected,
                    std::uint32_t count, const RowsRef& rows, std::uint64_t first, cudaStream_t stream);

// Rows in the memory of a device.
struct PlacedRows {
  RowsRef rows;
  int device;
};
// Enqueues the copy of rows [0, count) to rows [first, first + count) of the other, whose device may be another.
void copy_rows(const PlacedRows& from, std::uint64_t count, const PlacedRows& to, std::uint64_t first,
               const LeafShape& shape, cudaStream_t stream);

}  // namespace culmen::gpu
