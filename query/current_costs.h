// The constants that this process plans by: those of the calibration file if there is one, read when they are
// first asked for, else the built-in ones; what calibrate() has measured from then on.
#pragma once

#include <optional>

#include "query/device_costs.h"
#include "query/machine_costs.h"

namespace culmen {

MachineCosts current_costs();
// The costs of GPU 0; nullopt if there is none.
std::optional<DeviceCosts> current_device_costs();

}  // namespace culmen
