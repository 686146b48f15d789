// How slow this processor is now, relative to the one whose costs are built in (planner/cost_model.h).
#pragma once

namespace culmen {

// Multiplies all costs. Times a fixed search on every call, because virtual processors change their speed by half and
// more from one second to the next. It is the same for all engines, so it decides none. Cost: some 100 us, and a
// millisecond on the first call.
double speed_factor();

}  // namespace culmen
