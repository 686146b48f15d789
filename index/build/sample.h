// The sample of a table from which partitions and usual ranges are chosen: rows at equal distances.
#pragma once

#include <cstdint>
#include <memory>

#include "base/host_device.h"
#include "culmen/schema.h"
#include "culmen/table.h"
#include "index/row_chunk.h"

namespace culmen {

// The table's row that is row i of the sample. i = sample_rows gives num_rows. The product does not overflow: a sample
// has less than 2^26 rows.
CULMEN_HOST_DEVICE inline std::uint64_t row_of_sample(std::uint64_t i, std::uint64_t sample_rows,
                                                      std::uint64_t num_rows) {
  return i * num_rows / sample_rows;
}

// The first row of the sample that is not before row `row` of the table.
inline std::uint64_t first_sample_from(std::uint64_t row, std::uint64_t sample_rows, std::uint64_t num_rows) {
  return (row * sample_rows + num_rows - 1) / num_rows;
}

// The sampled rows as they are stored: see read_rows.
RowChunk read_sample(const TableView& table, ValueType value_type, std::uint64_t sample_rows,
                     const std::shared_ptr<ArrayMemory>& memory = nullptr);

}  // namespace culmen
