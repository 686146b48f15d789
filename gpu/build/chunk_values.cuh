// Reads the values of a chunk in kernels.
#pragma once

#include "gpu/build/table_chunks.h"

namespace culmen::gpu {

template <typename Element>
__device__ Element element(const ChunkColumn& column, std::uint32_t row) {
  return *reinterpret_cast<const Element*>(column.data + row * column.stride_bytes);
}

// The stored form, as gather_column of index/columns.h writes it: oriented, rounded to T, never -0.
template <typename T>
__device__ T stored_value(const ChunkColumn& column, std::uint32_t row) {
  T value = 0;
  switch (column.type) {
    case ElementType::float32:
      value = static_cast<T>(element<float>(column, row));
      break;
    case ElementType::float64:
      value = static_cast<T>(element<double>(column, row));
      break;
    case ElementType::int32:
      value = static_cast<T>(element<std::int32_t>(column, row));
      break;
    case ElementType::int64:
      value = static_cast<T>(element<std::int64_t>(column, row));
      break;
  }
  return value * (column.preference == Preference::low ? T{-1} : T{1}) + T{0};
}

__device__ inline std::int64_t id_of(const TableChunk& chunk, std::uint32_t row) {
  return chunk.ids == nullptr ? static_cast<std::int64_t>(chunk.first_row + row) : chunk.ids[row];
}

}  // namespace culmen::gpu
