// Recomputes and compares what a snapshot stores: counts, order, ids, zone maps of leaves, codes, bounds, links.
#pragma once

#include <string>
#include <vector>

#include "index/snapshot.h"

namespace culmen {

// Returns each fault as one line that names the leaf or node, and at most 100. `deep` also recomputes the bounds of
// every leaf. A bound may be loose, but never too tight.
std::vector<std::string> verify_snapshot(const Snapshot& snapshot, bool deep);

}  // namespace culmen
