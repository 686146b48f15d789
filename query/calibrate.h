// Measures what work costs on this machine, by the engines' own inner loops.
#pragma once

#include "query/machine_costs.h"

namespace culmen {

// Cost: about half a second and 64 MiB of memory. Each figure is the median of short runs, so that what else
// the machine does matters only if it never pauses.
MachineCosts measure_costs();

}  // namespace culmen
