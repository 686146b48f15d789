#include "gpu/build/load_room.h"

#include <algorithm>

#include "gpu/build/sort.h"
#include "gpu/build/table_chunks.h"
#include "index/build/leaf_cut.h"

namespace culmen::gpu {

LoadRoom::LoadRoom(const TableView& table, int rows_of_a_block, std::size_t value_bytes)
    : table_row(TableChunks::row_bytes(table)), leaf_rows(static_cast<std::uint32_t>(rows_of_a_block)) {
  const LeafShape shape = {table.columns.size(), leaf_rows, value_bytes, false};
  const std::size_t number = table.labels.empty() ? 0 : 2 * sizeof(std::uint64_t);
  row = shape.zone_vector_bytes() + sizeof(OrderKey) + sizeof(std::int64_t) + number + RowSort::kRowBytes;
  const std::size_t node = node_bytes_of(BoundLayout(static_cast<int>(table.columns.size())));
  leaf = shape.leaf_bytes() + leaf_rows * sizeof(std::int64_t) + kZoneVectors * shape.zone_vector_bytes() +
         sizeof(LeafHeader) + sizeof(std::uint32_t) + shape.code_words() * sizeof(std::uint16_t) +
         node / kFanOut + 1;
}

std::uint64_t LoadRoom::for_rows(std::uint64_t num_rows, std::uint64_t num_leaves) const {
  return num_rows * row + num_leaves * leaf;
}

std::uint64_t LoadRoom::for_table(std::uint64_t num_rows, std::uint64_t num_partitions) const {
  return for_rows(num_rows, std::min(num_rows, num_leaves_for(num_rows, leaf_rows) + num_partitions));
}

std::size_t largest_value_bytes(const TableView& table, ValueType wanted) {
  if (wanted == ValueType::float32) return sizeof(float);
  const auto is_float32 = [](const ColumnView& column) { return column.type == ElementType::float32; };
  const bool can_be_wide =
      wanted == ValueType::float64 || !std::all_of(table.columns.begin(), table.columns.end(), is_float32);
  return can_be_wide ? sizeof(double) : sizeof(float);
}

}  // namespace culmen::gpu
