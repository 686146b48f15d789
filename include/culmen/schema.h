// The schema of an index: columns, value type, partitioning.
#pragma once

#include <cstdint>
#include <vector>

#include "culmen/table.h"

namespace culmen {

inline constexpr int kMaxAttributes = 64;

// How attribute values are stored. automatic: float32 if that holds every value exactly, else float64. float32: values
// are rounded to nearest; info().rounded_values counts those that changed.
enum class ValueType : std::uint8_t { automatic, float32, float64 };

enum class Partitioning : std::uint8_t {
  automatic,  // kd for up to 8 attributes, angle for more or if num_splits is set; info() has the choice
  angle,   // by the sum of the attributes, then by the row's angles from the best corner (GTA, section 3.3)
  random,  // by position in the table
  kd,      // by the sum of the attributes, then by repeated halving on the attribute with the widest spread
};

// The columns of an index.
struct Schema {
  std::vector<Attribute> attributes;  // 1 to kMaxAttributes, names unique and not empty
  bool has_labels = false;
};

}  // namespace culmen
