// Measures what work costs on this machine, by the engines' own inner loops.
#pragma once

#include "query/machine_costs.h"

namespace culmen {

// Cost: about 0.2 s and 64 MiB of memory. Each figure is the best of several: what else the machine does at
// the time matters little, unless it never pauses.
MachineCosts measure_costs();

}  // namespace culmen
