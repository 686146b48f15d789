// How a partition is cut into leaves: as few as its rows need, all equally full, so that each has some free room.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace culmen {

CULMEN_HOST_DEVICE inline std::uint64_t num_leaves_for(std::uint64_t num_rows, std::uint64_t leaf_rows) {
  return (num_rows + leaf_rows - 1) / leaf_rows;
}

// The position in the partition where leaf `leaf` begins and the one before it ends. leaf = num_leaves gives num_rows.
CULMEN_HOST_DEVICE inline std::uint64_t first_row_of_leaf(std::uint64_t num_rows, std::uint64_t leaf,
                                                          std::uint64_t num_leaves) {
  return num_rows * leaf / num_leaves;
}

}  // namespace culmen
