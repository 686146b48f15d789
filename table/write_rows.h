// What the writers of CSV and NPY share: rows are formatted in parallel and written in order.
#pragma once

#include <tbb/parallel_pipeline.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/floating_point_scope.h"
#include "culmen/table.h"
#include "table/output_file.h"

namespace culmen::io {

void write_csv(const Table& table, OutputFile& output);
void write_npy(const Table& table, OutputFile& output);

inline constexpr std::size_t kCellsPerChunk = 1 << 14;

struct Chunk {
  std::size_t first_row = 0;
  std::size_t end_row = 0;
  std::string bytes;
};

// Calls format(first row, end row, bytes) for chunks of the table in parallel and writes the bytes in order.
//
// The chunks form a ring: the last stage runs in order, so when the pipeline admits another chunk, the oldest is free.
template <typename Format>
void write_rows(std::size_t num_rows, std::size_t num_columns, const Format& format, OutputFile& output) {
  const std::size_t chunk_rows = std::max<std::size_t>(1, kCellsPerChunk / num_columns);
  std::vector<Chunk> ring(std::size_t{4} * std::max(1u, std::thread::hardware_concurrency()));
  std::size_t next_row = 0;
  std::size_t num_taken = 0;
  const auto take_rows = [&](tbb::flow_control& control) -> Chunk* {
    if (next_row == num_rows) {
      control.stop();
      return nullptr;
    }
    Chunk& chunk = ring[num_taken++ % ring.size()];
    chunk.first_row = next_row;
    chunk.end_row = next_row += std::min(chunk_rows, num_rows - next_row);
    return &chunk;
  };
  const auto format_rows = [&](Chunk* chunk) {
    const FloatingPointScope floating_point;
    chunk->bytes.clear();
    format(chunk->first_row, chunk->end_row, chunk->bytes);
    return chunk;
  };
  const auto write_bytes = [&](Chunk* chunk) { output.write(chunk->bytes); };
  tbb::parallel_pipeline(ring.size(),
                         tbb::make_filter<void, Chunk*>(tbb::filter_mode::serial_in_order, take_rows) &
                             tbb::make_filter<Chunk*, Chunk*>(tbb::filter_mode::parallel, format_rows) &
                             tbb::make_filter<Chunk*, void>(tbb::filter_mode::serial_in_order, write_bytes));
}

template <Element T>
T load(const ColumnView& column, std::size_t row) {
  T value;
  std::memcpy(&value, column.data + static_cast<std::ptrdiff_t>(row) * column.stride_bytes, sizeof(T));
  return value;
}

}  // namespace culmen::io
