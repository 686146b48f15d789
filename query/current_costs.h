// The constants that this process plans by: those of the calibration file if there is one, read when they are
// first asked for, else the built-in ones; what calibrate() has measured from then on.
#pragma once

#include "query/machine_costs.h"

namespace culmen {

MachineCosts current_costs();

}  // namespace culmen
