// What Index::info reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "culmen/schema.h"

namespace culmen {

struct AttributeInfo {
  std::string name;
  Preference preference = Preference::high;
  double minimum = 0;  // over the index; 0 when it is empty
  double maximum = 0;
};

struct IndexInfo {
  std::uint64_t num_rows = 0;
  std::vector<AttributeInfo> attributes;
  ValueType value_type = ValueType::float32;
  bool has_labels = false;
  Partitioning partitioning = Partitioning::kd;
  int num_splits = 0;  // 0 for random partitions
  std::uint64_t num_partitions = 0;
  int leaf_rows = 0;
  std::uint64_t num_leaves = 0;
  std::uint64_t num_nodes = 0;
  int height = 0;                    // levels of inner nodes
  std::uint64_t data_bytes = 0;      // attributes and ids of the rows
  std::uint64_t overhead_bytes = 0;  // tree, bounds, bookkeeping and empty slots
  std::uint64_t code_bytes = 0;      // codes (quantized values), in memory only and not counted above
  std::uint64_t rounded_values = 0;  // values changed by ValueType::float32
  // Identifies the index, 32 hexadecimal digits: drawn when it is saved to a directory, and kept through all changes
  // there. Empty if it was not opened from a directory.
  std::string uuid;
  std::uint64_t version = 0;
  // True if there are at least 1.3 times as many leaves as in a fresh build: Index::compact would make the index
  // smaller.
  bool compact_advised = false;
};

}  // namespace culmen
