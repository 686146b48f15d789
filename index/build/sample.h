// The sample of a table's rows from which partitions are chosen.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace culmen {

// The row of the table that is row i of the sample; one past the last gives one past the table's last. The
// product fits: a sample has less than 2^26 rows.
CULMEN_HOST_DEVICE inline std::uint64_t row_of_sample(std::uint64_t i, std::uint64_t sample_rows,
                                                      std::uint64_t num_rows) {
  return i * num_rows / sample_rows;
}

// The first row of the sample that is not before row `row` of the table.
inline std::uint64_t first_sample_from(std::uint64_t row, std::uint64_t sample_rows, std::uint64_t num_rows) {
  return (row * sample_rows + num_rows - 1) / num_rows;
}

}  // namespace culmen
