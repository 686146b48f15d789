// TableChunks: copies a caller's table to a device, a chunk of rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "culmen/build.h"
#include "culmen/table.h"
#include "gpu/cuda/buffer.h"
#include "index/bound_layout.h"

namespace culmen::gpu {

// A column of a chunk in device memory: the value of row r is at data + r * stride_bytes.
struct ChunkColumn {
  const std::byte* data;
  std::int64_t stride_bytes;
  ElementType type;
  Preference preference;
};

// Rows [first, end) of a table.
struct RowRange {
  std::uint64_t first, end;
  std::uint64_t size() const { return end - first; }
};

// Passed to kernels by value.
struct TableChunk {
  ChunkColumn columns[kMaxGroupedAttributes];
  const std::int64_t* ids;  // null: the rows' numbers
  std::uint64_t first_row;  // in the table
  std::uint32_t num_rows;
  std::int32_t num_columns;
};
static_assert(std::is_trivially_copyable_v<TableChunk>);

class TableChunks {
 public:
  // Of these rows of the table. `stays`: chunks are kept in device memory. Otherwise each overwrites the previous one, so
  // only work on `stream` may use them. The table outlives this. Throws OutOfDeviceMemory or CudaError.
  TableChunks(const TableView& table, RowRange rows, std::uint32_t chunk_rows, bool stays,
              cudaStream_t stream);

  std::uint64_t size() const { return num_chunks_; }
  // Enqueues the copy of chunk i. The first calls take the chunks in order, from 0 on. The caller's memory is in use
  // until the stream has passed this.
  TableChunk get(std::uint64_t i);

  // Device memory for each row of the table.
  static std::size_t row_bytes(const TableView& table);

 private:
  // What is copied together: a column, the ids, or the rows of a row-major matrix.
  struct Lane {
    const std::byte* from;
    std::ptrdiff_t stride_bytes;
    std::size_t row_bytes;  // on the device, without gaps between rows
    bool is_pinned;
    cuda::Buffer<std::byte> on_device;
  };
  // Column i is in a lane, at this offset in each of its rows.
  struct Place {
    std::size_t lane;
    std::size_t offset;
  };

  static bool is_row_major(const TableView& table);
  void add_lane(const std::byte* from, std::ptrdiff_t stride_bytes, std::size_t row_bytes);
  void copy(const Lane& lane, std::uint64_t first_row, std::uint64_t num_rows, std::byte* to);
  void copy_in_pieces(const Lane& lane, std::uint64_t first_row, std::uint64_t num_rows, std::byte* to);
  std::byte* place_of(const Lane& lane, std::uint64_t first_row) const;

  // Pieces in flight: one is filled while others are copied.
  static constexpr std::size_t kNumPieces = 3;

  const TableView& table_;
  const RowRange rows_;
  const std::uint32_t chunk_rows_;
  const bool stays_;
  const cudaStream_t stream_;
  const std::uint64_t num_chunks_;
  std::vector<Lane> lanes_;
  std::vector<Place> places_;  // [num_columns]
  std::uint64_t num_there_ = 0;
  cuda::Buffer<std::byte> pieces_;
  cuda::Event copied_[kNumPieces];
  std::size_t next_piece_ = 0;
};

}  // namespace culmen::gpu
