// The inputs of a k-selection in tests and benchmarks.
#pragma once

#include <cstdint>

#include "select/rank.h"
#include "select/selected_row.h"

namespace culmen::select {

// Arrays of num_rows < 2^32 - 1 values each, in device memory for selections on the GPU.
struct KeyColumns {
  KeyType type = KeyType::float32;
  const void* keys = nullptr;
  // Break ties between equal keys; may be null. If set, both types have 32 bits.
  KeyType second_type = KeyType::float32;
  const void* second_keys = nullptr;
  const std::int64_t* ids = nullptr;  // distinct, and below the largest int64; null: the row numbers
  std::uint32_t num_rows = 0;
  // Distance between the keys of neighbouring rows, in keys, and between their ids, in ids: above 1 for members of a
  // struct.
  std::uint32_t stride = 1;
};

inline constexpr int kMaxScoredColumns = 16;

// Keys computed on the fly: score = fma(weights[c], values[c][row], ...) in float64, in the order of the columns.
struct ScoredColumns {
  const float* values[kMaxScoredColumns] = {};
  double weights[kMaxScoredColumns] = {};
  int num_columns = 0;
  // Only rows with lowest <= filter[row] <= highest; null: all.
  const float* filter = nullptr;
  float lowest = 0, highest = 0;
  std::uint32_t num_rows = 0;
};

}  // namespace culmen::select
