// The shape of a sweep's thread blocks, and what they keep in shared memory.
#pragma once

#include <cuda_fp16.h>

#include <cstddef>
#include <cstdint>

#include "gpu/search/half_tiles.cuh"
#include "gpu/search/leaf_rows.cuh"

namespace culmen::gpu {

inline constexpr unsigned kSweepThreads = 256;
inline constexpr unsigned kSweepWarps = kSweepThreads / kWarpSize;
// Leaves that a thread block takes at once, all of one node.
inline constexpr std::uint32_t kLeavesAtOnce = 8;
// Queries that it takes at once, at most: one for each thread.
inline constexpr std::uint32_t kMaxChunk = kSweepThreads;

// kSteps: of kHalfStep attributes.
template <int kSteps>
inline constexpr std::uint32_t kTileStride = kSteps* kHalfStep + kHalfPadding;

// A side of the box around the leaves: the range of one attribute, in bound units.
struct Side {
  float middle, extent;
  float farthest;   // from the origin
  float per_value;  // what a value, less the minimum, is multiplied by to be 0 .. 1
};

// What the product of a row and a query must reach, and the factor of the query's numbers in it.
struct RowBound {
  float least, factor;
};

// A row that may reach a query's k-th score bound. `query` is its number in the chunk.
struct Offer {
  std::uint32_t leaf;
  std::uint16_t row, query;
};
inline constexpr std::uint32_t kMaxOffers = 512;

// A thread block's dynamic shared memory. Arrays of [chunk] are indexed by query of the chunk; `query_tile` by
// position in the list, `listed`.
template <typename T>
struct SweepMemory {
  Side* sides;            // [num_attributes]
  T* minima;              // [num_attributes]
  float* weights;         // [num_attributes][chunk]
  float* kth_bounds;      // [chunk] less the score at the origins
  std::uint32_t* work;    // [chunk] leaves whose rows were bounded
  std::uint32_t* rows;    // [chunk] rows in them
  RowBound* bounds;       // [chunk]
  std::uint16_t* listed;  // [chunk] queries whose k-th score bounds the leaves may reach
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

// The leaves that a thread block takes at once, in static shared memory.
struct SweepLeaves {
  std::uint32_t count;
  std::uint32_t slots[kLeavesAtOnce], num_rows[kLeavesAtOnce];
  std::uint32_t alive[kMaxChunk / kWarpSize];  // queries whose k-th score bounds they may reach, a bit each
  std::uint32_t all_rows;
  std::uint32_t num_listed;
  std::uint32_t num_offers;  // includes those beyond kMaxOffers
};
__device__ inline SweepLeaves& sweep_leaves() {
  __shared__ SweepLeaves leaves;
  return leaves;
}

}  // namespace culmen::gpu
