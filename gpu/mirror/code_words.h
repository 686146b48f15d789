// The rows of a table once more, with 4 bits a value as index/leaf_codes.h defines them: up to 8 attributes of a row are one
// word. A scan reads these, and the values of the few leaves of which a row may be in the answer.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "gpu/mirror/half_rows.h"
#include "gpu/mirror/leaf_columns.h"
#include "index/node_layout.h"

namespace culmen::gpu {

inline constexpr std::size_t kCodesOfWord = 8;
// Tables of more attributes have rows in half precision.
inline constexpr std::size_t kMaxCodedAttributes = kMinHalfAttributes - 1;
constexpr std::uint32_t num_code_words_of_row(std::size_t num_attributes) {
  return static_cast<std::uint32_t>((num_attributes + kCodesOfWord - 1) / kCodesOfWord);
}

// The stride of a leaf's rows: whole warps read them.
constexpr std::uint32_t code_stride(std::size_t leaf_rows) {
  return static_cast<std::uint32_t>((leaf_rows + 31) / 32 * 32);
}

// By slot of a leaf, as in MirrorRef. Attribute a of a row is in its word a / 8, at bit 4 * (a % 8). Behind the last row of a
// leaf its codes repeat, so that readers need not know how many rows there are.
struct CodeWords {
  std::uint32_t* words;  // [][num_words][stride]; null: there are none
  std::uint32_t num_words, stride;
};

// Enqueues the writes for these leaves, of which rows, zone maps and headers are written. All in device memory, but for
// rows, which may be in pinned memory. Throws CudaError.
//
//   rows      of type T (gpu/mirror/leaf_columns.h)
//   zone_map  [][kZoneVectors][num_attributes] of ValueOf<T>
template <typename T>
void launch_write_codes(const std::uint32_t* slots, std::uint32_t num_leaves, const SlotRows& rows,
                        const ValueOf<T>* zone_map, const LeafHeader* leaves, const CodeWords& to,
                        cudaStream_t stream);

}  // namespace culmen::gpu
