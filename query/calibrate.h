// Finds out what work costs on this machine, from searches that are timed; and on its first GPU.
#pragma once

#include <optional>

#include "query/device_costs.h"
#include "query/machine_costs.h"

namespace culmen {

struct MeasuredCosts {
  MachineCosts costs;
  bool is_sure = false;               // else others kept the machine so busy that too few runs agree
  std::optional<DeviceCosts> device;  // of GPU 0, if there is one
};

// Cost: three to five seconds and 320 MiB of memory; up to ten before it gives up on being sure.
MeasuredCosts measure_costs();

}  // namespace culmen
