#include "gpu/build/table_chunks.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>

namespace culmen::gpu {
namespace {

// Large enough to keep the bus busy, small enough that the first copy starts soon.
constexpr std::size_t kPieceBytes = 16 << 20;
// Rows that a task gathers.
constexpr std::uint64_t kGrain = 1 << 15;

std::size_t element_bytes(ElementType type) {
  return type == ElementType::float32 || type == ElementType::int32 ? 4 : 8;
}

template <std::size_t kSize>
void gather(const std::byte* from, std::ptrdiff_t stride_bytes, std::uint64_t count, std::byte* to) {
  for (std::uint64_t r = 0; r < count; ++r, from += stride_bytes, to += kSize) std::memcpy(to, from, kSize);
}

}  // namespace

TableChunks::TableChunks(const TableView& table, RowRange rows, std::uint32_t chunk_rows, bool stays,
                         cudaStream_t stream)
    : table_(table),
      rows_(rows),
      chunk_rows_(chunk_rows),
      stays_(stays),
      stream_(stream),
      num_chunks_((rows.size() + chunk_rows - 1) / chunk_rows) {
  if (is_row_major(table)) {
    const std::byte* first = table.columns[0].data;
    for (const ColumnView& column : table.columns) first = std::min(first, column.data);
    add_lane(first, table.columns[0].stride_bytes, static_cast<std::size_t>(table.columns[0].stride_bytes));
    for (const ColumnView& column : table.columns)
      places_.push_back({0, static_cast<std::size_t>(column.data - first)});
  } else {
    for (const ColumnView& column : table.columns) {
      places_.push_back({lanes_.size(), 0});
      add_lane(column.data, column.stride_bytes, element_bytes(column.type));
    }
  }
  if (!table.ids.empty())
    add_lane(reinterpret_cast<const std::byte*>(table.ids.data()), sizeof(std::int64_t),
             sizeof(std::int64_t));
}

std::size_t TableChunks::row_bytes(const TableView& table) {
  std::size_t bytes = table.ids.empty() ? 0 : sizeof(std::int64_t);
  for (const ColumnView& column : table.columns) bytes += element_bytes(column.type);
  return bytes;
}

// Columns of one type that fill each row, in any order, without gaps.
bool TableChunks::is_row_major(const TableView& table) {
  const std::size_t size = element_bytes(table.columns[0].type);
  const auto stride = static_cast<std::ptrdiff_t>(size * table.columns.size());
  std::vector<const std::byte*> starts;
  for (const ColumnView& column : table.columns) {
    if (element_bytes(column.type) != size || column.stride_bytes != stride) return false;
    starts.push_back(column.data);
  }
  std::sort(starts.begin(), starts.end());
  for (std::size_t i = 0; i < starts.size(); ++i)
    if (starts[i] != starts[0] + i * size) return false;
  return true;
}

void TableChunks::add_lane(const std::byte* from, std::ptrdiff_t stride_bytes, std::size_t row_bytes) {
  const std::uint64_t num_rows = table_.num_rows;
  const bool is_dense = stride_bytes == static_cast<std::ptrdiff_t>(row_bytes);
  const bool pinned = is_dense && cuda::is_pinned(from, num_rows * row_bytes);
  const std::uint64_t rows_on_device =
      stays_ ? rows_.size() : std::min<std::uint64_t>(rows_.size(), chunk_rows_);
  lanes_.push_back(
      {from, stride_bytes, row_bytes, pinned, cuda::Buffer<std::byte>(rows_on_device * row_bytes)});
}

std::byte* TableChunks::place_of(const Lane& lane, std::uint64_t first_row) const {
  return lane.on_device.data() + (stays_ ? (first_row - rows_.first) * lane.row_bytes : 0);
}

TableChunk TableChunks::get(std::uint64_t i) {
  const std::uint64_t first_row = rows_.first + i * chunk_rows_;
  const std::uint64_t num_rows = std::min<std::uint64_t>(chunk_rows_, rows_.end - first_row);
  if (!stays_ || i >= num_there_)
    for (const Lane& lane : lanes_) copy(lane, first_row, num_rows, place_of(lane, first_row));
  num_there_ = std::max(num_there_, i + 1);
  TableChunk chunk = {};
  for (std::size_t c = 0; c < places_.size(); ++c) {
    const Lane& lane = lanes_[places_[c].lane];
    chunk.columns[c] = {place_of(lane, first_row) + places_[c].offset,
                        static_cast<std::int64_t>(lane.row_bytes), table_.columns[c].type,
                        table_.attributes[c].preference};
  }
  if (!table_.ids.empty())
    chunk.ids = reinterpret_cast<const std::int64_t*>(place_of(lanes_.back(), first_row));
  chunk.first_row = first_row;
  chunk.num_rows = static_cast<std::uint32_t>(num_rows);
  chunk.num_columns = static_cast<std::int32_t>(places_.size());
  return chunk;
}

void TableChunks::copy(const Lane& lane, std::uint64_t first_row, std::uint64_t num_rows, std::byte* to) {
  if (!lane.is_pinned) {
    copy_in_pieces(lane, first_row, num_rows, to);
    return;
  }
  cuda::check(cudaMemcpyAsync(to, lane.from + first_row * lane.row_bytes, num_rows * lane.row_bytes,
                              cudaMemcpyHostToDevice, stream_));
}

void TableChunks::copy_in_pieces(const Lane& lane, std::uint64_t first_row, std::uint64_t num_rows,
                                 std::byte* to) {
  cuda::grow(pieces_, kNumPieces * kPieceBytes, cuda::Memory::pinned);
  const std::size_t size = lane.row_bytes;
  const std::uint64_t piece_rows = kPieceBytes / size;
  for (std::uint64_t first = 0; first < num_rows; first += piece_rows) {
    const std::uint64_t count = std::min(piece_rows, num_rows - first);
    const std::size_t p = next_piece_++ % kNumPieces;
    std::byte* piece = pieces_.data() + p * kPieceBytes;
    copied_[p].synchronize();
    const auto fill = [&](const tbb::blocked_range<std::uint64_t>& rows) {
      const auto start = static_cast<std::ptrdiff_t>(first_row + first + rows.begin());
      const std::byte* from = lane.from + start * lane.stride_bytes;
      std::byte* target = piece + rows.begin() * size;
      if (lane.stride_bytes == static_cast<std::ptrdiff_t>(size)) {
        std::memcpy(target, from, rows.size() * size);
        return;
      }
      if (size == 4) {
        gather<4>(from, lane.stride_bytes, rows.size(), target);
      } else {
        gather<8>(from, lane.stride_bytes, rows.size(), target);
      }
    };
    tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, kGrain), fill);
    cuda::check(cudaMemcpyAsync(to + first * size, piece, count * size, cudaMemcpyHostToDevice, stream_));
    copied_[p].record(stream_);
  }
}

}  // namespace culmen::gpu
