// JointCells: how an attribute's range is divided for the tables of query/joint_terms.h, for host and device.
#pragma once

#include <cstdint>

#include "base/host_device.h"

namespace culmen {

struct JointCells {
  static constexpr std::uint32_t kCells = 64;

  double minimum, cells_per_unit;

  CULMEN_HOST_DEVICE std::uint32_t cell_of(double value) const {
    const double cell = (value - minimum) * cells_per_unit;
    if (!(cell > 0)) return 0;  // NaN as well
    return cell < kCells - 1 ? static_cast<std::uint32_t>(cell) : kCells - 1;
  }
};

}  // namespace culmen
