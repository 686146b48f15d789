// What Index::info reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "culmen/schema.h"

namespace culmen {

struct AttributeInfo {
  std::string name;
  Preference preference = Preference::high;
  double minimum = 0;  // over the index, of the values that are not missing; 0 when there are none
  double maximum = 0;
  StandIn stand_in = StandIn::worst;
  double stand_in_value = 0;  // what Missing::fill ranks
  ColumnFormat format = {};
  bool has_missing = false;  // some row misses it
  // Of the values that are not missing; nullopt unless info(Scale::zscore) was asked for.
  std::optional<double> mean = {}, deviation = {};
  std::optional<std::vector<double>> quantiles = {};  // nullopt unless info(Scale::rank) was asked for
};

struct FieldInfo {
  Field field;
  bool has_missing = false;
  std::uint64_t num_texts = 0;  // in the dictionary of a filter column of text
};

struct IndexInfo {
  std::uint64_t num_rows = 0;
  std::vector<AttributeInfo> attributes;
  std::vector<FieldInfo> fields;
  ValueType value_type = ValueType::float32;
  bool has_labels = false;  // besides ids; never with IdType::text
  IdType id_type = IdType::int64;
  Partitioning partitioning = Partitioning::kd;
  Shells shells = Shells::sums;            // none: left out, although there are enough partitions for them
  RowOrder row_order = RowOrder::largest;  // meaningless beyond 64 attributes
  std::string cluster;                     // the column that rows are clustered by; empty: none
  int num_splits = 0;                      // 0 for random partitions
  std::uint64_t num_partitions = 0;
  int leaf_rows = 0;
  std::uint64_t num_leaves = 0;
  std::uint64_t num_nodes = 0;
  int height = 0;                    // levels of inner nodes
  std::uint64_t data_bytes = 0;      // attributes and ids of the rows
  std::uint64_t overhead_bytes = 0;  // tree, bounds, bookkeeping and empty slots
  // Codes (quantized values), in memory only and not counted above; of all rows, where OpenOptions::codes keeps them, in
  // memory or on the GPU
  std::uint64_t code_bytes = 0;
  // Leaves and nodes that were read since these files were opened; what was given back for
  // OpenOptions::max_memory and read again counts again. 0 with Loading::whole, and of what is in memory.
  std::uint64_t num_reads = 0;
  std::int64_t next_id =
      0;  // what the next row without an id would get; 0 where none is assigned (IdType::uint64, IdType::text)
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
