// How slow this processor is at present, beside the one that the built-in costs are of (planner/cost_model.h).
#pragma once

namespace culmen {

// By a fixed search that is timed each time: virtual processors change their speed by half and more from one
// second to the next. All costs are to be multiplied by it. It decides no engine, since it is the same for
// all. Cost: some 100 us, and a millisecond once.
double speed_factor();

}  // namespace culmen
