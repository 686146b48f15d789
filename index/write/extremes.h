// The smallest or largest value of an attribute, after rows have gone.
#pragma once

#include "index/snapshot.h"

namespace culmen {

// Reads the few nodes whose bounds reach the answer; one leaf where it is still that of the snapshot's stats,
// which must hold for all rows, as in tables full of ties. The index must not be empty.
double extreme_value(const Snapshot& snapshot, int attribute, bool largest);

}  // namespace culmen
