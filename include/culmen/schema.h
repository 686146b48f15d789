// What an index is made of.
#pragma once

#include <cstdint>
#include <vector>

#include "culmen/table.h"

namespace culmen {

inline constexpr int kMaxAttributes = 64;

// How attribute values are kept. automatic: float32 if every value is exactly one, else float64.
// float32 asked for by name: each value is rounded to the nearest one; info().rounded_values counts those
// that this changed.
enum class ValueType : std::uint8_t { automatic, float32, float64 };

enum class Partitioning : std::uint8_t {
  automatic,  // kd of up to 8 attributes, angle of more, or where num_splits is set; an index says which
  angle,      // by the sum of the attributes, and a row's angles seen from the best corner (GTA, section 3.3)
  random,     // by position in the table
  kd,         // by the sum of the attributes, then halved by whatever attribute spreads the farthest
};

// The columns of an index.
struct Schema {
  std::vector<Attribute> attributes;  // 1 to kMaxAttributes, names unique and not empty
  bool has_labels = false;
};

}  // namespace culmen
