// How much device memory a bulk load takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "culmen/table.h"
#include "index/snapshot.h"

namespace culmen::gpu {

// Bytes that a load of tables of this shape needs for each row and each leaf.
struct LoadRoom {
  std::size_t table_row;  // in the caller's form
  std::size_t row;
  std::size_t leaf;
  std::uint32_t leaf_rows;

  LoadRoom(const TableView& table, int leaf_rows, std::size_t value_bytes);

  std::uint64_t for_rows(std::uint64_t num_rows, std::uint64_t num_leaves) const;
  // If only the number of partitions is known: one leaf of each may be nearly empty.
  std::uint64_t for_table(std::uint64_t num_rows, std::uint64_t num_partitions) const;
};

// The size of a stored value, at most.
std::size_t largest_value_bytes(const TableView& table, ValueType wanted);

}  // namespace culmen::gpu
