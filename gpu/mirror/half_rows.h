// The rows of a table of many attributes once more, in half precision and row by row, for the products of batches
// (gpu/search/products.cuh): in units of bounds, so that all attributes have numbers of the same size.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "base/half.h"
#include "gpu/mirror/leaf_columns.h"
#include "index/node_layout.h"

namespace culmen::gpu {

// A value v becomes (v - origin) * inverse, and that the nearest binary16 number.
struct HalfUnit {
  double origin, inverse;
};

// Of the rows of a leaf the largest, rounded up: the length of their numbers, that of what these lost by rounding, and the
// length of (v - origin) in the largest of all units. Infinity if a value is so far outside of the build's range that its
// number is.
struct HalfLeaf {
  float norm, loss, length;
  std::uint32_t padding;
};

// Tables of fewer attributes do without: boxes around leaves exclude more than products cost.
inline constexpr std::size_t kMinHalfAttributes = 33;

// As the numbers of a row are read: kHalfDepth at a time.
inline constexpr std::uint32_t kHalfDepth = 32;
constexpr std::uint32_t half_stride(std::size_t num_attributes) {
  return static_cast<std::uint32_t>((num_attributes + kHalfDepth - 1) / kHalfDepth * kHalfDepth);
}

// By slot of a leaf, as in MirrorRef.
struct HalfRows {
  const HalfUnit* units;  // [num_attributes]
  Half* rows;             // [][leaf_rows][stride], 0 beyond the attributes; null: there are none
  HalfLeaf* leaves;       // []
  double largest_unit;
  std::uint32_t stride;
};

// Enqueues the writes for these leaves, of which rows and headers are written. All in device memory, but for rows,
// which may be in pinned memory. Throws CudaError.
//
//   from  rows of type T (gpu/mirror/leaf_columns.h)
template <typename T>
void launch_write_half_rows(const std::uint32_t* slots, std::uint32_t num_leaves, const SlotRows& from,
                            const LeafHeader* leaves, const HalfRows& to, cudaStream_t stream);

}  // namespace culmen::gpu
