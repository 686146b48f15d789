// What a thread block of a sweep keeps in shared memory.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "gpu/search/leaf_rows.cuh"

namespace culmen::gpu {

// Of the box around the leaves and an attribute, in units of bounds.
struct Side {
  float middle, extent;
  float farthest;   // from the origin
  float per_value;  // what a value, less the minimum, is multiplied by to be 0 .. 1
};

// What the product of a row and a query must reach, and the factor of the query's numbers.
struct RowBound {
  float least, factor;
};

// A row that may reach a query's k-th score bound, by the query's entry in the chunk.
struct Offer {
  std::uint32_t leaf;
  std::uint16_t row, query;
};
inline constexpr std::uint32_t kMaxOffers = 512;

// A thread block's shared memory. What is [chunk] is by query of the chunk, but for the list of those that are looked at and
// their tile, which is by entry in the list.
template <typename T>
struct SweepMemory {
  Side* sides;            // [num_attributes]
  T* minima;              // [num_attributes]
  float* weights;         // [num_attributes][chunk]
  float* kth_bounds;      // [chunk] less the score at the origins
  std::uint32_t* work;    // [chunk] leaves looked at,
  std::uint32_t* rows;    // [chunk] and rows in them
  RowBound* bounds;       // [chunk]
  std::uint16_t* listed;  // [chunk]
  __half* query_tile;     // [chunk][stride]
  __half* row_tiles;      // [2][kRowsAtOnce][stride]
  Offer* offers;          // [kMaxOffers]

  // Lays it out from `memory` on; returns its size.
  __host__ __device__ std::size_t lay_out(std::byte* memory, std::uint32_t chunk,
                                          std::uint32_t num_attributes, std::uint32_t tile_stride) {
    std::size_t size = 0;
    const auto take = [&]<typename Item>(Item*& items, std::size_t count) {
      items = reinterpret_cast<Item*>(memory + size);
      size += (count * sizeof(Item) + 15) / 16 * 16;
    };
    take(sides, num_attributes);
    take(minima, num_attributes);
    take(weights, num_attributes * chunk);
    take(kth_bounds, chunk);
    take(work, chunk);
    take(rows, chunk);
    take(bounds, chunk);
    take(listed, chunk);
    take(query_tile, chunk * tile_stride);
    take(row_tiles, 2 * kRowsAtOnce * tile_stride);
    take(offers, kMaxOffers);
    return size;
  }
};

}  // namespace culmen::gpu
