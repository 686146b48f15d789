// The smallest or largest value of an attribute, after rows have gone.
#pragma once

#include "index/snapshot.h"

namespace culmen {

// Reads the few nodes whose bounds reach the answer. The index must not be empty.
double extreme_value(const Snapshot& snapshot, int attribute, bool largest);

}  // namespace culmen
