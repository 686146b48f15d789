// Recomputes what a snapshot keeps and compares: counts, order, ids, zone map of leaves, bounds, links.
#pragma once

#include <string>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

// Each fault as one line that names the leaf or node; empty: none found. Stops after 100 faults.
// `deep` also recomputes the subset maxima of every leaf. A bound may be loose, never too tight.
std::vector<std::string> verify_snapshot(const Snapshot& snapshot, bool deep);

}  // namespace culmen
