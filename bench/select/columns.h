// What tests and benchmarks select from.
#pragma once

#include <cstdint>

#include "select/rank.h"
#include "select/selected_row.h"

namespace culmen::select {

// Arrays, all of num_rows < 2^32 - 1 values: on the card for selections there.
struct KeyColumns {
  KeyType type = KeyType::float32;
  const void* keys = nullptr;
  // Keys that decide between equal first ones, or null. Both then have 32 bits.
  KeyType second_type = KeyType::float32;
  const void* second_keys = nullptr;
  const std::int64_t* ids = nullptr;  // all different, none the largest there is; null: a row's own number
  std::uint32_t num_rows = 0;
  // From a row's key to the next row's, in keys, and from id to id in ids: more where they are members of a
  // struct.
  std::uint32_t stride = 1;
};

inline constexpr int kMaxScoredColumns = 16;

// Keys made on the fly: score = fma(weights[c], values[c][row], ...) in float64, in the order of the columns.
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
