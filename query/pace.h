// How fast the processor is at present, by a fixed search that takes a few microseconds. A processor changes
// its speed from one second to the next, by half and more where others share its cores, and calibration found
// it in one of these states: predictions have to tell the time of another.
#pragma once

#include <functional>

#include "query/machine_costs.h"

namespace culmen {

// The search, for calibration.
std::function<void()> pace_work();

// The costs as they are at present: all by the same factor, which the search tells. Cost: some 100 us, and
// a millisecond once.
MachineCosts at_present_pace(MachineCosts costs);

}  // namespace culmen
